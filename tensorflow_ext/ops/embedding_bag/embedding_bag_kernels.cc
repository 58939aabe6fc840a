#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/determinism.h"
#include "tensorflow_ext/gradient/bridge/registration.h"
#include "tensorflow_ext/kernels/typed_op.h"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag_checks.h"

namespace tensorflow_ext {
namespace {

// ----- Checks and allocation, for both devices. -----

// Reads the types and the combiner.
class BagOp : public TypedOp {
 public:
  BagOp(OpKernelConstruction* context, int values, int indices)
      : TypedOp(context, values), index_type_(NumericTypeOf(context->input_type(indices))) {
    OP_REQUIRES_OK(context, ReadCombiner(context, &mean_));
  }

 protected:
  absl::Status ReadDims(const Tensor& indices, const Tensor& params, EmbeddingBagDims* dims) const {
    dims->mean = mean_;
    return ReadTable(type_string(), indices.shape(), params.shape(), dims);
  }

  const NumericType index_type_;

 private:
  bool mean_ = false;
};

class EmbeddingBagOp : public BagOp {
 public:
  explicit EmbeddingBagOp(OpKernelConstruction* context)
      : BagOp(context, /*values=*/1, /*indices=*/0) {}

  void Compute(OpKernelContext* context) override {
    const Tensor& indices = context->input(0);
    const Tensor& params = context->input(1);
    const Tensor& weights = context->input(2);
    EmbeddingBagDims dims{};
    OP_REQUIRES_OK(context, ReadDims(indices, params, &dims));
    OP_REQUIRES_OK(context, CheckWeights(type_string(), weights.shape(), indices.shape()));
    TensorShape shape;
    OP_REQUIRES_OK(context, BagsShape(type_string(), dims, &shape));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &output));
    Launch(context, dims, Data(indices), Data(params), Data(weights), Data(output));
  }

 protected:
  virtual void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* indices,
                      const void* params, const void* weights, void* output) = 0;
};

class EmbeddingBagParamsGradOp : public BagOp {
 public:
  explicit EmbeddingBagParamsGradOp(OpKernelConstruction* context)
      : BagOp(context, /*values=*/0, /*indices=*/1) {}

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& indices = context->input(1);
    const Tensor& params = context->input(2);
    const Tensor& weights = context->input(3);
    EmbeddingBagDims dims{};
    OP_REQUIRES_OK(context, ReadDims(indices, params, &dims));
    OP_REQUIRES_OK(context, CheckWeights(type_string(), weights.shape(), indices.shape()));
    OP_REQUIRES_OK(context, CheckBagGradients(type_string(), gradients.shape(), dims));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, params.shape(), &backprops));
    Launch(context, dims, Data(gradients), Data(indices), Data(weights), Data(backprops));
  }

 protected:
  virtual void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* gradients,
                      const void* indices, const void* weights, void* backprops) = 0;
};

class EmbeddingBagWeightsGradOp : public BagOp {
 public:
  explicit EmbeddingBagWeightsGradOp(OpKernelConstruction* context)
      : BagOp(context, /*values=*/0, /*indices=*/1) {}

  void Compute(OpKernelContext* context) override {
    const Tensor& gradients = context->input(0);
    const Tensor& indices = context->input(1);
    const Tensor& params = context->input(2);
    EmbeddingBagDims dims{};
    OP_REQUIRES_OK(context, ReadDims(indices, params, &dims));
    OP_REQUIRES_OK(context, CheckBagGradients(type_string(), gradients.shape(), dims));
    Tensor* backprops = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, indices.shape(), &backprops));
    Launch(context, dims, Data(gradients), Data(indices), Data(params), Data(backprops));
  }

 protected:
  virtual void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* gradients,
                      const void* indices, const void* params, void* backprops) = 0;
};

// ----- CPU. -----

absl::Status WrongIndex(const OpKernel& op, NumericType index_type, const EmbeddingBagDims& dims,
                        const void* indices, int64_t position) {
  return absl::InvalidArgumentError(absl::StrCat(
      op.type_string(), ": argument 'indices' is ", IndexAt(index_type, indices, position), " at [",
      position / dims.bag_size, ", ", position % dims.bag_size, "], expected one of the ",
      dims.rows, " rows of params, in [0, ", dims.rows, ")"));
}

// Checks the indices, then calls fn(begin, end) for parts of the bags, in parallel. `cost` is the
// number of cycles per bag.
template <typename Fn>
absl::Status ForBags(OpKernelContext* context, const OpKernel& op, NumericType index_type,
                     const EmbeddingBagDims& dims, const void* indices, int64_t cost, Fn&& fn) {
  FirstIndex wrong;
  Parallel(context, dims.bags, cost, [&](int64_t begin, int64_t end) {
    const int64_t position =
        FirstWrongIndex(index_type, dims, indices, begin * dims.bag_size, end * dims.bag_size);
    if (position >= 0) {
      wrong.Report(position);
    } else {
      fn(begin, end);
    }
  });
  return wrong.found() ? WrongIndex(op, index_type, dims, indices, wrong.index())
                       : absl::OkStatus();
}

// The number of cycles to sum a bag or to multiply its rows.
int64_t BagCost(const EmbeddingBagDims& dims) {
  return (dims.bag_size + 1) * (dims.width / 4 + 16);
}

class EmbeddingBagCpuOp final : public EmbeddingBagOp {
  using EmbeddingBagOp::EmbeddingBagOp;

  void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* indices,
              const void* params, const void* weights, void* output) override {
    // There may be many bags that have nothing to sum.
    if (dims.positions() == 0 && dims.width == 0) return;
    OP_REQUIRES_OK(context, ForBags(context, *this, index_type_, dims, indices, BagCost(dims),
                                    [&](int64_t begin, int64_t end) {
                                      EmbeddingBagCpu(type_, index_type_, dims, indices, params,
                                                      weights, output, begin, end);
                                    }));
  }
};

class EmbeddingBagWeightsGradCpuOp final : public EmbeddingBagWeightsGradOp {
  using EmbeddingBagWeightsGradOp::EmbeddingBagWeightsGradOp;

  void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* gradients,
              const void* indices, const void* params, void* backprops) override {
    OP_REQUIRES_OK(context, ForBags(context, *this, index_type_, dims, indices, BagCost(dims),
                                    [&](int64_t begin, int64_t end) {
                                      EmbeddingBagWeightsGradCpu(type_, index_type_, dims,
                                                                 gradients, indices, params,
                                                                 backprops, begin, end);
                                    }));
  }
};

class EmbeddingBagParamsGradCpuOp final : public EmbeddingBagParamsGradOp {
  using EmbeddingBagParamsGradOp::EmbeddingBagParamsGradOp;

  void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* gradients,
              const void* indices, const void* weights, void* backprops) override {
    OP_REQUIRES_OK(context, ForBags(context, *this, index_type_, dims, indices, dims.bag_size,
                                    [](int64_t, int64_t) {}));
    // Sorting by row gives each row to one thread: no sum is shared, and its order is that of the
    // positions.
    TensorShape shape;
    Tensor ends, terms;
    OP_REQUIRES_OK(context,
                   context->allocate_temp(tensorflow::DT_INT64, TensorShape({dims.rows}), &ends));
    OP_REQUIRES_OK(context, TensorShape::BuildTensorShape(
                                {dims.positions(), EmbeddingBagTermBytes(type_)}, &shape));
    OP_REQUIRES_OK(context, context->allocate_temp(tensorflow::DT_INT8, shape, &terms));
    int64_t* row_ends = static_cast<int64_t*>(Data(&ends));
    SortEmbeddingBagTerms(type_, index_type_, dims, indices, weights, row_ends, Data(&terms));
    Parallel(context, dims.positions() + dims.rows, dims.width / 4 + 16,
             [&](int64_t begin, int64_t end) {
               EmbeddingBagParamsGradCpu(type_, dims, gradients, row_ends, Data(terms), backprops,
                                         begin, end);
             });
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>EmbeddingBag").Device(DEVICE_CPU), EmbeddingBagCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>EmbeddingBagParamsGrad").Device(DEVICE_CPU),
                        EmbeddingBagParamsGradCpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>EmbeddingBagWeightsGrad").Device(DEVICE_CPU),
                        EmbeddingBagWeightsGradCpuOp);

// ----- GPU. -----

#if TENSORFLOW_EXT_CUDA

class EmbeddingBagGpuOp final : public EmbeddingBagOp {
  using EmbeddingBagOp::EmbeddingBagOp;

  void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* indices,
              const void* params, const void* weights, void* output) override {
    const int error = LaunchEmbeddingBag(type_, index_type_, dims, indices, params, weights, output,
                                         GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class EmbeddingBagWeightsGradGpuOp final : public EmbeddingBagWeightsGradOp {
  using EmbeddingBagWeightsGradOp::EmbeddingBagWeightsGradOp;

  void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* gradients,
              const void* indices, const void* params, void* backprops) override {
    const int error = LaunchEmbeddingBagWeightsGrad(type_, index_type_, dims, gradients, indices,
                                                    params, backprops, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

class EmbeddingBagParamsGradGpuOp final : public EmbeddingBagParamsGradOp {
  using EmbeddingBagParamsGradOp::EmbeddingBagParamsGradOp;

  void Launch(OpKernelContext* context, const EmbeddingBagDims& dims, const void* gradients,
              const void* indices, const void* weights, void* backprops) override {
    Tensor sums;
    OP_REQUIRES_OK(context, AllocateSums(context, type_, dims.rows * dims.width, &sums));
    const int error = LaunchEmbeddingBagParamsGrad(
        type_, index_type_, dims, tensorflow::OpDeterminismRequired(), gradients, indices, weights,
        static_cast<float*>(Data(&sums)), backprops, GpuStream(context));
    OP_REQUIRES_OK(context, LaunchStatus(*this, error));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfExt>EmbeddingBag").Device(DEVICE_GPU), EmbeddingBagGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>EmbeddingBagParamsGrad").Device(DEVICE_GPU),
                        EmbeddingBagParamsGradGpuOp);
REGISTER_KERNEL_BUILDER(Name("TfExt>EmbeddingBagWeightsGrad").Device(DEVICE_GPU),
                        EmbeddingBagWeightsGradGpuOp);

#endif

}  // namespace
}  // namespace tensorflow_ext
