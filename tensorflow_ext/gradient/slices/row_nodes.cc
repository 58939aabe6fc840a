#include "tensorflow_ext/gradient/slices/row_nodes.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::DT_INT32;
using tensorflow::DT_INT64;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeBuilder;

RowNodes::RowNodes(Graph* graph, std::string prefix) : graph_(graph), prefix_(std::move(prefix)) {}

std::string RowNodes::NewName(absl::string_view op) {
  return absl::StrCat(prefix_, "/", op, "_", num_nodes_++);
}

NodeBuilder RowNodes::New(const char* op, const Tensors& inputs) {
  NodeBuilder builder(NewName(op), op);
  builder.Device(device_);
  for (const Tensor& input : inputs) builder.Input(input.node, input.index);
  return builder;
}

RowNodes::Tensor RowNodes::Add(NodeBuilder& builder) {
  Node* node = nullptr;
  if (status_.ok()) status_ = builder.Finalize(graph_, &node);
  return Tensor(node, 0);
}

RowNodes::Tensor RowNodes::Add(const char* op, const Tensors& inputs) {
  if (!status_.ok()) return Tensor();
  NodeBuilder builder = New(op, inputs);
  return Add(builder);
}

RowNodes::Tensor RowNodes::Constant(const tensorflow::Tensor& value) {
  tensorflow::TensorProto proto;
  value.AsProtoTensorContent(&proto);
  const auto [place, is_new] =
      constants_.try_emplace(absl::StrCat(device_, "\n", proto.SerializeAsString()));
  if (is_new) {
    NodeBuilder builder = New("Const", {});
    place->second = Add(builder.Attr("dtype", value.dtype()).Attr("value", value));
  }
  return place->second;
}

RowNodes::Tensor RowNodes::Ints(const std::vector<int>& values, DataType type) {
  tensorflow::Tensor tensor(type, {static_cast<int64_t>(values.size())});
  if (type == DT_INT64) {
    std::copy(values.begin(), values.end(), tensor.flat<int64_t>().data());
  } else {
    std::copy(values.begin(), values.end(), tensor.flat<int32_t>().data());
  }
  return Constant(tensor);
}

RowNodes::Tensor RowNodes::Cast(const Tensor& tensor, DataType type) {
  if (!status_.ok() || tensor.node->output_type(tensor.index) == type) return tensor;
  NodeBuilder builder = New("Cast", {tensor});
  return Add(builder.Attr("DstT", type));
}

RowNodes::Tensor RowNodes::Shape(const Tensor& tensor, DataType type) {
  if (!status_.ok()) return Tensor();
  NodeBuilder builder = New("Shape", {tensor});
  return Add(builder.Attr("out_type", type));
}

RowNodes::Tensor RowNodes::Size(const Tensor& tensor, DataType type) {
  if (!status_.ok()) return Tensor();
  NodeBuilder builder = New("Size", {tensor});
  return Add(builder.Attr("out_type", type));
}

RowNodes::Tensor RowNodes::From(const Tensor& vector, const Tensor& begin) {
  return Add("Slice", {vector, begin, Ints({-1})});
}

RowNodes::Tensor RowNodes::ToVector(const Tensor& tensor) {
  return Add("Reshape", {tensor, Ints({-1})});
}

RowNodes::Tensor RowNodes::Join(const Tensors& tensors) {
  const Tensor axis = Constant(ScalarInt(0));
  if (!status_.ok()) return Tensor();
  NodeBuilder builder = New("ConcatV2", {});
  std::vector<NodeBuilder::NodeOut> parts;
  for (const Tensor& tensor : tensors) parts.emplace_back(tensor.node, tensor.index);
  return Add(builder.Input(parts).Input(axis.node, axis.index));
}

Rows RowNodes::OfSegments(const Node& scatter, DataType index_type) {
  Tensors inputs;
  for (int i = 0; i < scatter.num_inputs(); ++i) inputs.push_back(InputOf(scatter, i));
  // The op with this name returns only the rows, and their indices in order.
  const Tensor values = Add(absl::StrCat(scatter.type_string(), "V2").c_str(), inputs);
  return {values, Cast(Tensor(values.node, 1), index_type), Cast(inputs[3], index_type)};
}

Rows RowNodes::OfScatter(const Node& scatter, const Node* reshape, DataType index_type) {
  if (scatter.type_string() != "UnsortedSegmentSum") return OfSegments(scatter, index_type);
  const Tensor data = InputOf(scatter, 0);
  const Tensor ids = Cast(InputOf(scatter, 1), index_type);
  // The shape of a row comes behind the sizes of the ids, and also behind the number of rows.
  const Tensor row_shape = reshape == nullptr
                               ? From(Shape(data, index_type), ToVector(Add("Rank", {ids})))
                               : From(Cast(InputOf(*reshape, 1), index_type), Ints({1}));
  const Tensor count = ToVector(Size(ids, index_type));
  Rows rows;
  rows.values = Add("Reshape", {data, Join({count, row_shape})});
  rows.indices = ToVector(ids);
  rows.num_rows = Cast(InputOf(scatter, 2), index_type);
  return rows;
}

Rows RowNodes::OfZeros(const Node& zeros, DataType index_type) {
  const bool is_filled = zeros.type_string() == "Fill";
  const Tensor shape =
      is_filled ? Cast(InputOf(zeros, 0), index_type) : Shape(InputOf(zeros, 0), index_type);
  const Tensor none = Ints({0}, index_type);
  const Tensor zero = is_filled ? InputOf(zeros, 1) : Constant(ZeroScalar(zeros.output_type(0)));
  Rows rows;
  rows.values = Add("Fill", {Join({none, From(shape, Ints({1}))}), zero});
  rows.indices = Ints({}, index_type);
  // A product of one size: a scalar.
  rows.num_rows = Add("Prod", {Add("Slice", {shape, Ints({0}), Ints({1})}), Ints({0})});
  return rows;
}

RowNodes::Tensor RowNodes::Map(const Term::Map& map, const Tensor& values) {
  if (!status_.ok()) return Tensor();
  tensorflow::NodeDef def = map.node->def();
  def.set_name(NewName(def.op()));
  const absl::StatusOr<Node*> added = graph_->AddNode(std::move(def));
  status_ = added.status();
  if (!status_.ok()) return Tensor();
  for (int i = 0; i < map.node->num_inputs(); ++i) {
    const Tensor input = i == map.input ? values : InputOf(*map.node, i);
    graph_->AddEdge(input.node, input.index, *added, i);
  }
  return Tensor(*added, 0);
}

Rows RowNodes::Concat(const std::vector<Rows>& parts) {
  if (parts.size() == 1) return parts[0];
  Tensors values, indices;
  for (const Rows& part : parts) {
    values.push_back(part.values);
    indices.push_back(part.indices);
  }
  return {Join(values), Join(indices), parts[0].num_rows};
}

Rows RowNodes::Sum(const Rows& rows) {
  const Tensor unique = Add("Unique", {rows.indices});
  const Tensor places(unique.node, 1);
  return {Add("UnsortedSegmentSum", {rows.values, places, Size(unique, DT_INT32)}), unique,
          rows.num_rows};
}

RowNodes::Tensor RowNodes::DenseShape(const Rows& rows) {
  if (!status_.ok()) return Tensor();
  const DataType type = rows.indices.node->output_type(rows.indices.index);
  return Join({ToVector(rows.num_rows), From(Shape(rows.values, type), Ints({1}))});
}

RowNodes::Tensor RowNodes::After(const std::vector<Node*>& waits, const Tensor& tensor) {
  if (waits.empty() || !status_.ok()) return tensor;
  NodeBuilder builder = New("Identity", {tensor});
  return Add(builder.ControlInputs(waits));
}

}  // namespace tensorflow_ext
