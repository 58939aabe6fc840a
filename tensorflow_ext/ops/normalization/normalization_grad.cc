#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

void LayerNormGradient(Gradient& g) {
  const Value mean = g.Output(1), inverse_stddev = g.Output(2);
  g.Return(g.CallAll("TfExt>LayerNormGrad", {g.Upstream(0), g.Upstream(1), g.Upstream(2),
                                             g.Input(0), g.Input(1), mean, inverse_stddev}));
}
REGISTER_GRADIENT("TfExt>LayerNorm", LayerNormGradient);

// LayerNormGrad computes, with n = (x - m) r, g = scale dy and means over a row,
//
//   dx = r (g - mean(g) - n mean(g n)) + (dm - r^2 dr n) / D
//   dscale = sum over rows of dy n      doffset = sum over rows of dy
//
// m and r are inputs like the others. With upstream gradients u, v and w of the three outputs, and
//
//   p = u - mean(u) - n mean(u n)
//   q = v dy - r (g mean(u n) + u mean(g n)) - r^2 dr u / D    (that by n)
//
// the gradients are
//
//   by dy:  r p scale + v n + w       by x:      r q
//   by dm:  mean(u)                   by scale:  sum over rows of r p dy
//   by dr:  -r^2 mean(u n)            by m:      -r sum(q)
//   by r:   sum(g p + q (x - m)) - 2 r dr mean(u n)
//
// The half types are computed in float, as the kernels do.
void LayerNormGradGradient(Gradient& g) {
  const DataType type = g.Input(0).type(), computed = g.Input(6).type();
  const Value last = g.Int(-1);
  const auto wide = [&](Value v) { return Cast(v, computed); };
  const auto column = [&](Value v) { return ExpandDims(v, last); };
  const auto sum = [&](Value v) { return Sum(v, last, /*keep_dims=*/true); };
  const Value x = wide(g.Input(3)), dy = wide(g.Input(0));
  const Value dr = column(g.Input(2)), scale = wide(g.Input(4));
  const Value centered = x - column(g.Input(5)), r = column(g.Input(6));
  const Value u = wide(g.Upstream(0)), v = wide(g.Upstream(1));
  const Value w = wide(g.Upstream(2));

  const Value shape = Shape(x);
  const Value size = wide(Maximum(Element(shape, -1), 1));
  const Value n = centered * r, dn = dy * scale;
  const Value mean_u = sum(u) / size;
  const Value mean_un = sum(u * n) / size, mean_gn = sum(dn * n) / size;
  const Value p = u - mean_u - n * mean_un;
  const Value q = v * dy - r * (dn * mean_un + u * mean_gn) - Square(r) * dr * u / size;
  const Value like_m = Shape(g.Input(5));
  g.Return({Cast(r * p * scale + v * n + w, type), Reshape(mean_u, like_m),
            Reshape(-(Square(r) * mean_un), like_m), Cast(r * q, type),
            Cast(SumTo(scale, r * p * dy, shape), type), Reshape(-(r * sum(q)), like_m),
            Reshape(sum(dn * p + q * centered) - 2 * (r * dr * mean_un), like_m)});
}
REGISTER_GRADIENT("TfExt>LayerNormGrad", LayerNormGradGradient);

void RmsNormGradient(Gradient& g) {
  const Value inverse_rms = g.Output(1);
  g.Return(g.CallAll("TfExt>RmsNormGrad",
                     {g.Upstream(0), g.Upstream(1), g.Input(0), g.Input(1), inverse_rms}));
}
REGISTER_GRADIENT("TfExt>RmsNorm", RmsNormGradient);

// RmsNormGrad computes, with n = x r, g = scale dy and means over a row,
//
//   dx = r (g - n mean(g n)) - r^2 dr n / D
//   dscale = sum over rows of dy n
//
// r is an input like the others. With upstream gradients u and v of the two outputs, and
//
//   p = u - n mean(u n)
//   q = v dy - r (g mean(u n) + u mean(g n)) - r^2 dr u / D    (that by n)
//
// the gradients are
//
//   by dy:  r p scale + v n       by x:      r q
//   by dr:  -r^2 mean(u n)        by scale:  sum over rows of r p dy
//   by r:   sum(g p + q x) - 2 r dr mean(u n)
//
// The half types are computed in float, as the kernels do.
void RmsNormGradGradient(Gradient& g) {
  const DataType type = g.Input(0).type(), computed = g.Input(4).type();
  const Value last = g.Int(-1);
  const auto wide = [&](Value v) { return Cast(v, computed); };
  const auto column = [&](Value v) { return ExpandDims(v, last); };
  const auto sum = [&](Value v) { return Sum(v, last, /*keep_dims=*/true); };
  const Value dy = wide(g.Input(0)), dr = column(g.Input(1));
  const Value x = wide(g.Input(2)), scale = wide(g.Input(3));
  const Value r = column(g.Input(4));
  const Value u = wide(g.Upstream(0)), v = wide(g.Upstream(1));

  const Value shape = Shape(x);
  const Value size = wide(Maximum(Element(shape, -1), 1));
  const Value n = x * r, dn = dy * scale;
  const Value mean_un = sum(u * n) / size, mean_gn = sum(dn * n) / size;
  const Value p = u - n * mean_un;
  const Value q = v * dy - r * (dn * mean_un + u * mean_gn) - Square(r) * dr * u / size;
  const Value like_r = Shape(g.Input(4));
  g.Return({Cast(r * p * scale + v * n, type), Reshape(-(Square(r) * mean_un), like_r),
            Cast(r * q, type), Cast(SumTo(scale, r * p * dy, shape), type),
            Reshape(sum(dn * p + q * x) - 2 * (r * dr * mean_un), like_r)});
}
REGISTER_GRADIENT("TfExt>RmsNormGrad", RmsNormGradGradient);

}  // namespace
}  // namespace tensorflow_ext
