// Gradients of samples with respect to the parameters of their distribution, by implicit
// reparameterization: dz/dtheta = -(dF/dtheta) / (dF/dz), where F is the distribution function
// (Figurnov, Mohamed and Mnih, 2018, arXiv:1805.08498).
//
// A client's gradient belongs to the sample that was drawn. The function runtime draws again, which
// gives the same sample only for stateless ops.

#include <cfloat>
#include <cmath>
#include <utility>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The gradient of a sample of the gamma distribution with respect to `alpha`. The leading axes of
// the sample number the samples for each alpha.
Value GammaGrad(Gradient& g, Value alpha) {
  const Value sample = g.Output();
  const DataType type = alpha.type() == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
  const Value derivative = Call("RandomGammaGrad", {Cast(alpha, type), Cast(sample, type)});
  return SumTo(alpha, g.Upstream() * Cast(derivative, alpha.type()), Shape(sample));
}

void RandomGammaGrad(Gradient& g) { g.Return({Value(), GammaGrad(g, g.Input(1))}); }
REGISTER_GRADIENT("RandomGamma", RandomGammaGrad);

void StatelessRandomGammaV2Grad(Gradient& g) {
  g.Return({Value(), Value(), GammaGrad(g, g.Input(2))});
}
REGISTER_GRADIENT("StatelessRandomGammaV2", StatelessRandomGammaV2Grad);

void StatelessRandomGammaV3Grad(Gradient& g) {
  g.Return({Value(), Value(), Value(), Value(), GammaGrad(g, g.Input(4))});
}
REGISTER_GRADIENT("StatelessRandomGammaV3", StatelessRandomGammaV3Grad);

// The standard normal distribution function, accurate in both tails.
Value NormalCdf(Value x) { return 0.5 * Erfc(-M_SQRT1_2 * x); }

// The smallest positive normal number of a type, and the largest one below 1.
std::pair<double, double> OpenUnitInterval(DataType type) {
  switch (type) {
    case DT_HALF:
      return {6.104e-5, 1 - 9.766e-4};
    case DT_FLOAT:
      return {FLT_MIN, 1 - FLT_EPSILON};
    default:
      return {DBL_MIN, 1 - DBL_EPSILON};
  }
}

// The gradients of a sample of the truncated normal distribution with respect to its mean, standard
// deviation and bounds, which broadcast to the sample's shape; before the sums that give each its
// own shape. Here z = (sample - mean) / stddev is truncated to (a, b), the bounds standardized the
// same way, and has the distribution function u = (Phi(z) - Phi(a)) / (Phi(b) - Phi(a)). At fixed
// u,
//   dz/da = (1 - u) phi(a) / phi(z),  dz/db = u phi(b) / phi(z)
// with the normal density phi, computed in logarithms; the rest is the chain rule. TensorFlow's
// Python gradient for mean and stddev ignores that a and b depend on them.
Values TruncatedNormalGrad(Value sample, Value dy, Value mean, Value stddev, Value minval,
                           Value maxval) {
  const Value a = (minval - mean) / stddev, b = (maxval - mean) / stddev;
  const Value z = (sample - mean) / stddev;
  const Value cdf_a = NormalCdf(a);
  const auto [low, high] = OpenUnitInterval(sample.type());
  const Value u = Minimum(Maximum((NormalCdf(z) - cdf_a) / (NormalCdf(b) - cdf_a), low), high);
  const Value by_a = Exp(0.5 * (Square(z) - Square(a)) + Log1p(-u));
  const Value by_b = Exp(0.5 * (Square(z) - Square(b)) + Log(u));
  // A bound may be infinite; its derivative is then zero.
  const Value by_stddev = z - MulNoNan(a, by_a) - MulNoNan(b, by_b);
  return {dy * (1 - by_a - by_b), dy * by_stddev, dy * by_a, dy * by_b};
}

void StatelessParameterizedTruncatedNormalGrad(Gradient& g) {
  const Value sample = g.Output(), shape = Shape(sample);
  const Values gradients =
      TruncatedNormalGrad(sample, g.Upstream(), g.Input(2), g.Input(3), g.Input(4), g.Input(5));
  Values summed(2);
  for (int i = 0; i < 4; ++i) {
    summed.push_back(SumTo(g.Input(2 + i), gradients[i], shape));
  }
  g.Return(summed);
}
REGISTER_GRADIENT("StatelessParameterizedTruncatedNormal",
                  StatelessParameterizedTruncatedNormalGrad);

// A parameter is a scalar, or a vector with an element for each of the first axis.
void ParameterizedTruncatedNormalGrad(Gradient& g) {
  const Value sample = g.Output(), shape = Shape(sample);
  const Value others = OnesLike(SliceVector(shape, 1, kToTheEnd));
  Values parameters;
  for (int i = 0; i < 4; ++i) {
    const Value parameter = g.Input(1 + i);
    parameters.push_back(Reshape(parameter, Concat({Pack({Size(parameter)}), others}, g.Int(0))));
  }
  const Values gradients = TruncatedNormalGrad(sample, g.Upstream(), parameters[0], parameters[1],
                                               parameters[2], parameters[3]);
  Values summed(1);
  for (int i = 0; i < 4; ++i) {
    summed.push_back(ReshapeLike(SumTo(parameters[i], gradients[i], shape), g.Input(1 + i)));
  }
  g.Return(summed);
}
REGISTER_GRADIENT("ParameterizedTruncatedNormal", ParameterizedTruncatedNormalGrad);

}  // namespace
}  // namespace tensorflow_ext
