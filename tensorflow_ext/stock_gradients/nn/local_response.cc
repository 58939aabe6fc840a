// Local response normalization (Krizhevsky et al., 2012, section 3.3) over the channels: y = x
// s^-beta with s = bias + alpha W(x^2), where W sums the channels at most depth_radius away. W is
// symmetric, so
//
//   dx = dy s^-beta - 2 alpha beta x W(dy y / s).

#include <cstdint>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// TensorFlow's client gradient drops the attributes.
void LrnGrad(Gradient& g) {
  g.Return({Call("LRNGrad", {g.Upstream(), g.Input(0), g.Output()},
                 g.AttrsOfOp({"depth_radius", "bias", "alpha", "beta"}))});
}
REGISTER_STAND_IN("LRN", LrnGrad);

// With the upstream gradient w for dx, and q = W(w x), the function
//   sum w dx = sum (w dy s^-beta - 2 alpha beta q dy y / s)
// is differentiated with respect to dy, x and y, which counts as a separate input.
void LrnGradGrad(Gradient& g) {
  const Value dy = g.Input(0), x = g.Input(1), y = g.Input(2);
  const Value w = g.Upstream();
  const double alpha = g.Attr<float>("alpha"), beta = g.Attr<float>("beta");
  const int64_t radius = g.Attr<int64_t>("depth_radius");
  const Value channels = Element(Shape(x), 3);
  const Value band = Minimum(channels, radius);
  const Value near =
      Call("MatrixBandPart", {Fill(Pack({channels, channels}), g.Scalar(1, x.type())), band, band});
  const auto window = [&](Value v) { return MatMul(v, near); };

  const Value s = g.Attr<float>("bias") + alpha * window(Square(x));
  const Value factor = Pow(s, -beta);
  const Value q = window(w * x);
  const double both = 2 * alpha * beta;
  const Value by_s = dy * (both * q * y / Square(s) - beta * w * factor / s);
  const Value by_x = 2 * alpha * x * window(by_s) - both * w * window(dy * y / s);
  g.Return({w * factor - both * q * y / s, by_x, -both * q * dy / s});
}
REGISTER_GRADIENT("LRNGrad", LrnGradGrad);

}  // namespace
}  // namespace tensorflow_ext
