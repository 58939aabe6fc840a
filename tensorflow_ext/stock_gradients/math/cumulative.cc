// Gradients of cumulative sums, products and log-sum-exps.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// Runs the cumulative op `op` along the axis of the differentiated op, in its direction or against
// it.
Value Cumulative(Gradient& g, const char* op, Value x, bool exclusive, bool reverse) {
  return g.Call(op, {x, g.Input(1)}, {{"exclusive", exclusive}, {"reverse", reverse}});
}

// dx_k = sum over i >= k of dy_i.
void CumsumGrad(Gradient& g) {
  g.ReturnFirst(
      Cumulative(g, "Cumsum", g.Upstream(), g.Attr<bool>("exclusive"), !g.Attr<bool>("reverse")));
}
REGISTER_GRADIENT("Cumsum", CumsumGrad);

// dx_k = sum over i >= k of dy_i prod_{j <= i, j != k} x_j. Without zeros this is S_k / x_k, where
// S is the reverse cumulative sum of dy y. From the first zero on, y is zero. Before it, S_k / x_k
// is still right; after it, dx is zero; at it, dx is S_k for the product in which a 1 replaces that
// zero. TensorFlow's Python gradient omits this last case. The second order is right with one zero;
// of a mixed derivative for two zeros it has only one of two halves.
void CumprodGrad(Gradient& g) {
  const Value x = g.Input(0), dy = g.Upstream();
  const bool exclusive = g.Attr<bool>("exclusive");
  const bool reverse = g.Attr<bool>("reverse");
  const auto backward_sum = [&](Value product) {
    return Cumulative(g, "Cumsum", dy * Conj(product), exclusive, !reverse);
  };
  const Value is_zero = Equal(x, 0);
  const Value zeros_before = Cumulative(g, "Cumsum", Cast(is_zero, x.type()), true, reverse);
  const Value is_first_zero = LogicalAnd(is_zero, Equal(zeros_before, 0));
  const Value without_zero =
      Cumulative(g, "Cumprod", Where(is_first_zero, 1, x), exclusive, reverse);
  g.Return({Where(is_first_zero, backward_sum(without_zero),
                  DivNoNan(backward_sum(g.Output()), Conj(x))),
            Value()});
}
REGISTER_GRADIENT("Cumprod", CumprodGrad);

// dx_k = sum over i >= k of dy_i exp(x_k - y_i). Positive and negative dy_i are summed separately,
// as logarithms, so nothing overflows.
void CumulativeLogsumexpGrad(Gradient& g) {
  const Value x = g.Input(0), y = g.Output(), dy = g.Upstream();
  const bool exclusive = g.Attr<bool>("exclusive");
  const bool reverse = g.Attr<bool>("reverse");
  // The logarithm of "nothing": far below any other, far from overflow.
  const double log_zero = x.type() == DT_HALF ? -3e4 : -1e30;
  // An exclusive sum begins with nothing, whose gradient reaches no x.
  const Value is_nothing = Less(y, log_zero);
  const Value log_sum = Where(is_nothing, 0, y);
  const auto part = [&](Value terms) {
    const Value is_positive = Greater(terms, 0);
    const Value log_terms = Where(is_positive, Log(Where(is_positive, terms, 1)), log_zero);
    return Exp(Cumulative(g, "CumulativeLogsumexp", log_terms - log_sum, exclusive, !reverse) + x);
  };
  const Value terms = Where(is_nothing, 0, dy);
  g.Return({part(terms) - part(-terms), Value()});
}
REGISTER_GRADIENT("CumulativeLogsumexp", CumulativeLogsumexpGrad);

}  // namespace
}  // namespace tensorflow_ext
