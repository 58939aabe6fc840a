// Elementwise loops over up to three tensors of the same shape, without TensorFlow headers. An op
// writes its formula once, as a functor in its header. Arguments and result have the compute type:
//
//   struct ReluGrad {
//     static constexpr int kArity = 2;
//     template <typename T>
//     TENSORFLOW_EXT_HOST_DEVICE T operator()(T gradient, T feature) const {
//       return Where(feature > T(0), gradient, T(0));
//     }
//   };
//
// A functor that returns a Pair has two outputs. A functor may have these static constexpr members:
//   - int kCycles, if it computes for longer than its operands take to arrive:
//     the cycles for a float element on the CPU;
//   - bool kTwoAtOnce = true, if it is written as for XLA (two_numbers.h);
//   - bool kTakesAngles = true, if it calls Sin, Cos or SinCos
//     (trigonometric.h), so the CPU's loops vectorise (near_number.h);
//   - bool kBroadcasts = true, if its operands broadcast (broadcast.h).
//
// Attributes are members of the type float, double or bool, and a function reads them
// (attributes.h):
//
//   float lower, upper;
//   template <typename Reader>
//   void Read(Reader& reader) {
//     reader.Range("lower", &lower, "upper", &upper);
//   }
//
// The header of an op's folder lists its ops:
//
//   #define TENSORFLOW_EXT_ACTIVATIONS(OP) OP("TfExt>ReluGrad", ReluGrad) ...
//
// From this list the loops are instantiated for the CPU (elementwise_cpu.h) and the GPU
// (elementwise_gpu.cuh), and kernels and lowerings registered (elementwise_op.h). In ops/ the build
// writes the files that do so (ops/functors.bzl).

#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

template <typename T>
struct Pair {
  T first, second;
};

namespace internal {

template <typename Functor, typename C>
TENSORFLOW_EXT_HOST_DEVICE auto Call(const Functor& functor, const C* x) {
  constexpr int kArity = Functor::kArity;
  static_assert(kArity >= 1 && kArity <= 3);
  if constexpr (kArity == 1) {
    return functor(x[0]);
  } else if constexpr (kArity == 2) {
    return functor(x[0], x[1]);
  } else {
    return functor(x[0], x[1], x[2]);
  }
}

// Sets results[0, ...) to the outputs for the arguments x[0, kArity).
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE void Spread(C result, C* results) {
  results[0] = result;
}
template <typename C>
TENSORFLOW_EXT_HOST_DEVICE void Spread(Pair<C> result, C* results) {
  results[0] = result.first;
  results[1] = result.second;
}
template <typename Functor, typename C>
TENSORFLOW_EXT_HOST_DEVICE void Apply(const Functor& functor, const C* x, C* results) {
  Spread(Call(functor, x), results);
}

}  // namespace internal

template <typename Functor>
constexpr int kOutputs = std::is_same_v<decltype(internal::Call(std::declval<const Functor&>(),
                                                                std::declval<const float*>())),
                                        Pair<float>>
                             ? 2
                             : 1;

// True if the functor sets kCycles. An element's cost on the CPU is kCycles, or else the cost of
// its bytes, which the loop then waits for.
template <typename Functor, typename = void>
constexpr bool kComputesLong = false;
template <typename Functor>
constexpr bool kComputesLong<Functor, std::void_t<decltype(Functor::kCycles)>> = true;
template <typename Functor>
constexpr int ElementCycles(const Functor& /*functor*/) {
  if constexpr (kComputesLong<Functor>) {
    return Functor::kCycles;
  } else {
    return Functor::kArity + kOutputs<Functor>;
  }
}

// True for a functor whose operands broadcast.
template <typename Functor, typename = void>
constexpr bool kBroadcasts = false;
template <typename Functor>
constexpr bool kBroadcasts<Functor, std::void_t<decltype(Functor::kBroadcasts)>> =
    Functor::kBroadcasts;

// The functor of an op with two formulas that a bool attribute selects. Each formula has its own
// loop, so no loop tests the choice for every element.
template <typename First, typename Second, const char* kAttribute>
struct Choice {
  static constexpr int kArity = First::kArity;

  template <typename Reader>
  void Read(Reader& reader) {
    reader.Get(kAttribute, &is_first);
  }

  template <typename... T>
  TENSORFLOW_EXT_HOST_DEVICE auto operator()(T... x) const {
    return is_first ? First{}(x...) : Second{}(x...);
  }

  bool is_first;
};
template <typename First, typename Second, const char* kAttribute>
constexpr int ElementCycles(const Choice<First, Second, kAttribute>& choice) {
  return choice.is_first ? ElementCycles(First{}) : ElementCycles(Second{});
}

// Calls fn with a functor's formula: the functor itself, or the selected formula.
template <typename Functor, typename Fn>
auto WithFormula(const Functor& functor, Fn&& fn) {
  return fn(functor);
}
template <typename First, typename Second, const char* kAttribute, typename Fn>
auto WithFormula(const Choice<First, Second, kAttribute>& choice, Fn&& fn) {
  return choice.is_first ? fn(First{}) : fn(Second{});
}

// The loops. Those of a functor whose operands broadcast are in broadcast.h.
template <typename Functor, bool = kBroadcasts<Functor>>
struct CpuElementwise;
template <typename Functor, bool = kBroadcasts<Functor>>
struct GpuElementwise;

template <typename Functor>
struct CpuElementwise<Functor, false> {
  // outputs[0][i], ... = functor(inputs[0][i], ...) for i in [begin, end). `inputs` has
  // Functor::kArity arrays of the floating-point type `type`, `outputs` has kOutputs<Functor>. An
  // output may be one of the inputs and must not overlap one otherwise. `streams` writes the
  // outputs past the caches, which is faster where they exceed the caches (streaming_cpu.h).
  static void Run(const Functor& functor, NumericType type, const void* const* inputs,
                  void* const* outputs, int64_t begin, int64_t end, bool streams = false);
  // For a functor with one output.
  static void Run(const Functor& functor, NumericType type, const void* const* inputs, void* output,
                  int64_t begin, int64_t end) {
    void* const outputs[] = {output};
    Run(functor, type, inputs, outputs, begin, end);
  }
};

template <typename Functor>
struct GpuElementwise<Functor, false> {
  // The same for i in [0, size) and arrays in device memory, in order on `stream`, a cudaStream_t.
  // Returns the launch's cudaError_t. Size 0 launches nothing.
  static int Launch(const Functor& functor, NumericType type, const void* const* inputs,
                    void* const* outputs, int64_t size, void* stream);
  static int Launch(const Functor& functor, NumericType type, const void* const* inputs,
                    void* output, int64_t size, void* stream) {
    void* const outputs[] = {output};
    return Launch(functor, type, inputs, outputs, size, stream);
  }
};

}  // namespace tensorflow_ext
