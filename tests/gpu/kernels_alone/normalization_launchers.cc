// SPDX-License-Identifier: Apache-2.0
//
// The launchers of row normalization as plain C: normalization_kernels.py calls
// them. They return a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/normalization/normalization.h"

#pragma GCC visibility push(default)
extern "C" {

// `centered` is 1 for LayerNorm and 0 for RmsNorm; `tensors` has the members of
// NormalizationTensors, in order.
int Kernel_RowNormalization(int32_t centered, int32_t type, int64_t rows,
                            int64_t size, float epsilon, void* const* tensors,
                            void* stream) {
  using namespace tensorflow_ext;
  const RowDims dims{rows, size};
  const auto numeric_type = static_cast<NumericType>(type);
  const NormalizationTensors arguments{tensors[0], tensors[1], tensors[2],
                                       tensors[3], tensors[4], tensors[5]};
  return centered ? GpuRowNormalization<LayerNorm>::Forward(
                        numeric_type, dims, epsilon, arguments, stream)
                  : GpuRowNormalization<RmsNorm>::Forward(
                        numeric_type, dims, epsilon, arguments, stream);
}

// The same with the members of NormalizationGradTensors.
int Kernel_RowNormalizationGrad(int32_t centered, int32_t type, int64_t rows,
                                int64_t size, void* const* tensors,
                                void* stream) {
  using namespace tensorflow_ext;
  const RowDims dims{rows, size};
  const auto numeric_type = static_cast<NumericType>(type);
  const NormalizationGradTensors arguments{
      tensors[0], tensors[1], tensors[2], tensors[3], tensors[4], tensors[5],
      tensors[6], tensors[7], tensors[8], tensors[9], tensors[10]};
  return centered ? GpuRowNormalization<LayerNorm>::Backward(numeric_type, dims,
                                                             arguments, stream)
                  : GpuRowNormalization<RmsNorm>::Backward(numeric_type, dims,
                                                           arguments, stream);
}

// Writes the number of elements of partial_sums.
int Kernel_RowNormalizationScratch(int32_t centered, int64_t rows, int64_t size,
                                   int64_t* elements) {
  using namespace tensorflow_ext;
  const RowDims dims{rows, size};
  *elements = centered ? GpuRowNormalization<LayerNorm>::Parts(dims) *
                             GpuRowNormalization<LayerNorm>::kSums * size
                       : GpuRowNormalization<RmsNorm>::Parts(dims) *
                             GpuRowNormalization<RmsNorm>::kSums * size;
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
