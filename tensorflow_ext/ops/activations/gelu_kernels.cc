// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/activations/gelu.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

// Each form has kernels of its own: the loops do not ask which it is.
#define REGISTER_GELU(op, form, device, Kernel)                          \
  REGISTER_KERNEL_BUILDER(                                               \
      Name(op).Device(device).AttrConstraint<bool>("approximate", form), \
      Kernel)

REGISTER_GELU("TfExt>Gelu", true, DEVICE_CPU, ElementwiseCpuOp<GeluTanh>);
REGISTER_GELU("TfExt>Gelu", false, DEVICE_CPU, ElementwiseCpuOp<GeluExact>);
REGISTER_GELU("TfExt>GeluGrad", true, DEVICE_CPU,
              ElementwiseCpuOp<GeluTanhGrad>);
REGISTER_GELU("TfExt>GeluGrad", false, DEVICE_CPU,
              ElementwiseCpuOp<GeluExactGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_GELU("TfExt>Gelu", true, DEVICE_GPU, ElementwiseGpuOp<GeluTanh>);
REGISTER_GELU("TfExt>Gelu", false, DEVICE_GPU, ElementwiseGpuOp<GeluExact>);
REGISTER_GELU("TfExt>GeluGrad", true, DEVICE_GPU,
              ElementwiseGpuOp<GeluTanhGrad>);
REGISTER_GELU("TfExt>GeluGrad", false, DEVICE_GPU,
              ElementwiseGpuOp<GeluExactGrad>);
#endif

}  // namespace tensorflow_ext
