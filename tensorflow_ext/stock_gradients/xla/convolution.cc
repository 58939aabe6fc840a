// XLA's convolution with strides, dilations, groups and axes in any order,
// https://openxla.org/xla/operation_semantics#convwithgeneralpadding_convolution. It is bilinear,
// and each gradient is again a convolution. The formulas use one order of the axes: batch N, space,
// features for x and y; space, features in, features out for the kernel k.

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"
#include "xla/xla_data.pb.h"

namespace tensorflow_ext {
namespace {

using Axes = std::vector<int64_t>;

Value Permuted(Value x, const Axes& permutation) {
  return Transpose(x, x.gradient()->Ints(permutation));
}

// x, which has `rank` axes, with the axis `from` moved to `to`.
Value Moved(Value x, int rank, int from, int to) {
  Axes permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return Permuted(x, permutation);
}

Value Swapped(Value x, int rank, int i, int j) {
  Axes permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[i], permutation[j]);
  return Permuted(x, permutation);
}

// x with `axis` split into groups and the rest; and the reverse.
Value InGroups(Value x, int axis, Value groups) {
  const Value shape = Shape(x);
  const Value parts = Pack({groups, FloorDiv(Element(shape, axis), groups)});
  return Reshape(
      x, Concat({SliceVector(shape, 0, axis), parts, SliceVector(shape, axis + 1, kToTheEnd)},
                x.gradient()->Int(0)));
}
Value Merged(Value x, int axis) {
  const Value shape = Shape(x);
  const Value size = Element(shape, axis) * Element(shape, axis + 1);
  return Reshape(x, Concat({SliceVector(shape, 0, axis), Pack({size}),
                            SliceVector(shape, axis + 2, kToTheEnd)},
                           x.gradient()->Int(0)));
}

// The size with dilation - 1 zeros between neighbours.
Value Dilated(Value size, Value dilation) {
  return Where(Equal(size, 0), 0, dilation * (size - 1) + 1);
}

Axes AxesOf(int64_t first, const google::protobuf::RepeatedField<int64_t>& space, int64_t second,
            int64_t third) {
  Axes axes;
  if (first >= 0) axes.push_back(first);
  axes.insert(axes.end(), space.begin(), space.end());
  axes.push_back(second);
  if (third >= 0) axes.push_back(third);
  return axes;
}

// The dimension_numbers of the order of axes used here.
std::string NumbersInOrder(int space) {
  xla::ConvolutionDimensionNumbers numbers;
  numbers.set_input_batch_dimension(0);
  numbers.set_output_batch_dimension(0);
  for (int i = 0; i < space; ++i) {
    numbers.add_input_spatial_dimensions(i + 1);
    numbers.add_output_spatial_dimensions(i + 1);
    numbers.add_kernel_spatial_dimensions(i);
  }
  numbers.set_input_feature_dimension(space + 1);
  numbers.set_output_feature_dimension(space + 1);
  numbers.set_kernel_input_feature_dimension(space);
  numbers.set_kernel_output_feature_dimension(space + 1);
  return numbers.SerializeAsString();
}

// With G groups of features, x is [N, S, G C], k [K, C, G O] and y [N, T, G O]:
//   dx = y, its strides filled with zeros, convolved with k reversed in space,
//        [K, O, G C];
//   dk = x as [C, S, G N], convolved with y as [T, N, G O]: the batch is
//        summed.
// Strides and dilations are swapped, and the paddings are those that give the sizes of x and k. B
// groups of the batch are B groups of features inside it.
void ConvGradient(Gradient& g, int64_t batch_groups) {
  const Value dy = g.Upstream();
  if (!IsInexact(dy)) return ReturnNone(g);
  xla::ConvolutionDimensionNumbers numbers;
  if (!numbers.ParseFromString(g.Attr<std::string>("dimension_numbers"))) {
    return g.Unimplemented(
        "dimension_numbers is not supported: it must be a serialized "
        "xla.ConvolutionDimensionNumbers");
  }
  const int n = numbers.input_spatial_dimensions_size();
  const Axes x_axes = AxesOf(numbers.input_batch_dimension(), numbers.input_spatial_dimensions(),
                             numbers.input_feature_dimension(), -1);
  const Axes k_axes =
      AxesOf(-1, numbers.kernel_spatial_dimensions(), numbers.kernel_input_feature_dimension(),
             numbers.kernel_output_feature_dimension());
  const Axes y_axes = AxesOf(numbers.output_batch_dimension(), numbers.output_spatial_dimensions(),
                             numbers.output_feature_dimension(), -1);

  const auto integers = [&](int i) { return Cast(g.Input(i), DT_INT32); };
  const Value strides = integers(2), padding = integers(3), x_dilation = integers(4),
              k_dilation = integers(5);
  const bool in_batch = batch_groups > 1;
  const Value groups = in_batch ? g.Int(batch_groups) : integers(6);

  // Computes everything in the type of y.
  Value x = Conj(Permuted(Cast(g.Input(0), dy.type()), x_axes));
  const Value k = Conj(Permuted(Cast(g.Input(1), dy.type()), k_axes));
  const Value y = Permuted(dy, y_axes);
  if (in_batch) x = Merged(Moved(InGroups(x, 0, groups), n + 3, 0, n + 1), n + 1);

  const Value x_size = Dilated(SliceVector(Shape(x), 1, n + 1), x_dilation);
  const Value k_size = Dilated(SliceVector(Shape(k), 0, n), k_dilation);
  const Value y_size = Dilated(SliceVector(Shape(y), 1, n + 1), strides);
  const Value before = Gather(padding, g.Int(0), 1);
  const std::string in_order = NumbersInOrder(n);
  const auto convolved = [&](Value lhs, Value rhs, Value window_strides, Value low, Value high,
                             Value lhs_dilation, Value rhs_dilation) {
    return g.Call(
        "XlaConvV2",
        {lhs, rhs, window_strides, Pack({low, high}, 1), lhs_dilation, rhs_dilation, groups},
        {{"dimension_numbers", in_order},
         {"precision_config", OfOp{"precision_config"}},
         {"preferred_element_type", dy.type()}});
  };

  Axes space(n);
  std::iota(space.begin(), space.end(), 0);
  const Value turned = Call("ReverseV2", {k, g.Ints(space)});
  const Value back = Merged(Swapped(InGroups(turned, n + 1, groups), n + 3, n, n + 2), n + 1);
  const Value low = k_size - before - 1;
  Value dx =
      convolved(y, back, x_dilation, low, x_size + k_size - 1 - y_size - low, strides, k_dilation);
  if (in_batch) {
    dx = Merged(Moved(InGroups(dx, n + 1, groups), n + 3, n + 1, 0), 0);
  }

  const Value lhs = Merged(Swapped(InGroups(x, n + 1, groups), n + 3, 0, n + 2), n + 1);
  const Value dk = convolved(lhs, Moved(y, n + 2, 0, n), k_dilation, before,
                             y_size - x_size + k_size - before - 1, x_dilation, strides);

  Values gradients(g.num_inputs());
  const auto restored = [&](int i, Value gradient, const Axes& axes) {
    if (!IsDifferentiable(g.Input(i))) return;
    const Value in_place = Transpose(gradient, InvertPermutation(g.Ints(axes)));
    gradients[i] = Cast(in_place, g.Input(i).type());
  };
  restored(0, dx, x_axes);
  restored(1, Moved(dk, n + 2, 0, n), k_axes);
  g.Return(gradients);
}

void XlaConvGrad(Gradient& g) { ConvGradient(g, 1); }
REGISTER_GRADIENT("XlaConv", XlaConvGrad);

void XlaConvV2Grad(Gradient& g) { ConvGradient(g, g.Attr<int64_t>("batch_group_count")); }
REGISTER_GRADIENT("XlaConvV2", XlaConvV2Grad);

}  // namespace
}  // namespace tensorflow_ext
