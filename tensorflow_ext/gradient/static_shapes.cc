// SPDX-License-Identifier: Apache-2.0
//
// A gradient function is given a scope, and a scope shows its shape inference
// to nobody: it is a private member.
//
// If this file does not compile, TensorFlow's Scope::Impl has changed:
// RefinerOf() is then to be written for what it is now. It may return null.

#include "tensorflow_ext/gradient/static_shapes.h"

#include <memory>

#include "tensorflow/cc/framework/scope_internal.h"
#include "tensorflow/core/common_runtime/shape_refiner.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/gradient/private_member.h"

namespace tensorflow_ext {

using tensorflow::Output;
using tensorflow::PartialTensorShape;
using tensorflow::Scope;
using tensorflow::ShapeRefiner;
using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

struct RefinerTag {
  using Member = std::shared_ptr<ShapeRefiner> Scope::Impl::*;
  friend Member Find(RefinerTag);
};
template struct PrivateMember<RefinerTag, &Scope::Impl::refiner_>;

namespace {

ShapeRefiner* RefinerOf(const Scope& scope) {
  return (scope.impl()->*Find(RefinerTag())).get();
}

// Null where nothing is known of the outputs of the tensor's node.
InferenceContext* ContextOf(const ShapeRefiner* refiner, const Output& tensor) {
  return refiner == nullptr || tensor.node() == nullptr
             ? nullptr
             : refiner->GetContext(tensor.node());
}

PartialTensorShape ToPartialShape(InferenceContext* context,
                                  const ShapeHandle& shape) {
  if (!context->RankKnown(shape)) return PartialTensorShape();
  std::vector<int64_t> sizes;
  for (int i = 0; i < context->Rank(shape); ++i) {
    const DimensionHandle size = context->Dim(shape, i);
    sizes.push_back(context->ValueKnown(size) ? context->Value(size) : -1);
  }
  PartialTensorShape result;
  const bool is_valid =
      PartialTensorShape::MakePartialShape(sizes.data(), sizes.size(), &result)
          .ok();
  return is_valid ? result : PartialTensorShape();
}

}  // namespace

StaticShapes::StaticShapes(const Scope& scope) : refiner_(RefinerOf(scope)) {}

PartialTensorShape StaticShapes::Of(const Output& tensor) const {
  InferenceContext* context = ContextOf(refiner_, tensor);
  if (context == nullptr || tensor.index() >= context->num_outputs()) {
    return PartialTensorShape();
  }
  return ToPartialShape(context, context->output(tensor.index()));
}

PartialTensorShape StaticShapes::OfVariable(const Output& handle,
                                            tensorflow::DataType type) const {
  InferenceContext* context = ContextOf(refiner_, handle);
  if (context == nullptr || handle.index() >= context->num_outputs()) {
    return PartialTensorShape();
  }
  const auto* held = context->output_handle_shapes_and_types(handle.index());
  if (held == nullptr || held->size() != 1 || (*held)[0].dtype != type) {
    return PartialTensorShape();
  }
  return ToPartialShape(context, (*held)[0].shape);
}

void StaticShapes::Refine(const Output& tensor,
                          const PartialTensorShape& shape) {
  InferenceContext* context = ContextOf(refiner_, tensor);
  if (context == nullptr || shape.unknown_rank()) return;
  ShapeHandle handle;
  if (context->MakeShapeFromPartialTensorShape(shape, &handle).ok()) {
    refiner_->SetShape(tensor.node(), tensor.index(), handle).IgnoreError();
  }
}

}  // namespace tensorflow_ext
