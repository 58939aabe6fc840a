#include "tensorflow_ext/composite/composite_shape.h"

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/public/version.h"

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::NodeDef;
using tensorflow::OpDef;
using tensorflow::OpRegistry;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

namespace {

using Shapes = std::vector<PartialTensorShape>;

// Handles belong to a context, and each part has its own.
PartialTensorShape ShapeOf(InferenceContext* c, ShapeHandle handle) {
  return PartialTensorShape(c->ShapeHandleToProto(handle));
}

// The attributes of the node.
NodeDef NodeOf(const CompositeOp& op, InferenceContext* c) {
  NodeDef node;
  const OpDef* op_def = nullptr;
  if (!OpRegistry::Global()->LookUpOpDef(op.name, &op_def).ok()) return node;
  for (const OpDef::AttrDef& attr : op_def->attr()) {
    const tensorflow::AttrValue* value = c->GetAttr(attr.name());
    if (value != nullptr) (*node.mutable_attr())[attr.name()] = *value;
  }
  return node;
}

absl::Status InferPart(const CompositeBody::Part& part, const Shapes& inputs,
                       const std::vector<const Tensor*>& constants, Shapes* outputs) {
  const tensorflow::OpRegistrationData* op = nullptr;
  TF_RETURN_IF_ERROR(OpRegistry::Global()->LookUp(part.node->node_def.op(), &op));
  InferenceContext c(TF_GRAPH_DEF_VERSION, AttrSlice(part.node->node_def), op->op_def, inputs,
                     constants, {}, {});
  TF_RETURN_IF_ERROR(c.construction_status());
  if (op->shape_inference_fn) {
    TF_RETURN_IF_ERROR(op->shape_inference_fn(&c));
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const ShapeHandle output = c.output(i);
    outputs->push_back(output.Handle() == 0 ? PartialTensorShape() : ShapeOf(&c, output));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InferCompositeShapes(const CompositeOp& op, InferenceContext* c) {
  const NodeDef node = NodeOf(op, c);
  TF_ASSIGN_OR_RETURN(const CompositeBody body, InstantiateComposite(op, AttrSlice(node)));
  Shapes arguments;
  for (int i = 0; i < c->num_inputs(); ++i) {
    arguments.push_back(ShapeOf(c, c->input(i)));
  }
  std::vector<Shapes> shapes(body.parts.size());
  const auto shape = [&](const CompositeBody::Source& source) {
    return source.part == CompositeBody::kArgument ? arguments[source.index]
                                                   : shapes[source.part][source.index];
  };
  for (size_t i = 0; i < body.parts.size(); ++i) {
    Shapes inputs;
    std::vector<const Tensor*> constants;
    for (const CompositeBody::Source& source : body.parts[i].inputs) {
      inputs.push_back(shape(source));
      const bool is_constant = source.part != CompositeBody::kArgument &&
                               body.parts[source.part].value.NumElements() > 0;
      constants.push_back(is_constant ? &body.parts[source.part].value : nullptr);
    }
    const absl::Status status = InferPart(body.parts[i], inputs, constants, &shapes[i]);
    if (!status.ok()) return InComposite(op, status);
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    ShapeHandle output;
    TF_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(shape(body.results[i]), &output));
    c->set_output(i, output);
  }
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
