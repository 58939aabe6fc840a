#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/rows_checks.h"
#include "tensorflow_ext/kernels/same_shape.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/sparsemax/sparsemax.h"

namespace tensorflow_ext {
namespace {

class SparsemaxOp : public TypedOp {
 public:
  using TypedOp::TypedOp;

  void Compute(OpKernelContext* context) override {
    const TensorShape& shape = context->input(0).shape();
    RowDims dims;
    OP_REQUIRES_OK(context, ReadRows(type_string(), "logits", shape, &dims));
    Tensor* y;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output({0}, 0, shape, &y));
    if (shape.num_elements() == 0) return;
    Launch(context, dims, Data(context->input(0)), Data(y));
  }

 protected:
  virtual void Launch(OpKernelContext* context, const RowDims& dims, const void* logits,
                      void* y) = 0;
};

class SparsemaxGradOp : public TypedOp {
 public:
  using TypedOp::TypedOp;

  void Compute(OpKernelContext* context) override {
    const TensorShape& shape = context->input(0).shape();
    RowDims dims;
    OP_REQUIRES_OK(context, ReadRows(type_string(), "gradients", shape, &dims));
    OP_REQUIRES_OK(context, CheckSameShape(type_string(), shape, context->input(1).shape()));
    Tensor* backprops;
    OP_REQUIRES_OK(context, context->forward_input_or_allocate_output({0}, 0, shape, &backprops));
    if (shape.num_elements() == 0) return;
    Launch(context, dims, Data(context->input(0)), Data(context->input(1)), Data(backprops));
  }

 protected:
  virtual void Launch(OpKernelContext* context, const RowDims& dims, const void* gradients,
                      const void* y, void* backprops) = 0;
};

// ----- CPU -----

class SparsemaxCpuOp final : public SparsemaxOp {
 public:
  using SparsemaxOp::SparsemaxOp;

 private:
  void Launch(OpKernelContext* context, const RowDims& dims, const void* logits, void* y) override {
    // The cost in cycles: two passes over the elements of a row, and some steps of the search.
    Parallel(context, dims.rows, 2 * dims.size + 400, [&](int64_t begin, int64_t end) {
      CpuSparsemax::Forward(type_, dims, logits, y, begin, end);
    });
  }
};

class SparsemaxGradCpuOp final : public SparsemaxGradOp {
 public:
  using SparsemaxGradOp::SparsemaxGradOp;

 private:
  void Launch(OpKernelContext* context, const RowDims& dims, const void* gradients, const void* y,
              void* backprops) override {
    Parallel(context, dims.rows, 2 * dims.size + 64, [&](int64_t begin, int64_t end) {
      CpuSparsemax::Backward(type_, dims, gradients, y, backprops, begin, end);
    });
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>Sparsemax").Device(DEVICE_CPU), SparsemaxCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>SparsemaxGrad").Device(DEVICE_CPU), SparsemaxGradCpuOp);

// ----- GPU -----

#if TENSORFLOW_EXT_CUDA
class SparsemaxGpuOp final : public SparsemaxOp {
 public:
  using SparsemaxOp::SparsemaxOp;

 private:
  void Launch(OpKernelContext* context, const RowDims& dims, const void* logits, void* y) override {
    const int error = GpuSparsemax::Forward(type_, dims, logits, y, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class SparsemaxGradGpuOp final : public SparsemaxGradOp {
 public:
  using SparsemaxGradOp::SparsemaxGradOp;

 private:
  void Launch(OpKernelContext* context, const RowDims& dims, const void* gradients, const void* y,
              void* backprops) override {
    const int error =
        GpuSparsemax::Backward(type_, dims, gradients, y, backprops, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>Sparsemax").Device(DEVICE_GPU), SparsemaxGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>SparsemaxGrad").Device(DEVICE_GPU), SparsemaxGradGpuOp);
#endif

}  // namespace
}  // namespace tensorflow_ext
