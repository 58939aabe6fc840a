// SPDX-License-Identifier: Apache-2.0
//
// EmbeddingBag's launchers on the host. The CPU kernels refuse an index that
// the GPU's have to pass over: it stands in as a row of zeros behind the
// others.

#include <cstdint>
#include <cstring>
#include <vector>

#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"

namespace tensorflow_ext {
namespace {

// Indices and, if wanted, a table with one more row than `dims` had before.
struct Padded {
  std::vector<int64_t> indices;
  std::vector<char> params;
};

Padded Pad(NumericType type, NumericType index_type, EmbeddingBagDims* dims,
           const void* indices, const void* params) {
  Padded padded;
  for (int64_t i = 0; i < dims->positions(); ++i) {
    const int64_t index = IndexAt(index_type, indices, i);
    padded.indices.push_back(IsRow(index, dims->rows) ? index : dims->rows);
  }
  const int64_t row_bytes = DispatchFloating(type, [&](auto tag) -> int64_t {
    return dims->width * sizeof(TypeOf<decltype(tag)>);
  });
  padded.params.resize((dims->rows + 1) * row_bytes);
  if (params != nullptr && dims->rows * row_bytes > 0) {
    std::memcpy(padded.params.data(), params, dims->rows * row_bytes);
  }
  ++dims->rows;
  return padded;
}

}  // namespace

int LaunchEmbeddingBag(NumericType type, NumericType index_type,
                       const EmbeddingBagDims& dims, const void* indices,
                       const void* params, const void* weights, void* output,
                       void*) {
  EmbeddingBagDims more = dims;
  const Padded padded = Pad(type, index_type, &more, indices, params);
  EmbeddingBagCpu(type, NumericType::kInt64, more, padded.indices.data(),
                  padded.params.data(), weights, output, 0, dims.bags);
  return 0;
}

int LaunchEmbeddingBagWeightsGrad(NumericType type, NumericType index_type,
                                  const EmbeddingBagDims& dims,
                                  const void* gradients, const void* indices,
                                  const void* params, void* backprops, void*) {
  EmbeddingBagDims more = dims;
  const Padded padded = Pad(type, index_type, &more, indices, params);
  EmbeddingBagWeightsGradCpu(type, NumericType::kInt64, more, gradients,
                             padded.indices.data(), padded.params.data(),
                             backprops, 0, dims.bags);
  return 0;
}

int LaunchEmbeddingBagParamsGrad(NumericType type, NumericType index_type,
                                 const EmbeddingBagDims& dims, bool,
                                 const void* gradients, const void* indices,
                                 const void* weights, float*, void* backprops,
                                 void*) {
  EmbeddingBagDims more = dims;
  Padded padded = Pad(type, index_type, &more, indices, nullptr);
  std::vector<int64_t> ends(more.rows);
  std::vector<EmbeddingBagTerm<double>> terms(more.positions());
  SortEmbeddingBagTerms(type, NumericType::kInt64, more, padded.indices.data(),
                        weights, ends.data(), terms.data());
  EmbeddingBagParamsGradCpu(type, more, gradients, ends.data(), terms.data(),
                            padded.params.data(), 0,
                            more.positions() + more.rows);
  const int64_t rows_bytes = padded.params.size() / more.rows * dims.rows;
  if (rows_bytes > 0) std::memcpy(backprops, padded.params.data(), rows_bytes);
  return 0;
}

}  // namespace tensorflow_ext
