#include "tensorflow_ext/stock_gradients/linalg/degenerate.h"

#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

namespace tensorflow_ext {
namespace {

// Some units in the last place: the rounding of decompositions and of upstream gradients.
double Rounding(Value x) { return 32 * SqrtEpsilon(x) * SqrtEpsilon(x); }

}  // namespace

Value RowOf(Value vector) { return ExpandDims(vector, vector.gradient()->Int(-2)); }

Value Magnitude(Value x) {
  x = StopGradient(x);
  return IsComplex(x) ? Call("ComplexAbs", {x}, {{"Tout", RealType(x)}}) : Abs(x);
}

Value ConstantNorm(Value x) { return Cast(MatrixNorm(StopGradient(x)), RealType(x)); }

Value AnyOfMatrix(Value condition) {
  return Call("Any", {condition, condition.gradient()->Ints({-2, -1})}, {{"keep_dims", true}});
}

Value NanWhere(Value unknown, Value gradient) {
  const Value factor = Where(unknown, 0, gradient.gradient()->Scalar(1, gradient.type()));
  return gradient * StopGradient(factor / factor);  // 0/0 or 1; the second order is NaN, too.
}

Spectrum::Spectrum(Value d, Value product) {
  Gradient* g = d.gradient();
  const Value constant = StopGradient(d), magnitude = Magnitude(d);
  size = NewAxis(Max(magnitude, g->Int(-1), true));
  is_zero = LessEqual(NewAxis(magnitude), size * SqrtEpsilon(d));
  const Value gaps = Magnitude(RowOf(d) - NewAxis(d));
  const Value is_near = LessEqual(gaps, size * SqrtEpsilon(d));
  // Each value is near itself.
  const Value is_common = Greater(Sum(Cast(is_near, DT_INT32), g->Int(-1)), g->Int(1));
  values = Where(is_common, constant, d);
  change = Where(LogicalAnd(is_near, NewAxis(is_common)), product - StopGradient(product), 0);
}

Value Spectrum::Differences() const { return RowOf(values) - NewAxis(values); }
Value Spectrum::Sums() const { return RowOf(values) + NewAxis(values); }

SafeQuotient::SafeQuotient(Value x, Value x_size, Value y, Value y_size) : x_(x) {
  const Value abs_x = Magnitude(x), abs_y = Magnitude(y);
  const auto both = [&](double x_limit, double y_limit) {
    return LogicalAnd(LessEqual(abs_x, x_size * x_limit), LessEqual(abs_y, y_size * y_limit));
  };
  // Either x or y may have lost half of its digits.
  is_replaced_ = LogicalOr(both(SqrtEpsilon(x), Rounding(x)), both(Rounding(x), SqrtEpsilon(x)));
  reciprocal_ = Where(is_replaced_, 0, Reciprocal(Where(is_replaced_, 1, y)));
}

Value IsUnknown(Value is_replaced, Value dd, Value uses_basis) {
  const Value size = NewAxis(Max(Magnitude(dd), dd.gradient()->Int(-1), true));
  const Value differences = Magnitude(RowOf(dd) - NewAxis(dd));
  const Value are_unequal = Greater(differences, size * SqrtEpsilon(dd));
  return AnyOfMatrix(LogicalAnd(LogicalAnd(is_replaced, are_unequal), uses_basis));
}

}  // namespace tensorflow_ext
