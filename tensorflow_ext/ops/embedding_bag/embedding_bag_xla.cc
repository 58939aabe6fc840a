// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag_checks.h"
#include "tensorflow_ext/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernel;
using tensorflow::XlaOpKernelContext;
using xla::ScalarLike;
using xla::XlaBuilder;
using xla::XlaOp;
using xla::ZerosLike;

// What the three lowerings have in common. Bags are [B, L, E] here; XLA fuses
// the sums over them with what they are made of.
class BagXlaOp : public XlaOpKernel {
 public:
  explicit BagXlaOp(OpKernelConstruction* context) : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, ReadCombiner(context, &mean_));
  }

 protected:
  // Reads and checks the shapes of indices and params, inputs `indices` and
  // `params`.
  absl::Status Read(XlaOpKernelContext* context, int indices, int params,
                    EmbeddingBagDims* dims) const {
    TensorShape indices_shape, params_shape;
    absl::Status status = XlaInputShape(context, indices, &indices_shape);
    status.Update(XlaInputShape(context, params, &params_shape));
    if (!status.ok()) return status;
    *dims = EmbeddingBagDims{};
    dims->mean = mean_;
    return ReadTable(type_string(), indices_shape, params_shape, dims);
  }

  absl::Status CheckWeightsInput(XlaOpKernelContext* context, int weights,
                                 int indices) const {
    TensorShape weights_shape, indices_shape;
    absl::Status status = XlaInputShape(context, weights, &weights_shape);
    status.Update(XlaInputShape(context, indices, &indices_shape));
    if (!status.ok()) return status;
    return CheckWeights(type_string(), weights_shape, indices_shape);
  }

  absl::Status CheckGradientsInput(XlaOpKernelContext* context,
                                   const EmbeddingBagDims& dims) const {
    TensorShape gradients;
    const absl::Status status = XlaInputShape(context, 0, &gradients);
    if (!status.ok()) return status;
    return CheckBagGradients(type_string(), gradients, dims);
  }

  // An input in the type of the sums.
  static XlaOp Wide(XlaOpKernelContext* context, int input) {
    const xla::PrimitiveType stored = context->input_xla_type(input);
    return xla::ConvertElementType(context->Input(input),
                                   stored == xla::F64 ? xla::F64 : xla::F32);
  }

  // [B, L] or [B, E] beside the dimension that it lacks.
  static XlaOp OverWidth(XlaOp x, const EmbeddingBagDims& dims) {
    return xla::BroadcastInDim(x, {dims.bags, dims.bag_size, dims.width},
                               {0, 1});
  }
  static XlaOp OverBag(XlaOp x, const EmbeddingBagDims& dims) {
    return xla::BroadcastInDim(x, {dims.bags, dims.bag_size, dims.width},
                               {0, 2});
  }

  // The rows that the indices name, times `factors`, summed over `axis`. An
  // index that names no row is left out.
  static XlaOp SumOfRows(XlaOp indices, XlaOp params, XlaOp factors,
                         const EmbeddingBagDims& dims, int64_t axis) {
    XlaBuilder* builder = params.builder();
    xla::GatherDimensionNumbers numbers;
    numbers.set_index_vector_dim(2);
    numbers.add_start_index_map(0);
    numbers.add_collapsed_slice_dims(0);
    numbers.add_offset_dims(2);
    // Gather clamps an index; what it finds then does not count.
    const XlaOp rows = xla::Gather(params, indices, numbers, {1, dims.width});
    const XlaOp known =
        xla::And(xla::Ge(indices, ZerosLike(indices)),
                 xla::Lt(xla::ConvertElementType(indices, xla::S64),
                         xla::ConstantR0<int64_t>(builder, dims.rows)));
    const XlaOp products = xla::Mul(rows, factors);
    const xla::PrimitiveType type =
        builder->GetShape(params).value().element_type();
    const XlaOp sums = xla::Reduce(
        xla::Select(OverWidth(known, dims), products, ZerosLike(products)),
        xla::Zero(builder, type),
        xla::CreateScalarAddComputation(type, builder), {axis});
    return xla::Mul(sums, ScalarLike(sums, dims.scale<double>()));
  }

  bool mean_ = false;
};

class EmbeddingBagXlaOp : public BagXlaOp {
 public:
  using BagXlaOp::BagXlaOp;

  void Compile(XlaOpKernelContext* context) override {
    EmbeddingBagDims dims;
    OP_REQUIRES_OK(context, Read(context, 0, 1, &dims));
    OP_REQUIRES_OK(context, CheckWeightsInput(context, 2, 0));
    TensorShape shape;
    OP_REQUIRES_OK(context, BagsShape(type_string(), dims, &shape));
    const xla::PrimitiveType type = context->input_xla_type(1);
    XlaOp output =
        xla::Broadcast(xla::Zero(context->builder(), type), shape.dim_sizes());
    if (shape.num_elements() > 0 && dims.bag_size > 0 && dims.rows > 0) {
      output = xla::ConvertElementType(
          SumOfRows(context->Input(0), Wide(context, 1),
                    OverWidth(Wide(context, 2), dims), dims, /*axis=*/1),
          type);
    }
    context->SetOutput(0, output);
  }
};
REGISTER_XLA_OP(Name("TfExt>EmbeddingBag"), EmbeddingBagXlaOp);

class EmbeddingBagWeightsGradXlaOp : public BagXlaOp {
 public:
  using BagXlaOp::BagXlaOp;

  void Compile(XlaOpKernelContext* context) override {
    EmbeddingBagDims dims;
    OP_REQUIRES_OK(context, Read(context, 1, 2, &dims));
    OP_REQUIRES_OK(context, CheckGradientsInput(context, dims));
    const xla::PrimitiveType type = context->input_xla_type(0);
    XlaOp backprops = xla::Broadcast(xla::Zero(context->builder(), type),
                                     {dims.bags, dims.bag_size});
    if (dims.positions() > 0 && dims.width > 0 && dims.rows > 0) {
      backprops = xla::ConvertElementType(
          SumOfRows(context->Input(1), Wide(context, 2),
                    OverBag(Wide(context, 0), dims), dims, /*axis=*/2),
          type);
    }
    context->SetOutput(0, backprops);
  }
};
REGISTER_XLA_OP(Name("TfExt>EmbeddingBagWeightsGrad"),
                EmbeddingBagWeightsGradXlaOp);

class EmbeddingBagParamsGradXlaOp : public BagXlaOp {
 public:
  using BagXlaOp::BagXlaOp;

  void Compile(XlaOpKernelContext* context) override {
    EmbeddingBagDims dims;
    OP_REQUIRES_OK(context, Read(context, 1, 2, &dims));
    OP_REQUIRES_OK(context, CheckWeightsInput(context, 3, 1));
    OP_REQUIRES_OK(context, CheckGradientsInput(context, dims));
    const xla::PrimitiveType type = context->input_xla_type(0);
    const xla::PrimitiveType computed = type == xla::F64 ? xla::F64 : xla::F32;
    XlaBuilder* builder = context->builder();
    XlaOp sums =
        xla::Broadcast(xla::Zero(builder, computed), {dims.rows, dims.width});
    if (dims.positions() > 0 && dims.width > 0 && dims.rows > 0) {
      const XlaOp weights = Wide(context, 3);
      const XlaOp factors =
          xla::Mul(weights, ScalarLike(weights, dims.scale<double>()));
      xla::ScatterDimensionNumbers numbers;
      numbers.set_index_vector_dim(2);
      numbers.add_update_window_dims(2);
      numbers.add_inserted_window_dims(0);
      numbers.add_scatter_dims_to_operand_dims(0);
      // What an index outside names is left out, as XLA defines it.
      sums = xla::Scatter(
          sums, context->Input(1),
          xla::Mul(OverWidth(factors, dims), OverBag(Wide(context, 0), dims)),
          xla::CreateScalarAddComputation(computed, builder), numbers);
    }
    context->SetOutput(0, xla::ConvertElementType(sums, type));
  }
};
REGISTER_XLA_OP(Name("TfExt>EmbeddingBagParamsGrad"),
                EmbeddingBagParamsGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
