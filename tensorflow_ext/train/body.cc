#include "tensorflow_ext/train/body.h"

#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/gradient/plan/known_values.h"

namespace tensorflow_ext::train {

using tensorflow::DataType;
using tensorflow::DT_INVALID;
using tensorflow::DT_RESOURCE;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;

namespace {

Body::Attributes Type(const char* name, DataType type) { return {{name, TypeAttribute(type)}}; }

}  // namespace

tensorflow::AttrValue TypeAttribute(DataType type) {
  tensorflow::AttrValue value;
  value.set_type(type);
  return value;
}

DataType Expr::type() const { return output.node() == nullptr ? DT_INVALID : output.type(); }

Expr Body::Argument(DataType type) { return {this, builder_.Arguments({type})[0]}; }

Output Body::Own(const Expr& expr) {
  if (expr.body == this || expr.type() == DT_INVALID) return expr.output;
  for (size_t i = 0; i < captured_.size(); ++i) {
    if (captured_[i].output == expr.output) return arguments_[i];
  }
  captured_.push_back(expr);
  arguments_.push_back(Argument(expr.type()).output);
  return arguments_.back();
}

Expr Body::Add(NodeBuilder builder, const std::vector<Output>& inputs, bool only_reads) {
  for (const Output& input : inputs) {
    if (input.node() == nullptr) return {this, {}};  // An earlier error.
    if (input.type() != DT_RESOURCE) continue;
    const Uses& uses = uses_[input.node()];
    builder.ControlInputs(uses.writes);
    if (!only_reads) builder.ControlInputs(uses.reads);
  }
  Node* const node = builder_.AddNode(std::move(builder));
  if (node == nullptr) return {this, {}};
  for (const Output& input : inputs) {
    if (input.type() != DT_RESOURCE) continue;
    Uses& uses = uses_[input.node()];
    if (only_reads) {
      uses.reads.push_back(node);
    } else {
      uses = {{node}, {}};
    }
  }
  return {this, node->num_outputs() == 0 ? Output() : Output(node, 0)};
}

Expr Body::Add(const char* op, const std::vector<Expr>& inputs, const Attributes& attributes) {
  const absl::string_view name = op;
  NodeBuilder builder = builder_.New(op);
  Outputs own;
  for (const Expr& input : inputs) {
    own.push_back(Own(input));
    builder.Input(own.back().node(), own.back().index());
  }
  for (const auto& [attribute, value] : attributes) builder.Attr(attribute, value);
  return Add(std::move(builder), own, name == "ReadVariableOp" || name == "ResourceGather");
}

Expr Body::Constant(double value, DataType type) {
  if (type == DT_INVALID) return {this, {}};  // An earlier error.
  tensorflow::Tensor tensor(type, {});
  Check(FillWith({value}, &tensor));
  return Constant(tensor);
}

Expr Body::Constant(const tensorflow::Tensor& value) {
  tensorflow::AttrValue attribute;
  value.AsProtoTensorContent(attribute.mutable_tensor());
  return Add("Const", {}, {{"dtype", TypeAttribute(value.dtype())}, {"value", attribute}});
}

Expr Body::Read(const Place& place) {
  if (!place.indices.exists()) {
    return Add("ReadVariableOp", {place.handle}, Type("dtype", place.type));
  }
  return Add("ResourceGather", {place.handle, place.indices}, Type("dtype", place.type));
}

void Body::Write(const char* whole, const char* rows, const Place& place, const Expr& value) {
  if (place.indices.exists()) {
    Add(rows, {place.handle, place.indices, value}, Type("dtype", place.type));
  } else {
    Add(whole, {place.handle, value}, Type("dtype", place.type));
  }
}

void Body::Assign(const Place& place, const Expr& value) {
  Write("AssignVariableOp", "ResourceScatterUpdate", place, value);
}

void Body::AssignAdd(const Place& place, const Expr& value) {
  Write("AssignAddVariableOp", "ResourceScatterAdd", place, value);
}

void Body::AssignSub(const Place& place, const Expr& value) {
  Write("AssignSubVariableOp", "ResourceScatterSub", place, value);
}

void Body::If(const Expr& condition, const Writer& then, const Writer& otherwise) {
  Body branches[] = {Body(graph_), Body(graph_)};
  std::vector<NameAttrList> functions;
  const Writer* const writers[] = {&then, &otherwise};
  for (int i = 0; i < 2; ++i) {
    branches[i].around_ = this;
    if (i == 1) {
      for (const Expr& captured : branches[0].captured_) branches[1].Own(captured);
    }
    (*writers[i])(&branches[i]);
  }
  // Both take the same arguments.
  for (const Expr& captured : branches[1].captured_) branches[0].Own(captured);
  for (Body& branch : branches) {
    absl::StatusOr<NameAttrList> made = branch.Finish("TfExt_branch");
    Check(made.status());
    if (!made.ok()) return;
    functions.push_back(*made);
  }
  Outputs inputs = {Own(condition)};
  for (const Expr& captured : branches[0].captured_) inputs.push_back(Own(captured));
  for (const Output& input : inputs) {
    if (input.node() == nullptr) return;
  }
  NodeBuilder node = builder_.New("If");
  node.Input(inputs[0].node(), inputs[0].index())
      .Input(NodeOuts({inputs.begin() + 1, inputs.end()}))
      .Attr("Tout", tensorflow::DataTypeVector())
      .Attr("then_branch", functions[0])
      .Attr("else_branch", functions[1])
      .Attr("_lower_using_switch_merge", true);
  Add(std::move(node), inputs, /*only_reads=*/false);
}

absl::StatusOr<NameAttrList> Body::Finish(const std::string& name) {
  absl::StatusOr<NameAttrList> made = builder_.Finish(name, {}, graph_);
  TF_RETURN_IF_ERROR(made.status());
  TF_RETURN_IF_ERROR(status_);
  return made;
}

namespace {

Expr Like(const Expr& x, double value) { return x.body->Constant(value, x.type()); }

// The inner one of the bodies of two tensors, one of which is around the other.
Expr Binary(const char* op, const Expr& x, const Expr& y) {
  Body* const body = x.body->IsIn(y.body) ? x.body : y.body;
  return body->Add(op, {x, y});
}

// Reduces all axes.
Expr OverAll(const char* op, const Expr& x) {
  Body* const body = x.body;
  const Expr rank = body->Add("Rank", {x});
  const Expr axes = body->Add("Range", {body->Constant(0, tensorflow::DT_INT32), rank,
                                        body->Constant(1, tensorflow::DT_INT32)});
  return body->Add(op, {x, axes});
}

}  // namespace

bool Body::IsIn(const Body* other) const {
  for (const Body* body = this; body != nullptr; body = body->around_) {
    if (body == other) return true;
  }
  return false;
}

Expr operator+(const Expr& x, const Expr& y) { return Binary("AddV2", x, y); }
Expr operator-(const Expr& x, const Expr& y) { return Binary("Sub", x, y); }
Expr operator*(const Expr& x, const Expr& y) { return Binary("Mul", x, y); }
Expr operator/(const Expr& x, const Expr& y) { return Binary("RealDiv", x, y); }
Expr operator+(const Expr& x, double y) { return x + Like(x, y); }
Expr operator-(const Expr& x, double y) { return x - Like(x, y); }
Expr operator-(double x, const Expr& y) { return Like(y, x) - y; }
Expr operator*(const Expr& x, double y) { return x * Like(x, y); }
Expr operator/(const Expr& x, double y) { return x / Like(x, y); }
Expr operator/(double x, const Expr& y) { return Like(y, x) / y; }
Expr Square(const Expr& x) { return x.body->Add("Square", {x}); }
Expr Sqrt(const Expr& x) { return x.body->Add("Sqrt", {x}); }
Expr Pow(const Expr& x, double y) { return Binary("Pow", x, Like(x, y)); }
Expr Pow(double x, const Expr& y) { return Binary("Pow", Like(y, x), y); }
Expr Maximum(const Expr& x, const Expr& y) { return Binary("Maximum", x, y); }
Expr Minimum(const Expr& x, const Expr& y) { return Binary("Minimum", x, y); }

Expr Cast(const Expr& x, DataType type) {
  if (x.type() == type || x.type() == DT_INVALID) return x;
  return x.body->Add("Cast", {x}, Type("DstT", type));
}

Expr Sum(const Expr& x) { return OverAll("Sum", x); }
Expr All(const Expr& x) { return OverAll("All", x); }

}  // namespace tensorflow_ext::train
