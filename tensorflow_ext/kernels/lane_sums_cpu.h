// SPDX-License-Identifier: Apache-2.0
//
// Sums over a row that are vectorised and yet the same, to the last bit, for
// every instruction set: element i is added to partial sum i % 32, and these
// are added pairwise at the end. For use in the loops of RunBest (simd.h).

#ifndef TENSORFLOW_EXT_KERNELS_LANE_SUMS_CPU_H_
#define TENSORFLOW_EXT_KERNELS_LANE_SUMS_CPU_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// One or several neighbouring values: `V` is C or a vector of it.
template <typename V, typename C>
TENSORFLOW_EXT_INLINE void Load(const C* from, V* to) {
  std::memcpy(to, from, sizeof(V));
}

// kSums sums over one row. The terms of each are those of a class
//
//   template <typename V>
//   TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const;
//
// that sets kSums terms for element i, or for as many elements from there on as
// V holds.
template <typename Isa, typename C, int kSums>
class LaneSums {
 public:
  static constexpr int kLanes = 32;

  // Adds the terms [0, size). `size` is a multiple of kLanes but in the last
  // call.
  template <typename Terms>
  TENSORFLOW_EXT_INLINE void Add(const Terms& terms, int64_t size) {
    Vector sums[kSums][kVectors];
    std::memcpy(sums, lanes_, sizeof(sums));
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (int v = 0; v < kVectors; ++v) {
        Vector term[kSums];
        terms.At(i + v * kWidth, term);
        for (int k = 0; k < kSums; ++k) sums[k][v] += term[k];
      }
    }
    std::memcpy(lanes_, sums, sizeof(sums));
    for (int lane = 0; i < size; ++i, ++lane) {
      C term[kSums];
      terms.At(i, term);
      for (int k = 0; k < kSums; ++k) lanes_[k][lane] += term[k];
    }
  }

  // The sum `k`.
  TENSORFLOW_EXT_INLINE C Total(int k) const {
    Vector sums[kVectors];
    std::memcpy(sums, lanes_[k], sizeof(sums));
    for (int half = kVectors / 2; half > 0; half /= 2) {
      for (int v = 0; v < half; ++v) sums[v] += sums[v + half];
    }
    AddHalves<kWidth / 2>(&sums[0], std::make_index_sequence<kWidth>());
    return sums[0][0];
  }

 private:
  static constexpr int kWidth = kVectorBytes<Isa> / sizeof(C);
  static constexpr int kVectors = kLanes / kWidth;
  typedef C Vector __attribute__((vector_size(kVectorBytes<Isa>)));

  // Adds to each of 2 kHalf elements the one that lies kHalf farther, again and
  // again with half of that.
  template <int kHalf, size_t... kLane>
  TENSORFLOW_EXT_INLINE static void AddHalves(
      Vector* sum, std::index_sequence<kLane...> lanes) {
    using Lanes = decltype(Vector{} < Vector{});
    *sum += __builtin_shuffle(*sum, Lanes{(kLane ^ kHalf)...});
    if constexpr (kHalf > 1) AddHalves<kHalf / 2>(sum, lanes);
  }

  C lanes_[kSums][kLanes] = {};
};

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_LANE_SUMS_CPU_H_
