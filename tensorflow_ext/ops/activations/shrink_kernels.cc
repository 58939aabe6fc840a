// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tensorflow_ext/ops/activations/shrink.h"
#include "tensorflow_ext/ops/activations/shrink_attributes.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {

using tensorflow::DEVICE_CPU;
using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfExt>Tanhshrink").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Tanhshrink>);
REGISTER_KERNEL_BUILDER(Name("TfExt>TanhshrinkGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<TanhshrinkGrad>);
REGISTER_KERNEL_BUILDER(Name("TfExt>Hardshrink").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Hardshrink>);
REGISTER_KERNEL_BUILDER(Name("TfExt>HardshrinkGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<ShrinkGrad>);
REGISTER_KERNEL_BUILDER(Name("TfExt>Softshrink").Device(DEVICE_CPU),
                        ElementwiseCpuOp<Softshrink>);
REGISTER_KERNEL_BUILDER(Name("TfExt>SoftshrinkGrad").Device(DEVICE_CPU),
                        ElementwiseCpuOp<ShrinkGrad>);

#if TENSORFLOW_EXT_CUDA
REGISTER_KERNEL_BUILDER(Name("TfExt>Tanhshrink").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Tanhshrink>);
REGISTER_KERNEL_BUILDER(Name("TfExt>TanhshrinkGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<TanhshrinkGrad>);
REGISTER_KERNEL_BUILDER(Name("TfExt>Hardshrink").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Hardshrink>);
REGISTER_KERNEL_BUILDER(Name("TfExt>HardshrinkGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<ShrinkGrad>);
REGISTER_KERNEL_BUILDER(Name("TfExt>Softshrink").Device(DEVICE_GPU),
                        ElementwiseGpuOp<Softshrink>);
REGISTER_KERNEL_BUILDER(Name("TfExt>SoftshrinkGrad").Device(DEVICE_GPU),
                        ElementwiseGpuOp<ShrinkGrad>);
#endif

}  // namespace tensorflow_ext
