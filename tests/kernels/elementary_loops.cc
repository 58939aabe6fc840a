// The CPU's loops of elementary_functors.h.

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tests/kernels/elementary_functors.h"

namespace tensorflow_ext {

#define INSTANTIATE(Name, expression) INSTANTIATE_CPU_ELEMENTWISE(, Name##Functor)

TENSORFLOW_EXT_ANGLE_FUNCTIONS(INSTANTIATE)
TENSORFLOW_EXT_UNARY_FUNCTIONS(INSTANTIATE)
TENSORFLOW_EXT_BINARY_FUNCTIONS(INSTANTIATE)

}  // namespace tensorflow_ext
