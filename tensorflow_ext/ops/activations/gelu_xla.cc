// SPDX-License-Identifier: Apache-2.0

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/functor_xla.h"
#include "tensorflow_ext/ops/activations/gelu.h"
#include "tensorflow_ext/registration.h"

namespace tensorflow_ext {
namespace {

template <typename Approximate, typename Exact>
class GeluXlaOp : public tensorflow::XlaOpKernel {
 public:
  explicit GeluXlaOp(tensorflow::OpKernelConstruction* context)
      : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("approximate", &approximate_));
  }

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    if (approximate_) {
      LowerFunctor(Approximate{}, context);
    } else {
      LowerFunctor(Exact{}, context);
    }
  }

 private:
  bool approximate_;
};
using GeluForwardXlaOp = GeluXlaOp<GeluTanh, GeluExact>;
using GeluGradXlaOp = GeluXlaOp<GeluTanhGrad, GeluExactGrad>;

REGISTER_XLA_OP(Name("TfExt>Gelu"), GeluForwardXlaOp);
REGISTER_XLA_OP(Name("TfExt>GeluGrad"), GeluGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
