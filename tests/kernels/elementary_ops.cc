// An op for each elementary function. elementary_xla_test.py compares its CPU kernel with its
// lowering; both use the same functor.

#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/kernels/elementwise_op.h"
#include "tests/kernels/elementary_functors.h"

namespace tensorflow_ext {

// Functions of numbers that are the same for every element, and of both kinds.
struct ConstantsFunctor {
  static constexpr int kArity = 1;
  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    const T root = Sqrt(T(2)) + Pow(T(3), T(0.5)) * Exp(T(-1));
    return root * Pow(Abs(x), T(0.25)) + CopySign(T(1), x) * Cos(T(2));
  }
};
template struct CpuElementwise<ConstantsFunctor>;

namespace {

#define REGISTER(Name, arity)                         \
  REGISTER_OP("Test>" #Name)                          \
      .Input("x: N * T")                              \
      .Output("result: T")                            \
      .Attr("T: {float, double}")                     \
      .Attr("N: int = " #arity)                       \
      .SetShapeFn(SameShapeFn("Test>" #Name, arity)); \
  REGISTER_ELEMENTWISE("Test>" #Name, Name##Functor)
#define REGISTER_UNARY(Name, expression) REGISTER(Name, 1)
#define REGISTER_BINARY(Name, expression) REGISTER(Name, 2)

TENSORFLOW_EXT_ANGLE_FUNCTIONS(REGISTER_UNARY)
TENSORFLOW_EXT_UNARY_FUNCTIONS(REGISTER_UNARY)
TENSORFLOW_EXT_BINARY_FUNCTIONS(REGISTER_BINARY)
REGISTER_UNARY(Constants, )

}  // namespace
}  // namespace tensorflow_ext
