// A loop for each elementary function, type and instruction set. vector_code_test.py finds it in
// the machine code by its name: Sqrt_float_avx2.

#include <cmath>
#include <cstdint>

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tests/kernels/elementary_functors.h"

#if !defined(__x86_64__)
#define TENSORFLOW_EXT_AVX2
#define TENSORFLOW_EXT_AVX512
namespace tensorflow_ext {
using Avx2 = Baseline;
using Avx512 = Baseline;
}  // namespace tensorflow_ext
#endif

namespace tensorflow_ext {

// Mistakes that authors are likely to make, which the test must find.
TENSORFLOW_EXT_DEFINE_UNARY(FaultySqrt, std::sqrt(x), false)
TENSORFLOW_EXT_DEFINE_UNARY(FaultyExp, std::exp(x), false)
TENSORFLOW_EXT_DEFINE_UNARY(FaultySin, Sin(x), false)  // does not take angles

}  // namespace tensorflow_ext

#define LOOP(Name, T, attribute, Isa, isa)                                                      \
  extern "C" attribute void Name##_##T##_##isa(const void* const* inputs, void* const* outputs, \
                                               int64_t size) {                                  \
    using Loop = tensorflow_ext::internal::ElementwiseLoop<tensorflow_ext::Name##Functor, T>;   \
    Loop::Run<tensorflow_ext::Isa>(tensorflow_ext::Name##Functor{}, inputs, outputs, false, 0,  \
                                   size);                                                       \
  }
#define LOOPS_OF(Name, T)                        \
  LOOP(Name, T, , Baseline, baseline)            \
  LOOP(Name, T, TENSORFLOW_EXT_AVX2, Avx2, avx2) \
  LOOP(Name, T, TENSORFLOW_EXT_AVX512, Avx512, avx512)
#define LOOPS(Name, expression) \
  LOOPS_OF(Name, float)         \
  LOOPS_OF(Name, double)

TENSORFLOW_EXT_ANGLE_FUNCTIONS(LOOPS)
TENSORFLOW_EXT_UNARY_FUNCTIONS(LOOPS)
TENSORFLOW_EXT_BINARY_FUNCTIONS(LOOPS)
LOOPS(FaultySqrt, )
LOOPS(FaultyExp, )
LOOPS(FaultySin, )
