// Sums, means, products and extrema. TensorFlow's client gradients need int32 axes.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "tensorflow_ext/stock_gradients/array/counts.h"

namespace tensorflow_ext {
namespace {

// A reduction of x over axes, and its shape with keep_dims, in which its result and gradients
// broadcast against x.
class Reduction {
 public:
  explicit Reduction(Gradient& g)
      : x(g.Input(0)), axes(g.Input(1)), shape_(Shape(x)), keeps_dims_(g.Attr<bool>("keep_dims")) {}

  // A value of the result's shape, with all axes of x.
  Value WithAllAxes(Value value) {
    if (keeps_dims_) return value;
    if (!kept_shape_.exists()) kept_shape_ = ReducedShape(shape_, axes);
    return Reshape(value, kept_shape_);
  }
  // Such a value, repeated along the axes.
  Value Repeat(Value value) { return BroadcastTo(WithAllAxes(value), shape_); }

  // The axes, none of them negative: int32 [k].
  Value PositiveAxes() const {
    Gradient* g = x.gradient();
    return FloorMod(Cast(Reshape(axes, g->Ints({-1})), DT_INT32), Rank(x));
  }
  // The number of elements that x has along the axes: an int64 scalar.
  Value Count() const {
    return Prod(Gather(Shape(x, DT_INT64), PositiveAxes()), x.gradient()->Int(0));
  }

  const Value x, axes;
  Value shape() const { return shape_; }

 private:
  const Value shape_;
  const bool keeps_dims_;
  Value kept_shape_;
};

void SumGrad(Gradient& g) { g.ReturnFirst(Reduction(g).Repeat(g.Upstream())); }
REGISTER_STAND_IN("Sum", SumGrad);

void MeanGrad(Gradient& g) {
  Reduction reduction(g);
  const Value dy = g.Upstream();
  // A mean over no elements: x has no element that the quotient could reach.
  const Value count = Maximum(reduction.Count(), 1);
  g.ReturnFirst(reduction.Repeat(OverCount(dy, Cast(count, CountType(dy.type())))));
}
REGISTER_STAND_IN("Mean", MeanGrad);

// The elements that attain the extremum share its gradient evenly. The shares have the shape of x,
// so nothing is divided by 0 where an axis is empty.
void ExtremumGrad(Gradient& g) {
  Reduction reduction(g);
  const Value x = reduction.x, y = reduction.WithAllAxes(g.Output());
  const Value attains = Cast(Equal(x, y), CountType(x.type()));
  const Value share = attains / Sum(attains, reduction.axes, true);
  const Value dy = Cast(reduction.WithAllAxes(g.Upstream()), share.type());
  g.ReturnFirst(Cast(share * dy, x.type()));
}
REGISTER_STAND_IN("Max", ExtremumGrad);
REGISTER_STAND_IN("Min", ExtremumGrad);

// The product without x_k is the product of the elements before it times that of the elements after
// it, which is right at zeros too. The axes are folded into the first axis.
void ProdGrad(Gradient& g) {
  Reduction reduction(g);
  const Value x = reduction.x, shape = reduction.shape();
  const Value axis = g.Int(0);
  const Value all = Range(axis, Rank(x), g.Int(1));
  const Value reduced = reduction.PositiveAxes();
  const Value others = Call("ListDiff", {all, reduced});
  const Value permutation = Concat({reduced, others}, axis);
  const auto size = [&](Value axes) { return Prod(Gather(shape, axes), axis); };
  const Value moved = Transpose(x, permutation);
  const Value columns = Reshape(moved, Pack({size(reduced), size(others)}));
  const auto product = [&](bool of_those_behind) {
    return g.Call("Cumprod", {columns, axis}, {{"exclusive", true}, {"reverse", of_those_behind}});
  };
  const Value of_others =
      Transpose(ReshapeLike(product(false) * product(true), moved), InvertPermutation(permutation));
  g.ReturnFirst(reduction.WithAllAxes(g.Upstream()) * Conj(of_others));
}
REGISTER_STAND_IN("Prod", ProdGrad);

}  // namespace
}  // namespace tensorflow_ext
