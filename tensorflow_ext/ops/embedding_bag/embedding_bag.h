// Weighted sums of a table's rows, without TensorFlow headers: the loops that the kernels run.
//
//   output[b, :] = scale * sum over l of weights[b, l] * params[indices[b, l],
//   :]
//
// The output is linear in params and in weights, and each gradient is linear in the upstream
// gradient. So all derivatives are sums over the same triples.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

// indices and weights are [bags, bag_size], params is [rows, width], and the output is [bags,
// width].
struct EmbeddingBagDims {
  int64_t bags, bag_size;
  int64_t rows, width;
  bool mean;  // divides by bag_size

  TENSORFLOW_EXT_HOST_DEVICE int64_t positions() const { return bags * bag_size; }
  template <typename C>
  TENSORFLOW_EXT_HOST_DEVICE C scale() const {
    return mean && bag_size > 0 ? C(1) / static_cast<C>(bag_size) : C(1);
  }
};

// True if an index names a row.
template <typename Index>
TENSORFLOW_EXT_HOST_DEVICE bool IsRow(Index index, int64_t rows) {
  return static_cast<uint64_t>(static_cast<int64_t>(index)) < static_cast<uint64_t>(rows);
}

// Tensors have the floating-point type `type`. Indices have `index_type`, which is kInt32 or
// kInt64.

// Calls `fn(TypeTag<T>{}, TypeTag<Index>{})`.
template <typename Fn>
auto DispatchIndexed(NumericType type, NumericType index_type, Fn&& fn) {
  return DispatchFloating(type, [&](auto tag) {
    return index_type == NumericType::kInt64 ? fn(tag, TypeTag<int64_t>{})
                                             : fn(tag, TypeTag<int32_t>{});
  });
}

// ----- CPU. Results do not depend on how the work is divided. -----

// The first position in [begin, end) whose index names no row, or -1.
int64_t FirstWrongIndex(NumericType index_type, const EmbeddingBagDims& dims, const void* indices,
                        int64_t begin, int64_t end);

// The index at a position, for error messages.
int64_t IndexAt(NumericType index_type, const void* indices, int64_t position);

// Below, every index names a row.

// Computes bags [begin, end).
void EmbeddingBagCpu(NumericType type, NumericType index_type, const EmbeddingBagDims& dims,
                     const void* indices, const void* params, const void* weights, void* output,
                     int64_t begin, int64_t end);

// Computes bags [begin, end) of the gradient of weights.
void EmbeddingBagWeightsGradCpu(NumericType type, NumericType index_type,
                                const EmbeddingBagDims& dims, const void* gradients,
                                const void* indices, const void* params, void* backprops,
                                int64_t begin, int64_t end);

// The term that a position adds to its row: factor * gradients[bag, :]. C is the compute type.
template <typename C>
struct EmbeddingBagTerm {
  int64_t bag;
  C factor;
};
int64_t EmbeddingBagTermBytes(NumericType type);

// Sorts the positions by row, in ascending order within each row. `terms` has an EmbeddingBagTerm
// for each position, and the terms of row v end at ends[v].
void SortEmbeddingBagTerms(NumericType type, NumericType index_type, const EmbeddingBagDims& dims,
                           const void* indices, const void* weights, int64_t* ends, void* terms);

// Computes part [begin, end) of the gradient of params, which has positions + rows units of work. A
// row's first unit follows the units of all earlier rows.
void EmbeddingBagParamsGradCpu(NumericType type, const EmbeddingBagDims& dims,
                               const void* gradients, const int64_t* ends, const void* terms,
                               void* backprops, int64_t begin, int64_t end);

// ----- GPU. Pointers are device pointers; see kernels/launch.h. -----
// An index that names no row is skipped.

int LaunchEmbeddingBag(NumericType type, NumericType index_type, const EmbeddingBagDims& dims,
                       const void* indices, const void* params, const void* weights, void* output,
                       void* stream);

int LaunchEmbeddingBagWeightsGrad(NumericType type, NumericType index_type,
                                  const EmbeddingBagDims& dims, const void* gradients,
                                  const void* indices, const void* params, void* backprops,
                                  void* stream);

// Sums each row in the order of its positions if `deterministic`, else with atomics. `sums` has the
// size of params, for the 16-bit types only.
int LaunchEmbeddingBagParamsGrad(NumericType type, NumericType index_type,
                                 const EmbeddingBagDims& dims, bool deterministic,
                                 const void* gradients, const void* indices, const void* weights,
                                 float* sums, void* backprops, void* stream);

}  // namespace tensorflow_ext
