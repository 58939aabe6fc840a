#include <cstdint>

#include "tensorflow_ext/ops/embedding_bag/embedding_bag_checks.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::XlaOp;

// The base of the three lowerings. Bags are [B, L, E] here. XLA fuses the sums over them with the
// computation of their terms.
class BagLowering : public Lowering {
 public:
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return ReadCombiner(context, &mean_);
  }

 protected:
  // Reads and checks the shapes of the inputs `indices` and `params`.
  absl::Status Read(LoweringContext* context, int indices, int params,
                    EmbeddingBagDims* dims) const {
    TensorShape indices_shape, params_shape;
    // A mean divides by the size of a bag.
    if (mean_) TF_RETURN_IF_ERROR(context->CheckStatic(indices, 1));
    TF_RETURN_IF_ERROR(context->InputBounds(indices, &indices_shape));
    TF_RETURN_IF_ERROR(context->InputShape(params, &params_shape));
    *dims = EmbeddingBagDims{};
    dims->mean = mean_;
    return ReadTable(context->op(), indices_shape, params_shape, dims);
  }

  static absl::Status CheckWeightsInput(LoweringContext* context, int weights, int indices) {
    TensorShape weights_shape, indices_shape;
    TF_RETURN_IF_ERROR(context->InputBounds(weights, &weights_shape));
    TF_RETURN_IF_ERROR(context->InputBounds(indices, &indices_shape));
    return CheckWeights(context->op(), weights_shape, indices_shape);
  }

  static absl::Status CheckGradientsInput(LoweringContext* context, const EmbeddingBagDims& dims) {
    TensorShape gradients;
    TF_RETURN_IF_ERROR(context->InputBounds(0, &gradients));
    return CheckBagGradients(context->op(), gradients, dims);
  }

  // Adds the dimension that [B, L] or [B, E] lacks.
  static XlaOp OverWidth(XlaOp x, const EmbeddingBagDims& dims) {
    return xla::BroadcastInDim(x, {dims.bags, dims.bag_size, dims.width}, {0, 1});
  }
  static XlaOp OverBag(XlaOp x, const EmbeddingBagDims& dims) {
    return xla::BroadcastInDim(x, {dims.bags, dims.bag_size, dims.width}, {0, 2});
  }

  // The indices of rows, for GatherNd and ScatterAddNd.
  static XlaOp RowIndex(XlaOp indices, const EmbeddingBagDims& dims) {
    return xla::Reshape(indices, {dims.bags, dims.bag_size, 1});
  }

  // The rows that the indices name, times `factors`, summed over `axis`. An index that names no row
  // is left out.
  static XlaOp SumOfRows(XlaOp indices, XlaOp params, XlaOp factors, const EmbeddingBagDims& dims,
                         int64_t axis) {
    // GatherNd clamps an index. The row of a clamped index does not count.
    const XlaOp rows = xla::GatherNd(params, RowIndex(indices, dims));
    const XlaOp known = (indices >= 0) & (xla::ConvertElementType(indices, xla::S64) < dims.rows);
    const XlaOp products = xla::Select(OverWidth(known, dims), rows * factors, 0);
    return xla::ReduceSum(products, {axis}) * dims.scale<double>();
  }

 private:
  bool mean_ = false;
};

class EmbeddingBagLowering : public BagLowering {
  absl::Status Compile(LoweringContext* context) const override {
    EmbeddingBagDims dims;
    TF_RETURN_IF_ERROR(Read(context, 0, 1, &dims));
    TF_RETURN_IF_ERROR(CheckWeightsInput(context, 2, 0));
    TensorShape shape;
    TF_RETURN_IF_ERROR(BagsShape(context->op(), dims, &shape));
    XlaOp output = xla::Zeros(context->builder(), context->ComputeType(1), shape.dim_sizes());
    if (shape.num_elements() > 0 && dims.bag_size > 0 && dims.rows > 0) {
      output = SumOfRows(context->Input(0), context->ComputeInput(1),
                         OverWidth(context->ComputeInput(2), dims), dims,
                         /*axis=*/1);
    }
    context->SetOutput(0, output);
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>EmbeddingBag"), EmbeddingBagLowering);

class EmbeddingBagWeightsGradLowering : public BagLowering {
  absl::Status Compile(LoweringContext* context) const override {
    EmbeddingBagDims dims;
    TF_RETURN_IF_ERROR(Read(context, 1, 2, &dims));
    TF_RETURN_IF_ERROR(CheckGradientsInput(context, dims));
    XlaOp backprops =
        xla::Zeros(context->builder(), context->ComputeType(0), {dims.bags, dims.bag_size});
    if (dims.positions() > 0 && dims.width > 0 && dims.rows > 0) {
      backprops = SumOfRows(context->Input(1), context->ComputeInput(2),
                            OverBag(context->ComputeInput(0), dims), dims,
                            /*axis=*/2);
    }
    context->SetOutput(0, backprops);
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>EmbeddingBagWeightsGrad"), EmbeddingBagWeightsGradLowering);

class EmbeddingBagParamsGradLowering : public BagLowering {
  absl::Status Compile(LoweringContext* context) const override {
    EmbeddingBagDims dims;
    TF_RETURN_IF_ERROR(Read(context, 1, 2, &dims));
    TF_RETURN_IF_ERROR(CheckWeightsInput(context, 3, 1));
    TF_RETURN_IF_ERROR(CheckGradientsInput(context, dims));
    XlaOp sums = xla::Zeros(context->builder(), context->ComputeType(0), {dims.rows, dims.width});
    if (dims.positions() > 0 && dims.width > 0 && dims.rows > 0) {
      const XlaOp factors = context->ComputeInput(3) * dims.scale<double>();
      sums = xla::ScatterAddNd(sums, RowIndex(context->Input(1), dims),
                               OverWidth(factors, dims) * OverBag(context->ComputeInput(0), dims));
    }
    context->SetOutput(0, sums);
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>EmbeddingBagParamsGrad"), EmbeddingBagParamsGradLowering);

}  // namespace
}  // namespace tensorflow_ext
