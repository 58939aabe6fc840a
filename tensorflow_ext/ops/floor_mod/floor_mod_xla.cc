// XLA's remainder on a CPU calls fmod for each element. If the quotient of two floats is below
// 2^28, double gives it exactly, in vectors (floor_mod_cpu.cc). For larger quotients, a loop first
// makes x smaller.

#include <cmath>
#include <cstdint>
#include <vector>

#include "tensorflow_ext/ops/floor_mod/floor_mod.h"
#include "tensorflow_ext/xla/functor_lowering.h"

namespace tensorflow_ext {
namespace {

using xla::State;
using xla::XlaOp;

// The truncated remainder of floats x and y, with x's sign, computed in double.
class RemainderSearch {
 public:
  static absl::StatusOr<XlaOp> Find(XlaOp x, XlaOp y) {
    // Without the condition, XLA would compute the loop's invariants always.
    const auto near =
        xla::Conditional(AnyIsFar({x, y}), MakeNear, [](State state) { return state[0]; }, {x, y});
    if (!near.ok()) return near.status();
    return Remainder(*near, y);
  }

 private:
  // True if x / y is a number and too large for Remainder.
  static XlaOp IsFar(XlaOp x, XlaOp y) {
    return (xla::Abs(x) >= xla::Abs(y) * kNearQuotient) & xla::IsFinite(x) & (y != 0);
  }

  static XlaOp AnyIsFar(State state) {
    const XlaOp x = state[0];
    const XlaOp is_far = xla::Select(IsFar(x, state[1]), xla::FullLike(x, 1), 0);
    return xla::ReduceMaxAll(is_far, 0) > 0;
  }

  // A number near enough to y that has the same remainder as x.
  static absl::StatusOr<XlaOp> MakeNear(State initial) {
    const auto state = xla::WhileLoop("FloorMod", AnyIsFar, Step, initial);
    if (!state.ok()) return state.status();
    return (*state)[0];
  }

  // Replaces a far x by x mod (y times a power of two), to which it is near. The result has 24
  // bits; the remainder is a multiple of the last one.
  static std::vector<XlaOp> Step(State state) {
    const XlaOp x = state[0], y = state[1];
    const XlaOp dividend = xla::ConvertElementType(x, xla::F64);
    const XlaOp divisor = xla::ConvertElementType(y, xla::F64);
    const XlaOp power = xla::BitcastConvertType(
        xla::BitcastConvertType(dividend / divisor, xla::S64) & kExponentBits, xla::F64);
    const XlaOp rest = Difference(dividend, divisor * power / kNearQuotient);
    return {xla::Select(IsFar(x, y), xla::ConvertElementType(rest, xla::F32), x), y};
  }

  // The remainder for an x that is near, or NaN if there is none.
  static XlaOp Remainder(XlaOp x, XlaOp y) {
    const XlaOp rest =
        Difference(xla::ConvertElementType(x, xla::F64), xla::ConvertElementType(y, xla::F64));
    // The quotient by an infinite y is 0, but their product is NaN.
    const XlaOp is_infinite = (y == y) & !xla::IsFinite(y);
    const XlaOp remainder = xla::Select(is_infinite, x, xla::ConvertElementType(rest, xla::F32));
    return xla::Select(xla::IsFinite(x) & (y != 0), remainder, xla::FullLike(x, std::nan("")));
  }

  // dividend - trunc(dividend / divisor) * divisor for a quotient below 2^29. The product is exact,
  // because its factors have 24 and 29 bits. The quotient is an integer that is used once, so XLA
  // need not store it.
  static XlaOp Difference(XlaOp dividend, XlaOp divisor) {
    const XlaOp truncated = xla::ConvertElementType(dividend / divisor, xla::S32);
    return dividend - xla::ConvertElementType(truncated, xla::F64) * divisor;
  }
};

// The ops' results, from their inputs and the remainder of the last two.
using Number = XlaNumber<float>;
Number FromRemainder(FloorMod, const std::vector<Number>& inputs, Number truncated) {
  return FlooredRemainder(inputs[1], truncated);
}
Number FromRemainder(FloorModGrad, const std::vector<Number>& inputs, Number truncated) {
  return -FlooredQuotient(inputs[1], inputs[2], truncated) * inputs[0];
}

template <typename Functor>
class FloorModLowering final : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    if (!context->IsForCpu() || context->ComputeType(0) != xla::F32) {
      return FunctorLowering<Functor>().Compile(context);
    }
    std::vector<XlaOp> inputs;
    const absl::Status status = context->BroadcastInputs(&inputs);
    if (!status.ok()) return status;
    constexpr int kX = Functor::kArity - 2, kY = Functor::kArity - 1;
    const auto truncated = RemainderSearch::Find(inputs[kX], inputs[kY]);
    if (!truncated.ok()) return truncated.status();
    const std::vector<Number> numbers(inputs.begin(), inputs.end());
    context->SetOutput(0, FromRemainder(Functor{}, numbers, Number(*truncated)).op());
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>FloorMod"), FloorModLowering<FloorMod>);
REGISTER_LOWERING(Name("TfExt>FloorModGrad"), FloorModLowering<FloorModGrad>);

}  // namespace
}  // namespace tensorflow_ext
