// Every elementary function in a kernel, compiled like the kernels: without warnings and without
// local memory.

#include "tensorflow_ext/kernels/elementwise_gpu.cuh"
#include "tests/kernels/elementary_functors.h"

#define INSTANTIATE(Name, expression) \
  template struct tensorflow_ext::GpuElementwise<tensorflow_ext::Name##Functor>;
TENSORFLOW_EXT_ANGLE_FUNCTIONS(INSTANTIATE)
TENSORFLOW_EXT_UNARY_FUNCTIONS(INSTANTIATE)
TENSORFLOW_EXT_BINARY_FUNCTIONS(INSTANTIATE)
