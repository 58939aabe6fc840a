// A gradient function receives a scope, whose shape inference is a private member.
//
// If this file does not compile, TensorFlow's Scope::Impl has changed, and RefinerOf() must be
// adapted. It may return null.

#include "tensorflow_ext/gradient/expand/static_shapes.h"

#include <memory>

#include "tensorflow/cc/framework/scope_internal.h"
#include "tensorflow/core/common_runtime/shape_refiner.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow_ext/base/private_member.h"

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

ShapeRefiner* RefinerOf(const Scope& scope) { return (scope.impl()->*Find(RefinerTag())).get(); }

namespace {

// Null if the outputs of the tensor's node are unknown.
InferenceContext* ContextOf(const ShapeRefiner* refiner, const Output& tensor) {
  return refiner == nullptr || tensor.node() == nullptr ? nullptr
                                                        : refiner->GetContext(tensor.node());
}

PartialTensorShape ToPartialShape(InferenceContext* context, const ShapeHandle& shape) {
  if (!context->RankKnown(shape)) return PartialTensorShape();
  std::vector<int64_t> sizes;
  for (int i = 0; i < context->Rank(shape); ++i) {
    const DimensionHandle size = context->Dim(shape, i);
    sizes.push_back(context->ValueKnown(size) ? context->Value(size) : -1);
  }
  PartialTensorShape result;
  const bool is_valid =
      PartialTensorShape::MakePartialShape(sizes.data(), sizes.size(), &result).ok();
  return is_valid ? result : PartialTensorShape();
}

// The known shape of a tensor, as shape inference stores it.
struct Kept {
  Kept(const ShapeRefiner* refiner, const Output& tensor) : context(ContextOf(refiner, tensor)) {
    if (context == nullptr || tensor.index() >= context->num_outputs()) return;
    shape = context->output(tensor.index());
    has_rank = context->RankKnown(shape);
  }

  int rank() const { return context->Rank(shape); }
  // The size along `axis`, -1 if unknown.
  int64_t size(int axis) const {
    const DimensionHandle size = context->Dim(shape, axis);
    return context->ValueKnown(size) ? context->Value(size) : -1;
  }

  InferenceContext* const context;
  ShapeHandle shape;
  bool has_rank = false;
};

// True if `of` is at least as specific as `like`, without contradicting it.
bool SaysAsMuch(const Kept& of, const Kept& like) {
  if (!of.has_rank || of.rank() != like.rank()) return false;
  for (int axis = 0; axis < like.rank(); ++axis) {
    if (like.size(axis) != -1 && like.size(axis) != of.size(axis)) return false;
  }
  return true;
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

PartialTensorShape StaticShapes::OfVariable(const Output& handle, tensorflow::DataType type) const {
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

bool StaticShapes::MayAgree(const Output& a, const Output& b) const {
  const Kept x(refiner_, a), y(refiner_, b);
  if (!x.has_rank || !y.has_rank) return true;
  if (x.rank() != y.rank()) return false;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t x_size = x.size(axis), y_size = y.size(axis);
    if (x_size != -1 && y_size != -1 && x_size != y_size) return false;
  }
  return true;
}

void StaticShapes::Refine(const Output& tensor, const Output& like) {
  const Kept of(refiner_, tensor), other(refiner_, like);
  // Setting a shape that is already known costs more than comparing it.
  if (of.context == nullptr || !other.has_rank || SaysAsMuch(of, other)) return;
  ShapeHandle handle;
  if (of.context->MakeShapeFromPartialTensorShape(Of(like), &handle).ok()) {
    refiner_->SetShape(tensor.node(), tensor.index(), handle).IgnoreError();
  }
}

}  // namespace tensorflow_ext
