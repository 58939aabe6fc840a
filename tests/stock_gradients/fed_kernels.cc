// Kernels labelled "fed" for ops that have no CPU kernel, or none for these attributes. A session
// needs a kernel for every node. It does not run here, because the cases feed all outputs of these
// ops (`fed` of old_ops.py).

#include "tensorflow/core/framework/op_kernel.h"

namespace {

class FedOp : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(tensorflow::OpKernelContext* ctx) override {
    ctx->SetStatus(absl::UnimplementedError("the outputs are to be fed"));
  }
};

#define REGISTER(op) \
  REGISTER_KERNEL_BUILDER(Name(op).Device(tensorflow::DEVICE_CPU).Label("fed"), FedOp)
REGISTER("ApproxTopK");
REGISTER("CTCLossV2");
REGISTER("Conv");
REGISTER("Conv2DBackpropFilterV2");
REGISTER("Conv2DBackpropInputV2");
REGISTER("KthOrderStatistic");
REGISTER("MaxPoolGradGradWithArgmax");
REGISTER("TileGrad");
REGISTER("TopK");
#undef REGISTER

}  // namespace
