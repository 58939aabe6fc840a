// SPDX-License-Identifier: Apache-2.0
//
// EmbeddingBag's launchers as plain C: embedding_bag_checks.py calls them. They
// return a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"

namespace tensorflow_ext {
namespace {

EmbeddingBagDims BagDims(const int64_t* dims) {
  return {dims[0], dims[1], dims[2], dims[3], dims[4] != 0};
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// `dims` are the members of EmbeddingBagDims, in order, `type` and `index_type`
// NumericTypes.

int Kernel_EmbeddingBag(int32_t type, int32_t index_type, const int64_t* dims,
                        const void* indices, const void* params,
                        const void* weights, void* output, void* stream) {
  return LaunchEmbeddingBag(static_cast<NumericType>(type),
                            static_cast<NumericType>(index_type), BagDims(dims),
                            indices, params, weights, output, stream);
}

int Kernel_EmbeddingBagWeightsGrad(int32_t type, int32_t index_type,
                                   const int64_t* dims, const void* gradients,
                                   const void* indices, const void* params,
                                   void* backprops, void* stream) {
  return LaunchEmbeddingBagWeightsGrad(
      static_cast<NumericType>(type), static_cast<NumericType>(index_type),
      BagDims(dims), gradients, indices, params, backprops, stream);
}

int Kernel_EmbeddingBagParamsGrad(int32_t type, int32_t index_type,
                                  const int64_t* dims, int32_t deterministic,
                                  const void* gradients, const void* indices,
                                  const void* weights, float* sums,
                                  void* backprops, void* stream) {
  return LaunchEmbeddingBagParamsGrad(
      static_cast<NumericType>(type), static_cast<NumericType>(index_type),
      BagDims(dims), deterministic != 0, gradients, indices, weights, sums,
      backprops, stream);
}

}  // extern "C"
#pragma GCC visibility pop
}  // namespace tensorflow_ext
