// SPDX-License-Identifier: Apache-2.0
//
// The launchers of row normalization on the host.

#include <cstdint>
#include <vector>

#include "tensorflow_ext/ops/layer_norm/layer_norm.h"
#include "tensorflow_ext/ops/rms_norm/rms_norm.h"

namespace tensorflow_ext {
namespace {

// A parameter in the compute type, as the CPU's loops take it. It may be null.
template <typename Norm>
std::vector<double> Wide(NumericType type, const void* parameter,
                         int64_t size) {
  std::vector<double> wide(size);  // Large and aligned enough for any type.
  if (parameter != nullptr) {
    CpuRowNormalization<Norm>::Widen(type, parameter, wide.data(), size);
  }
  return wide;
}

}  // namespace

template <typename Norm>
int GpuRowNormalization<Norm>::Forward(NumericType type, const RowDims& dims,
                                       float epsilon,
                                       const NormalizationTensors& tensors,
                                       void*) {
  const auto scale = Wide<Norm>(type, tensors.scale, dims.size);
  const auto offset = Wide<Norm>(type, tensors.offset, dims.size);
  NormalizationTensors on_host = tensors;
  on_host.scale = scale.data();
  on_host.offset = offset.data();
  CpuRowNormalization<Norm>::Forward(type, dims, epsilon, on_host, 0,
                                     dims.rows);
  return 0;
}

template <typename Norm>
int GpuRowNormalization<Norm>::Backward(NumericType type, const RowDims& dims,
                                        const NormalizationGradTensors& tensors,
                                        void*) {
  using Loops = CpuRowNormalization<Norm>;
  const int64_t parts = Loops::Parts(dims);
  const auto scale = Wide<Norm>(type, tensors.scale, dims.size);
  std::vector<double> sums(parts * kSums * dims.size);
  NormalizationGradTensors on_host = tensors;
  on_host.scale = scale.data();
  on_host.partial_sums = sums.data();
  Loops::Backward(type, dims, on_host, 0, parts);
  Loops::SumParts(type, dims, on_host, 0, dims.size);
  return 0;
}

template struct GpuRowNormalization<LayerNorm>;
template struct GpuRowNormalization<RmsNorm>;

}  // namespace tensorflow_ext
