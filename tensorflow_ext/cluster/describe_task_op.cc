#include <algorithm>
#include <string>
#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/tstring.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/version.h"

namespace tensorflow_ext {

using tensorflow::OpKernel;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::tstring;

namespace {

constexpr char kDescribeTask[] = "TfExt>DescribeTask";
constexpr char kExpected[] = "a vector, [n]";

absl::Status DescribeTaskShape(tensorflow::shape_inference::InferenceContext* c) {
  tensorflow::shape_inference::ShapeHandle ops;
  TF_RETURN_IF_ERROR(InferRank(c, kDescribeTask, "ops", 0, 1, kExpected, &ops));
  c->set_output(0, c->Scalar());
  c->set_output(1, c->Vector(c->UnknownDim()));
  return absl::OkStatus();
}

}  // namespace

// Stateful, because graph optimization may compute a constant on another task, and a process may
// load libraries between two runs.
REGISTER_OP("TfExt>DescribeTask")
    .Input("ops: string")
    .Output("version: string")
    .Output("unknown: string")
    .SetIsStateful()
    .SetShapeFn(DescribeTaskShape)
    .Doc(R"doc(
Describes this library in the process that runs the op, as a task of a cluster.

ops: Names of ops, [n].
version: This library's version and that of the TensorFlow it was built for, [],
  as TfExt_Version() returns it.
unknown: Those of `ops` that are not registered in the process, [m].
)doc");

// Names have no gradient.
REGISTER_OP_NO_GRADIENT("TfExt>DescribeTask");

namespace {

class DescribeTaskOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    const Tensor& ops = context->input(0);
    OP_REQUIRES_OK(context, CheckRank(kDescribeTask, "ops", ops.shape(), 1, kExpected));
    std::vector<tstring> unknown;
    const auto names = ops.vec<tstring>();
    for (int64_t i = 0; i < names.size(); ++i) {
      const tensorflow::OpRegistrationData* data = nullptr;
      if (!tensorflow::OpRegistry::Global()->LookUp(std::string(names(i)), &data).ok()) {
        unknown.push_back(names(i));
      }
    }
    Tensor* version = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &version));
    version->scalar<tstring>()() = TfExt_Version();
    Tensor* listed = nullptr;
    const auto count = static_cast<int64_t>(unknown.size());
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({count}), &listed));
    std::copy(unknown.begin(), unknown.end(), listed->vec<tstring>().data());
  }
};
REGISTER_KERNEL_BUILDER(Name("TfExt>DescribeTask").Device(tensorflow::DEVICE_CPU), DescribeTaskOp);

}  // namespace
}  // namespace tensorflow_ext
