#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/ops/rrelu/rrelu.h"
#include "tensorflow_ext/ops/rrelu/rrelu_checks.h"
#include "tensorflow_ext/xla/functor_lowering.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::XlaOp;

// Element `index` of the last dimension; the result lacks that dimension.
XlaOp Component(XlaOp seed, const TensorShape& shape, int index) {
  const int last = shape.dims() - 1;
  return xla::Reshape(xla::SliceInDim(seed, index, index + 1, last),
                      absl::MakeConstSpan(shape.dim_sizes().data(), last));
}

// The lower and the upper half of a number. The upper half has the sign.
XlaOp LowerHalf(XlaOp number) { return xla::ConvertElementType(number, xla::S32); }
XlaOp UpperHalf(XlaOp number) {
  return xla::ConvertElementType(
      xla::ShiftRightArithmetic(xla::ConvertElementType(number, xla::S64), 32), xla::S32);
}

// The index of each element of x in its slice, which the first `slices` dimensions select. It is
// built by dimensions: one may be dynamic.
XlaOp ElementIndices(xla::XlaBuilder* builder, const TensorShape& x, int slices) {
  XlaOp index = xla::Zeros(builder, xla::S64, x.dim_sizes());
  int64_t stride = 1;
  for (int d = x.dims() - 1; d >= slices; --d) {
    index = index + xla::Iota(builder, xla::S64, x.dim_sizes(), d) * stride;
    stride *= x.dim_size(d);
  }
  return index;
}

// The first bits of a word as an integer.
template <typename C>
XlaNumber<C> Integer(XlaOp word, int bits) {
  return XlaNumber<C>(
      xla::ConvertElementType(xla::ShiftRightLogical(word, 32 - bits), internal::kXlaType<C>));
}

// integer / 2^bits, by a division that XLA does not see through. XLA considers a division expensive
// and keeps the quotient for the gradient. It considers integer operations cheap and would draw the
// slopes again there.
template <typename C>
XlaNumber<C> Fraction(XlaNumber<C> integer, int bits) {
  const XlaOp divisor = xla::FullLike(integer.op(), int64_t{1} << bits);
  return integer / XlaNumber<C>(xla::OptimizationBarrier(divisor));
}

// Like UniformPair in rrelu.h, for each element separately.
template <typename C>
XlaNumber<C> Uniform(const Pair<XlaOp>& key, XlaOp index) {
  const XlaOp is_odd = (index & 1) != 0;
  const XlaOp pair = xla::ShiftRightLogical(index, 1);
  Pair<XlaOp> counter{LowerHalf(pair), UpperHalf(pair)};
  const auto word = [&] {
    const Pair<XlaOp> words = Threefry(key, counter);
    return xla::Select(is_odd, words.second, words.first);
  };
  if constexpr (std::is_same_v<C, float>) {
    return Fraction(Integer<C>(word(), 24), 24);
  } else {
    const XlaNumber<C> first = Integer<C>(word(), 27);
    counter.second = counter.second | int64_t{INT32_MIN};  // kMoreBits
    const XlaNumber<C> more = Integer<C>(word(), 26);
    return Fraction(first + more * XlaNumber<C>(C(1) / (1 << 26)), 27);
  }
}

// The lowering of both ops: (..., x, seed).
class RreluLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return GetSlopeBounds(context, context->op().c_str(), &lower_, &upper_);
  }

  absl::Status Compile(LoweringContext* context) const override {
    const int last = context->num_inputs() - 2;
    TensorShape x, seed;
    TF_RETURN_IF_ERROR(context->CheckSameShape(last + 1));
    // Elements are numbered in the order of their rows.
    TF_RETURN_IF_ERROR(context->CheckStatic(last, 1));
    TF_RETURN_IF_ERROR(context->InputBounds(last, &x));
    TF_RETURN_IF_ERROR(context->InputShape(last + 1, &seed));
    TF_RETURN_IF_ERROR(CheckSeedShape(context->op(), x, seed));
    if (context->ComputeType(0) == xla::F64) {
      Leak<double>(context, last, x, seed);
    } else {
      Leak<float>(context, last, x, seed);
    }
    return absl::OkStatus();
  }

  template <typename C>
  void Leak(LoweringContext* context, int last, const TensorShape& x_shape,
            const TensorShape& seed_shape) const {
    const SlopeRange<C> range(lower_, upper_);
    XlaNumber<C> slope(range.lower);
    if (lower_ != upper_) {
      const int slices = seed_shape.dims() - 1;
      const Pair<XlaOp> key = Key(context->Input(last + 1), seed_shape, x_shape);
      slope = range(Uniform<C>(key, ElementIndices(context->builder(), x_shape, slices)));
    }
    const XlaNumber<C> value(context->ComputeInput(0));
    const XlaNumber<C> x(context->ComputeInput(last));
    context->SetOutput(0, LeakValue(slope, value, x).op());
  }

  // The key of each slice of x, for all its elements.
  static Pair<XlaOp> Key(XlaOp seed, const TensorShape& seed_shape, const TensorShape& x) {
    const XlaOp first = Component(seed, seed_shape, 0);
    const XlaOp second = Component(seed, seed_shape, 1);
    const Pair<XlaOp> key = SlopeKey(Pair<XlaOp>{LowerHalf(first), LowerHalf(second)},
                                     Pair<XlaOp>{UpperHalf(first), UpperHalf(second)});
    std::vector<int64_t> dimensions(seed_shape.dims() - 1);
    std::iota(dimensions.begin(), dimensions.end(), 0);
    return {xla::BroadcastInDim(key.first, x.dim_sizes(), dimensions),
            xla::BroadcastInDim(key.second, x.dim_sizes(), dimensions)};
  }

  float lower_, upper_;
};
REGISTER_LOWERING(Name("TfExt>Rrelu"), RreluLowering);
REGISTER_LOWERING(Name("TfExt>RreluGrad"), RreluLowering);

}  // namespace
}  // namespace tensorflow_ext
