#include <limits>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void ClipByGlobalNormGradient(Gradient& g) {
  Values clipped_gradients = g.Upstreams();
  const Value norm_gradient = clipped_gradients.back();
  clipped_gradients.pop_back();
  const Value clip_norm = g.Input(g.num_inputs() - 1);
  g.Return(CallAll("TfExt>ClipByGlobalNormGrad",
                   {clipped_gradients, norm_gradient, g.Inputs("values"), clip_norm}));
}
REGISTER_GRADIENT("TfExt>ClipByGlobalNorm", ClipByGlobalNormGradient);

Values CastAll(Values values, DataType type) {
  for (Value& value : values) value = Cast(value, type);
  return values;
}

Value Dot(const Values& x, const Values& y) {
  Values terms;
  for (size_t i = 0; i < x.size(); ++i) terms.push_back(SumAll(x[i] * y[i]));
  return AddN(terms);
}

// With the names of clip_by_global_norm.h, the op gives w = alpha g +
// v / n (d - sigma p) and, where n > c, p. alpha and sigma are c / n where n >
// c, else 1 and 0. With upstream gradients e of w and h of p (0 where n <= c),
// q = <e, v> / n and r = <e, g>, the function to differentiate is
//
//   L = alpha r + q (d - sigma p) + h p.
//
// v occurs in n, p, q and c / n. The 16-bit types are computed in float.
void ClipByGlobalNormGradGradient(Gradient& grad) {
  const DataType type = grad.Attr<DataType>("T");
  const bool is_double = type == DT_DOUBLE;
  const DataType computed = is_double ? type : DT_FLOAT;
  const Values g = CastAll(grad.Inputs("clipped_gradients"), computed);
  const Value d = Cast(grad.Inputs("norm_gradient")[0], computed);
  const Values v = CastAll(grad.Inputs("values"), computed);
  const Value c = Cast(grad.Inputs("clip_norm")[0], computed);
  Values e = CastAll(grad.Upstreams(), computed);
  const Value upstream_h = e.back();
  e.pop_back();

  // Computes only the norm: a clip_norm of infinity clips nothing.
  const Value no_clip = grad.Scalar(std::numeric_limits<double>::infinity(), computed);
  const Value n = CallAll("TfExt>ClipByGlobalNorm", {v, no_clip}).back();
  const Value inverse = DivNoNan(1, n);
  Values u;  // v / n
  for (const Value& value : v) u.push_back(value * inverse);
  const Value is_clipped = Greater(n, c);
  const Value alpha = Where(is_clipped, c * inverse, 1);
  const Value sigma = Where(is_clipped, c * inverse, 0);
  const Value h = Where(is_clipped, upstream_h, 0);
  const Value p = Dot(g, u), q = Dot(e, u), r = Dot(e, g);

  const Value along_u = h - q * sigma;
  Values gradients;
  for (size_t i = 0; i < g.size(); ++i) {
    gradients.push_back(alpha * e[i] + along_u * u[i]);
  }
  gradients.push_back(q);
  const Value of_e = (d - sigma * p) * inverse;
  const Value of_g = along_u * inverse;
  const Value of_u = (sigma * r + q * d + p * h - 3 * (q * p * sigma)) * inverse;
  for (size_t i = 0; i < v.size(); ++i) {
    gradients.push_back(of_e * e[i] + of_g * g[i] - of_u * u[i]);
  }
  gradients.push_back(Where(is_clipped, (r - q * p) * inverse, 0));
  grad.Return(CastAll(gradients, type));
}
REGISTER_GRADIENT("TfExt>ClipByGlobalNormGrad", ClipByGlobalNormGradGradient);

}  // namespace
}  // namespace tensorflow_ext
