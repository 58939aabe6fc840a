// Elementwise loops over operands that broadcast to the output's shape (NumPy's rule), without
// TensorFlow headers. This file has the index arithmetic for host and device and declares the
// loops, which are defined in broadcast_cpu.h and broadcast_gpu.cuh.

#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/elementwise.h"
#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/quotient.h"

namespace tensorflow_ext {

// The most dimensions left after merging neighbours that all operands treat alike.
constexpr int kMaxBroadcastRank = 8;

// How kOperands tensors are read for each element of the output. Dimensions are outermost first. A
// stride is 0 where the operand repeats; in the innermost dimension it is 0 or 1.
template <int kOperands>
struct Broadcast {
  int rank = 1;
  int64_t sizes[kMaxBroadcastRank] = {1};
  int64_t strides[kOperands][kMaxBroadcastRank] = {};
};

struct DimensionList {
  const int64_t* sizes;
  int rank;
};

enum class BroadcastResult {
  kOk,
  kIncompatible,  // an operand does not broadcast to the output
  kTooManyDimensions,
};

// Fills in how `operands` are read. Each of them broadcasts to `output`.
template <int kOperands>
BroadcastResult MakeBroadcast(const DimensionList (&operands)[kOperands], DimensionList output,
                              Broadcast<kOperands>* broadcast) {
  uint32_t last_pattern = 0;
  int rank = 0;
  for (int k = 0; k < kOperands; ++k) {
    if (operands[k].rank > output.rank) return BroadcastResult::kIncompatible;
  }
  for (int d = 0; d < output.rank; ++d) {
    const int64_t size = output.sizes[d];
    uint32_t pattern = 0;  // the operands that do not repeat here
    for (int k = 0; k < kOperands; ++k) {
      const int own = d - (output.rank - operands[k].rank);
      const int64_t own_size = own < 0 ? 1 : operands[k].sizes[own];
      if (own_size == size) {
        pattern |= 1u << k;
      } else if (own_size != 1) {
        return BroadcastResult::kIncompatible;
      }
    }
    if (size == 1) continue;
    if (rank > 0 && pattern == last_pattern) {
      broadcast->sizes[rank - 1] *= size;
      continue;
    }
    if (rank == kMaxBroadcastRank) return BroadcastResult::kTooManyDimensions;
    broadcast->sizes[rank] = size;
    for (int k = 0; k < kOperands; ++k) {
      broadcast->strides[k][rank] = (pattern >> k) & 1;
    }
    last_pattern = pattern;
    ++rank;
  }
  if (rank == 0) {  // one element
    broadcast->sizes[0] = 1;
    for (int k = 0; k < kOperands; ++k) broadcast->strides[k][0] = 1;
    rank = 1;
  }
  broadcast->rank = rank;
  for (int k = 0; k < kOperands; ++k) {
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      if (broadcast->strides[k][d] == 0) continue;
      broadcast->strides[k][d] = stride;
      stride *= broadcast->sizes[d];
    }
  }
  return BroadcastResult::kOk;
}

// The offsets of the operands at position `index` of the output's first `dimensions` dimensions, at
// the beginning of the others.
template <int kOperands>
TENSORFLOW_EXT_HOST_DEVICE void OuterOffsets(const Broadcast<kOperands>& broadcast, int dimensions,
                                             int64_t index, int64_t (&offsets)[kOperands]) {
  for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
  for (int d = dimensions - 1; d >= 0; --d) {
    const int64_t outer = d == 0 ? 0 : Quotient(index, broadcast.sizes[d]);
    const int64_t own = index - outer * broadcast.sizes[d];
    for (int k = 0; k < kOperands; ++k) {
      offsets[k] += own * broadcast.strides[k][d];
    }
    index = outer;
  }
}

// The offsets of the operands for the output's element `index`.
template <int kOperands>
TENSORFLOW_EXT_HOST_DEVICE void BroadcastOffsets(const Broadcast<kOperands>& broadcast,
                                                 int64_t index, int64_t (&offsets)[kOperands]) {
  OuterOffsets(broadcast, broadcast.rank, index, offsets);
}

// A functor as in elementwise.h, without members:
//
//   struct MultiplyLeft {
//     static constexpr int kArity = 2;
//     static constexpr bool kBroadcasts = true;
//     template <typename C>
//     TENSORFLOW_EXT_HOST_DEVICE C operator()(C x, C y) const {
//       return x * y;
//     }
//   };
//
// With kArity 3 the first operand has the output's shape. A functor that returns a Pair has two
// outputs of one shape. It may have these static constexpr members:
//   - bool kIntegers = true, if its op admits int32 and int64 besides the floating-point types;
//   - int kCost, the cycles for an element on the CPU, if they are more than the operands' and the
//     outputs' bytes take.

template <typename Functor, typename = void>
constexpr bool kTakesIntegers = false;
template <typename Functor>
constexpr bool kTakesIntegers<Functor, std::void_t<decltype(Functor::kIntegers)>> =
    Functor::kIntegers;

template <typename Functor, typename = void>
constexpr int kBroadcastCost = ElementCycles(Functor{});
template <typename Functor>
constexpr int kBroadcastCost<Functor, std::void_t<decltype(Functor::kCost)>> = Functor::kCost;

template <typename Functor>
struct CpuElementwise<Functor, true> {
  static_assert(std::is_empty_v<Functor>, "a broadcasting op has no attributes");

  // outputs[0][i], ... = functor(inputs[0][...], ...) for i in [begin, end). An output may be an
  // input that does not repeat, and must not overlap one otherwise. `streams` writes the outputs
  // past the caches, which is faster where they exceed the caches (streaming_cpu.h).
  static void Run(NumericType type, const Broadcast<Functor::kArity>& broadcast,
                  const void* const* inputs, void* const* outputs, int64_t begin, int64_t end,
                  bool streams = false);
};

template <typename Functor>
struct GpuElementwise<Functor, true> {
  // The same for i in [0, size) and arrays in device memory, in order on `stream`, a cudaStream_t.
  // Returns the launch's cudaError_t. Size 0 launches nothing.
  static int Launch(NumericType type, const Broadcast<Functor::kArity>& broadcast,
                    const void* const* inputs, void* const* outputs, int64_t size, void* stream);
};

// Calls `fn(TypeTag<T>{})` with the type `type`, which the functor's op admits.
template <typename Functor, typename Fn>
auto DispatchFor(NumericType type, Fn&& fn) {
  if constexpr (kTakesIntegers<Functor>) {
    return DispatchNumeric(type, fn);
  } else {
    return DispatchFloating(type, fn);
  }
}

}  // namespace tensorflow_ext
