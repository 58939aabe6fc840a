// Vectorised sums over a row that have the same bits on every instruction set. Element i is added
// to partial sum i % 32, and the partial sums are added pairwise at the end. For loops of RunBest
// (simd.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tensorflow_ext/kernels/simd.h"

namespace tensorflow_ext {

// One value, or several neighbours: `V` is C or a vector of it.
template <typename V, typename C>
TENSORFLOW_EXT_INLINE void Load(const C* from, V* to) {
  std::memcpy(to, from, sizeof(V));
}

// A row's partial sums, added pairwise until they fill 16 bytes, a vector of every instruction set.
template <typename C>
struct PartialSums {
  static constexpr int kWidth = 16 / sizeof(C);
  typedef C Vector __attribute__((vector_size(16)));

  Vector sums;
};

namespace internal {

// Adds to each of 2 kHalf elements the one kHalf farther on, and repeats with half of that, for two
// rows at once, whose results fill one vector.
template <typename C, int kHalf, int kRows, size_t... kLane>
TENSORFLOW_EXT_INLINE void AddHalves(typename PartialSums<C>::Vector* sums,
                                     std::index_sequence<kLane...> lanes) {
  if constexpr (kHalf > 0) {
    using Vector = typename PartialSums<C>::Vector;
    using Lanes = decltype(Vector{} < Vector{});
    constexpr Lanes kFirst{(2 * kLane - kLane % kHalf)...};
    constexpr int kVectors = kRows > 1 ? kRows / 2 : 1;
    constexpr int kPair = kRows / kVectors;  // A single row pairs with itself.
    for (int v = 0; v < kVectors; ++v) {
      const Vector one = sums[v * kPair], other = sums[(v + 1) * kPair - 1];
      sums[v] =
          __builtin_shuffle(one, other, kFirst) + __builtin_shuffle(one, other, kFirst + kHalf);
    }
    AddHalves<C, kHalf / 2, kVectors>(sums, lanes);
  }
}

}  // namespace internal

// The sums of kRows rows, a power of two. Several rows cost little more than one, and later work on
// their sums is vectorised.
template <typename C, int kRows>
TENSORFLOW_EXT_INLINE void Totals(const PartialSums<C> (&rows)[kRows], C (&totals)[kRows]) {
  constexpr int kWidth = PartialSums<C>::kWidth;
  typename PartialSums<C>::Vector sums[kRows];
  for (int row = 0; row < kRows; ++row) sums[row] = rows[row].sums;
  internal::AddHalves<C, kWidth / 2, kRows>(sums, std::make_index_sequence<kWidth>());
  std::memcpy(totals, sums, sizeof(totals));
}

// kSums sums over one row. The terms come from a class with the function
//
//   template <typename V>
//   TENSORFLOW_EXT_INLINE void At(int64_t i, V* terms) const;
//
// which sets kSums terms for element i, or for the elements from i on that fill V.
template <typename Isa, typename C, int kSums>
class LaneSums {
 public:
  static constexpr int kLanes = 32;

  // One by one, because an array filled as a whole would be kept in memory.
  TENSORFLOW_EXT_INLINE LaneSums() {
    for (int k = 0; k < kSums; ++k) {
      for (int v = 0; v < kVectors; ++v) sums_[k][v] = Vector{};
    }
  }

  // Adds the terms [0, size). Except in the last call kLanes must divide `size`.
  template <typename Terms>
  TENSORFLOW_EXT_INLINE void Add(const Terms& terms, int64_t size) {
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (int v = 0; v < kVectors; ++v) {
        AddVector(terms, i + v * kWidth, v);
      }
    }
    const int64_t whole = (size - i) / kWidth;
    for (int v = 0; v < kVectors; ++v) {
      if (v < whole) AddVector(terms, i + v * kWidth, v);
    }
    i += whole * kWidth;
    if (i == size) return;
    C rest[kSums][kWidth] = {};  // No sum is -0, the only value that 0 changes.
    for (int lane = 0; i < size; ++i, ++lane) {
      C term[kSums];
      terms.At(i, term);
      for (int k = 0; k < kSums; ++k) rest[k][lane] = term[k];
    }
    for (int v = 0; v < kVectors; ++v) {
      if (v != whole) continue;
      for (int k = 0; k < kSums; ++k) {
        Vector term;
        Load(rest[k], &term);
        sums_[k][v] += term;
      }
    }
  }

  // The sum `k`.
  TENSORFLOW_EXT_INLINE C Total(int k) const {
    const PartialSums<C> row[] = {Partial(k)};
    C total[1];
    Totals(row, total);
    return total[0];
  }

  // The partial sums from which Totals computes sum `k`.
  TENSORFLOW_EXT_INLINE PartialSums<C> Partial(int k) const {
    Vector sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = sums_[k][v];
    for (int half = kVectors / 2; half > 0; half /= 2) {
      for (int v = 0; v < half; ++v) sums[v] += sums[v + half];
    }
    constexpr int kParts = kWidth / PartialSums<C>::kWidth;
    PartialSums<C> parts[kParts];
    std::memcpy(parts, sums, sizeof(parts));
    for (int half = kParts / 2; half > 0; half /= 2) {
      for (int v = 0; v < half; ++v) parts[v].sums += parts[v + half].sums;
    }
    return parts[0];
  }

 private:
  static constexpr int kWidth = kVectorBytes<Isa> / sizeof(C);
  static constexpr int kVectors = kLanes / kWidth;
  typedef C Vector __attribute__((vector_size(kVectorBytes<Isa>)));

  template <typename Terms>
  TENSORFLOW_EXT_INLINE void AddVector(const Terms& terms, int64_t i, int v) {
    Vector term[kSums];
    terms.At(i, term);
    for (int k = 0; k < kSums; ++k) sums_[k][v] += term[k];
  }

  Vector sums_[kSums][kVectors];
};

}  // namespace tensorflow_ext
