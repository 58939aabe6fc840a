// SPDX-License-Identifier: Apache-2.0
//
// The launchers of Sparsemax as plain C: sparsemax_checks.py calls them. They
// return a cudaError_t as an int.

#include <cstdint>

#include "tensorflow_ext/ops/sparsemax/sparsemax.h"

#pragma GCC visibility push(default)
extern "C" {

int Kernel_Sparsemax(int32_t type, int64_t rows, int64_t size,
                     const void* logits, void* y, void* stream) {
  using namespace tensorflow_ext;
  return GpuSparsemax::Forward(static_cast<NumericType>(type), {rows, size},
                               logits, y, stream);
}

int Kernel_SparsemaxGrad(int32_t type, int64_t rows, int64_t size,
                         const void* gradients, const void* y, void* backprops,
                         void* stream) {
  using namespace tensorflow_ext;
  return GpuSparsemax::Backward(static_cast<NumericType>(type), {rows, size},
                                gradients, y, backprops, stream);
}

}  // extern "C"
#pragma GCC visibility pop
