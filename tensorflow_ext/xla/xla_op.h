// The part of XLA's builder that our lowerings use, without XLA's headers, which take a compiler
// twenty seconds for each file. Names and meanings are those of ::xla (its xla_builder.h and lib/),
// except that
//
//   - comparisons are operators too, which return a tensor of PRED;
//   - a number may be an operand: a scalar of the other operand's type, which
//     broadcasts;
//   - a function here may stand for several operations there; see the end.
//
// A wrong operation, such as one on shapes that do not match, returns an invalid XlaOp. The builder
// keeps the first such error and fails the compilation with it.

#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace xla {
class XlaBuilder;
}  // namespace xla

namespace tensorflow_ext::xla {

using ::xla::XlaBuilder;

// The types that our lowerings name, with XLA's numbers.
enum PrimitiveType : int {
  PRED = 1,
  S32 = 4,
  S64 = 5,
  F16 = 10,
  F32 = 11,
  F64 = 12,
  BF16 = 16,
};

// The type that computes values of `stored`: float for the 16-bit types.
inline PrimitiveType ComputeType(PrimitiveType stored) {
  return stored == F16 || stored == BF16 ? F32 : stored;
}

// A tensor in the computation that is being built.
class XlaOp {
 public:
  XlaBuilder* builder() const { return builder_; }

 private:
  // The members of ::xla::XlaOp: xla_op.cc converts by copying the bits.
  int64_t handle_ = -1;
  XlaBuilder* builder_ = nullptr;
};

// The computation that this thread builds within Lowering::Compile (lowering.h), for constants that
// meet no tensor. Null elsewhere.
XlaBuilder* CurrentBuilder();
class CurrentBuilderScope {
 public:
  explicit CurrentBuilderScope(XlaBuilder* builder);
  ~CurrentBuilderScope();
  CurrentBuilderScope(const CurrentBuilderScope&) = delete;
  CurrentBuilderScope& operator=(const CurrentBuilderScope&) = delete;

 private:
  XlaBuilder* const outer_;
};

// A number in place of a tensor.
using Constant = std::variant<int64_t, double>;

using Sizes = absl::Span<const int64_t>;

// ----- Constants. -----

XlaOp ConstantR0(XlaBuilder* builder, PrimitiveType type, Constant value);
// `value` as a scalar of the type of `like`, and in its shape as well.
XlaOp ScalarLike(XlaOp like, Constant value);
XlaOp FullLike(XlaOp like, Constant value);
XlaOp ZerosLike(XlaOp like);
// x, a scalar or a tensor of the shape of `like`, in that shape.
XlaOp OfShape(XlaOp x, XlaOp like);
XlaOp Full(XlaBuilder* builder, PrimitiveType type, Sizes sizes, Constant value);
inline XlaOp Zeros(XlaBuilder* builder, PrimitiveType type, Sizes sizes) {
  return Full(builder, type, sizes, 0);
}
// 0, 1, 2, ... along `dimension`.
XlaOp Iota(XlaBuilder* builder, PrimitiveType type, Sizes sizes, int64_t dimension);

// ----- Element by element. -----

XlaOp Neg(XlaOp x);
XlaOp Not(XlaOp x);
XlaOp Abs(XlaOp x);
XlaOp Sign(XlaOp x);
XlaOp Exp(XlaOp x);
XlaOp Expm1(XlaOp x);
XlaOp Log(XlaOp x);
XlaOp Log1p(XlaOp x);
XlaOp Sin(XlaOp x);
XlaOp Cos(XlaOp x);
XlaOp Tanh(XlaOp x);
XlaOp Atan(XlaOp x);
XlaOp Erf(XlaOp x);
XlaOp Erfc(XlaOp x);
XlaOp Sqrt(XlaOp x);
XlaOp Rsqrt(XlaOp x);
XlaOp Floor(XlaOp x);
XlaOp Ceil(XlaOp x);
XlaOp Round(XlaOp x);  // half away from zero
XlaOp RoundNearestEven(XlaOp x);
XlaOp IsFinite(XlaOp x);
XlaOp ConvertElementType(XlaOp x, PrimitiveType type);
// The bits of x as a type of the same size.
XlaOp BitcastConvertType(XlaOp x, PrimitiveType type);
// x, hidden from XLA's optimisations.
XlaOp OptimizationBarrier(XlaOp x);

inline XlaOp operator-(XlaOp x) { return Neg(x); }
inline XlaOp operator!(XlaOp x) { return Not(x); }

#define TENSORFLOW_EXT_XLA_BINARY(Name)                                        \
  XlaOp Name(XlaOp x, XlaOp y);                                                \
  inline XlaOp Name(XlaOp x, Constant y) { return Name(x, ScalarLike(x, y)); } \
  inline XlaOp Name(Constant x, XlaOp y) { return Name(ScalarLike(y, x), y); }
#define TENSORFLOW_EXT_XLA_OPERATOR(sign, Name)                          \
  TENSORFLOW_EXT_XLA_BINARY(Name)                                        \
  inline XlaOp operator sign(XlaOp x, XlaOp y) { return Name(x, y); }    \
  inline XlaOp operator sign(XlaOp x, Constant y) { return Name(x, y); } \
  inline XlaOp operator sign(Constant x, XlaOp y) { return Name(x, y); }

TENSORFLOW_EXT_XLA_BINARY(Max)
TENSORFLOW_EXT_XLA_BINARY(Min)
TENSORFLOW_EXT_XLA_BINARY(Pow)
TENSORFLOW_EXT_XLA_BINARY(ShiftLeft)
TENSORFLOW_EXT_XLA_BINARY(ShiftRightArithmetic)
TENSORFLOW_EXT_XLA_BINARY(ShiftRightLogical)
TENSORFLOW_EXT_XLA_OPERATOR(+, Add)
TENSORFLOW_EXT_XLA_OPERATOR(-, Sub)
TENSORFLOW_EXT_XLA_OPERATOR(*, Mul)
TENSORFLOW_EXT_XLA_OPERATOR(/, Div)
TENSORFLOW_EXT_XLA_OPERATOR(%, Rem)  // with the sign of x
TENSORFLOW_EXT_XLA_OPERATOR(&, And)
TENSORFLOW_EXT_XLA_OPERATOR(|, Or)
TENSORFLOW_EXT_XLA_OPERATOR(^, Xor)
TENSORFLOW_EXT_XLA_OPERATOR(==, Eq)
TENSORFLOW_EXT_XLA_OPERATOR(!=, Ne)
TENSORFLOW_EXT_XLA_OPERATOR(<, Lt)
TENSORFLOW_EXT_XLA_OPERATOR(<=, Le)
TENSORFLOW_EXT_XLA_OPERATOR(>, Gt)
TENSORFLOW_EXT_XLA_OPERATOR(>=, Ge)
#undef TENSORFLOW_EXT_XLA_OPERATOR
#undef TENSORFLOW_EXT_XLA_BINARY

// For 32-bit integers in Threefry (kernels/threefry.h).
inline XlaOp RotateLeft(XlaOp x, int bits) {
  return ShiftLeft(x, bits) | ShiftRightLogical(x, 32 - bits);
}

// on_true where the condition, a tensor of PRED, holds; else on_false.
XlaOp Select(XlaOp condition, XlaOp on_true, XlaOp on_false);
inline XlaOp Select(XlaOp condition, XlaOp on_true, Constant on_false) {
  return Select(condition, on_true, FullLike(on_true, on_false));
}
inline XlaOp Select(XlaOp condition, Constant on_true, XlaOp on_false) {
  return Select(condition, FullLike(on_false, on_true), on_false);
}
// The nearest number in [min, max]. For NaN, either NaN or such a number.
XlaOp Clamp(Constant min, XlaOp x, Constant max);

// ----- Shapes. -----

XlaOp Reshape(XlaOp x, Sizes sizes);
// Dimension k of x becomes dimension `dimensions[k]` of the result, and x repeats along the others.
XlaOp BroadcastInDim(XlaOp x, Sizes sizes, Sizes dimensions);
XlaOp ConcatInDim(absl::Span<const XlaOp> parts, int64_t dimension);
// The elements begin, begin + stride, ... before `end` along `dimension`.
XlaOp SliceInDim(XlaOp x, int64_t begin, int64_t end, int64_t dimension, int64_t stride = 1);
// Zeros before and after x and between neighbours, for each dimension.
struct Padding {
  int64_t low = 0, high = 0, interior = 0;
};
XlaOp Pad(XlaOp x, absl::Span<const Padding> dimensions);
// A slice of size `sizes` from the indices `start` on, a scalar for each dimension.
XlaOp DynamicSlice(XlaOp x, absl::Span<const XlaOp> start, Sizes sizes);
XlaOp DynamicUpdateSlice(XlaOp x, XlaOp slice, absl::Span<const XlaOp> start);

// ----- Functions that take several operations of ::xla, or always the same
// arguments. -----

PrimitiveType ElementType(XlaOp x);

// The sum over `dimensions`, which the result lacks, or over all; in x's type.
XlaOp ReduceSum(XlaOp x, Sizes dimensions);
XlaOp ReduceSumAll(XlaOp x);
// The largest element over `dimensions`, which the result lacks; -infinity over none. With a NaN,
// NaN or another element.
XlaOp ReduceMax(XlaOp x, Sizes dimensions);
// The largest element of x, but at least `least`: a scalar.
XlaOp ReduceMaxAll(XlaOp x, Constant least);
// The sums over windows that lie inside x.
XlaOp ReduceWindowSum(XlaOp x, Sizes window, Sizes strides);

// The products, [..., M, N], of matrices x [..., M, K] with y [..., N, K] transposed. Computes in
// x's type on every device.
XlaOp BatchDotTransposed(XlaOp x, XlaOp y);

// x[index] for each index in indices [..., K] of the first K dimensions of x; the others follow in
// the result. Clamps indices outside of x. Like tf.gather_nd.
XlaOp GatherNd(XlaOp x, XlaOp indices);
// x plus each of `updates`, laid out like GatherNd's result, at its index. Updates outside of x are
// ignored. Like tf.tensor_scatter_nd_add.
XlaOp ScatterAddNd(XlaOp x, XlaOp indices, XlaOp updates);

// The state after `body` has replaced it while `condition`, a scalar, held. `name` identifies the
// loop in compiled code.
using State = absl::Span<const XlaOp>;
absl::StatusOr<std::vector<XlaOp>> WhileLoop(const char* name,
                                             const std::function<XlaOp(State)>& condition,
                                             const std::function<std::vector<XlaOp>(State)>& body,
                                             State initial);

// The result of calling a function on `operands`: `on_true` if the predicate, a scalar, holds, else
// the other one. Only that function runs.
absl::StatusOr<XlaOp> Conditional(XlaOp predicate,
                                  const std::function<absl::StatusOr<XlaOp>(State)>& on_true,
                                  const std::function<absl::StatusOr<XlaOp>(State)>& on_false,
                                  State operands);

}  // namespace tensorflow_ext::xla
