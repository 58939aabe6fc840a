// The attributes and shapes of EmbeddingBag and its gradients. Kernels and XLA lowerings share
// these checks. Errors are InvalidArgument and name the op, the argument, its shape and what was
// expected.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow_ext/kernels/argument_shape.h"
#include "tensorflow_ext/ops/embedding_bag/embedding_bag.h"

namespace tensorflow_ext {

constexpr char kIndicesExpected[] = "rank 2, bags of indices [B, L]";
constexpr char kParamsExpected[] = "rank 2, a table of rows [V, E]";
constexpr char kTooManyBags[] = "split the bags";
constexpr char kGradientsExpected[] = "rank 2, a row for each bag [B, E]";

// True if the attribute 'combiner' is 'mean', false if it is 'sum'.
template <typename Context>
absl::Status ReadCombiner(Context* context, bool* mean) {
  std::string combiner;
  const absl::Status status = context->GetAttr("combiner", &combiner);
  *mean = combiner == "mean";
  return status;
}

// Each of these functions fills in `dims`. `op` is the op's name.

inline absl::Status ReadTable(const std::string& op, const tensorflow::TensorShape& indices,
                              const tensorflow::TensorShape& params, EmbeddingBagDims* dims) {
  absl::Status status = CheckRank(op, "indices", indices, 2, kIndicesExpected);
  status.Update(CheckRank(op, "params", params, 2, kParamsExpected));
  if (!status.ok()) return status;
  dims->bags = indices.dim_size(0);
  dims->bag_size = indices.dim_size(1);
  dims->rows = params.dim_size(0);
  dims->width = params.dim_size(1);
  return absl::OkStatus();
}

// The shape of EmbeddingBag's output; an error if it has too many elements.
inline absl::Status BagsShape(const std::string& op, const EmbeddingBagDims& dims,
                              tensorflow::TensorShape* shape) {
  return BuildOutputShape(op, {dims.bags, dims.width}, kTooManyBags, shape);
}

inline absl::Status CheckWeights(const std::string& op, const tensorflow::TensorShape& weights,
                                 const tensorflow::TensorShape& indices) {
  return CheckShapeOf(op, "weights", weights, "indices", indices);
}

// Checks gradients, which has one row of params for each bag.
inline absl::Status CheckBagGradients(const std::string& op,
                                      const tensorflow::TensorShape& gradients,
                                      const EmbeddingBagDims& dims) {
  tensorflow::TensorShape shape;
  TF_RETURN_IF_ERROR(BagsShape(op, dims, &shape));
  return CheckShapeOf(op, "gradients", gradients, "output of EmbeddingBag", shape);
}

}  // namespace tensorflow_ext
