#include "tensorflow_ext/functionalize/tensor_arrays.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow_ext/functionalize/graph_def_editor.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataType;
using tensorflow::DT_INT32;
using tensorflow::DT_VARIANT;
using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::PartialTensorShape;

const char kArray[] = "TensorArrayV3";

// How an op uses a TensorArray. Its input 0 is the handle.
struct ArrayOp {
  int flow;         // the input that is the flow, or -1
  bool makes_flow;  // its output 0 is the flow of what comes after it
};

const std::map<std::string, ArrayOp>& ArrayOps() {
  static const auto* ops = new std::map<std::string, ArrayOp>{
      {"TensorArrayCloseV3", {-1, false}}, {"TensorArrayConcatV3", {1, false}},
      {"TensorArrayGatherV3", {2, false}}, {"TensorArrayReadV3", {2, false}},
      {"TensorArrayScatterV3", {3, true}}, {"TensorArraySizeV3", {1, false}},
      {"TensorArraySplitV3", {3, true}},   {"TensorArrayWriteV3", {3, true}},
  };
  return *ops;
}

// The number of outputs by which a node passes its inputs on; 0 if it is another node.
int NumPassedOn(const NodeDef& node) {
  static const auto* ops = new std::map<std::string, int>{
      {"Enter", 1}, {"Exit", 1}, {"Identity", 1}, {"Merge", 1}, {"NextIteration", 1}, {"Switch", 2},
  };
  const auto found = ops->find(node.op());
  return found == ops->end() ? 0 : found->second;
}

// The shape of `known` elements, with the first size unknown.
PartialTensorShape AnyLength(const PartialTensorShape& known) {
  PartialTensorShape shape = known;
  if (known.dims() > 0) shape.set_dim(0, -1);
  return shape;
}

class TensorArrayRewriter {
 public:
  explicit TensorArrayRewriter(GraphDef* graph) : editor_(graph) {}

  absl::Status Run() {
    std::vector<NodeDef*> arrays, ops;
    for (NodeDef* node : editor_.Nodes()) {
      if (node->op() == kArray) arrays.push_back(node);
      if (ArrayOps().count(node->op()) > 0) {
        ops.push_back(node);
      } else if (absl::StartsWith(node->op(), "TensorArray") && node->op() != kArray) {
        return Unknown(*node);
      }
    }
    for (NodeDef* array : arrays) {
      TF_RETURN_IF_ERROR(Follow({array->name(), 0}, {array, /*is_flow=*/false}));
      TF_RETURN_IF_ERROR(Follow({array->name(), 1}, {array, /*is_flow=*/true}));
    }
    for (NodeDef* op : ops) TF_RETURN_IF_ERROR(CheckFollowed(*op));
    for (NodeDef* node : passed_flows_) editor_.SetType(node, "T", DT_VARIANT);
    for (const NodeDef* array : arrays) {
      // The flow was output 1; the list is output 0.
      for (const auto& [node, input] : editor_.Uses({array->name(), 1})) {
        node->set_input(input, array->name());
      }
    }
    for (NodeDef* op : ops) TF_RETURN_IF_ERROR(Replace(op));
    for (NodeDef* array : arrays) TF_RETURN_IF_ERROR(ReplaceArray(array));
    RemoveHandles();
    return absl::OkStatus();
  }

 private:
  // A tensor that is the handle or the flow of an array.
  struct Role {
    const NodeDef* array;
    bool is_flow;
  };

  static absl::Status Unknown(const NodeDef& node) {
    if (absl::StartsWith(node.op(), "TensorArrayGrad")) {
      return absl::UnimplementedError(absl::StrCat(
          "node '", node.name(), "' of op ", node.op(),
          " belongs to a gradient that Python added to the graph before it was saved; such "
          "gradients write into TensorArrays by their handles, which functions cannot. Give the "
          "outputs that you need, none of them a gradient: then such nodes are left out"));
    }
    return absl::UnimplementedError(
        absl::StrCat("node '", node.name(), "' of op ", node.op(),
                     ": expected the ops of TensorArrayV3, which TensorFlow has written since 1.0; "
                     "save the model again with a newer TensorFlow"));
  }

  // Finds where a handle or a flow goes.
  absl::Status Follow(const TensorName& tensor, const Role& role) {
    const auto [found, is_new] = roles_.emplace(tensor, role);
    if (!is_new) {
      if (role.is_flow || found->second.array == role.array) return absl::OkStatus();
      return absl::UnimplementedError(absl::StrCat(
          "node '", tensor.first, "': its output is the handle of TensorArray '",
          role.array->name(), "' or of '", found->second.array->name(), "'; expected one array"));
    }
    for (const auto& [node, input] : editor_.Uses(tensor)) {
      const auto op = ArrayOps().find(node->op());
      if (op != ArrayOps().end() && input == (role.is_flow ? op->second.flow : 0)) {
        (role.is_flow ? flow_known_ : handle_known_).emplace(node, role.array);
        if (role.is_flow && op->second.makes_flow) {
          TF_RETURN_IF_ERROR(Follow({node->name(), 0}, role));
        }
      } else if (const int outputs = NumPassedOn(*node); outputs > 0) {
        (role.is_flow ? passed_flows_ : passed_handles_).insert(node);
        for (int k = 0; k < outputs; ++k) TF_RETURN_IF_ERROR(Follow({node->name(), k}, role));
      } else {
        return absl::UnimplementedError(absl::StrCat(
            "node '", node->name(), "' of op ", node->op(), ": its input ", input, " is the ",
            role.is_flow ? "flow" : "handle", " of TensorArray '", role.array->name(),
            "'; expected only ops of TensorArrays, of loops and of branches, and Identity"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckFollowed(const NodeDef& op) const {
    const ArrayOp& uses = ArrayOps().at(op.op());
    for (const bool flow : {false, true}) {
      if (flow && uses.flow < 0) continue;
      if ((flow ? flow_known_ : handle_known_).count(&op) > 0) continue;
      return absl::UnimplementedError(
          absl::StrCat("node '", op.name(), "' of op ", op.op(), ": its input ",
                       flow ? uses.flow : 0, ", the ", flow ? "flow" : "handle",
                       ", does not come from a TensorArrayV3 of the same graph or function"));
    }
    // Other ops may see a write without its flow, but not without its list.
    if (uses.makes_flow && editor_.Uses({op.name(), 0}).empty() && editor_.IsControl(op.name())) {
      return absl::UnimplementedError(absl::StrCat(
          "node '", op.name(), "' of op ", op.op(),
          ": only control inputs use its flow; expected that later ops of the TensorArray take it "
          "(`array = array.write(...)` in Python)"));
    }
    return absl::OkStatus();
  }

  static PartialTensorShape ShapeAttribute(const NodeDef& node, const char* name) {
    PartialTensorShape shape;
    return GetNodeAttr(node, name, &shape).ok() ? shape : PartialTensorShape();
  }

  PartialTensorShape ElementShape(const NodeDef& op) const {
    return ShapeAttribute(*handle_known_.at(&op), "element_shape");
  }

  // The shape that both allow.
  static PartialTensorShape Merged(const PartialTensorShape& a, const PartialTensorShape& b) {
    PartialTensorShape merged;
    return a.MergeWith(b, &merged).ok() ? merged : b;
  }

  // A constant input of `node` that holds a shape. The constant waits for the node's input
  // `anchor`, because it must be in the same loop and branch.
  std::string ShapeConstant(const NodeDef& node, const std::string& anchor, DataType type,
                            const PartialTensorShape& shape) {
    tensorflow::Tensor value(-1);
    if (!shape.unknown_rank()) {
      value = tensorflow::Tensor(DT_INT32, {shape.dims()});
      for (int i = 0; i < shape.dims(); ++i) {
        value.vec<int32_t>()(i) = static_cast<int32_t>(shape.dim_size(i));
      }
    }
    return Constant(node, "element_shape", anchor, type, value);
  }

  // See ShapeConstant. `type` is that of the anchor.
  std::string Constant(const NodeDef& node, const char* name, const std::string& anchor,
                       DataType type, const tensorflow::Tensor& value) {
    std::string source(tensorflow::ParseTensorName(anchor).node());
    if (const NodeDef* maker = editor_.Find(source); maker != nullptr && maker->op() == "Switch") {
      // The Switch itself runs whatever the branch.
      NodeDef* in_branch = editor_.Add(node, "in_branch", "Identity", {anchor});
      editor_.SetType(in_branch, "T", type);
      source = in_branch->name();
    }
    NodeDef* constant = editor_.Add(node, name, "Const", {absl::StrCat("^", source)});
    editor_.SetType(constant, "dtype", value.dtype());
    value.AsProtoTensorContent((*constant->mutable_attr())["value"].mutable_tensor());
    return constant->name();
  }

  absl::Status ReplaceArray(NodeDef* array) {
    TF_RETURN_IF_ERROR(editor_.CheckInputs(*array, 1));
    const std::string size = array->input(0);
    DataType type;
    TF_RETURN_IF_ERROR(GetNodeAttr(*array, "dtype", &type));
    const PartialTensorShape shape = ShapeAttribute(*array, "element_shape");
    editor_.Become(array, "TensorListReserve",
                   {ShapeConstant(*array, size, DT_INT32, shape), size});
    editor_.SetType(array, "element_dtype", type);
    editor_.SetType(array, "shape_type", DT_INT32);
    return absl::OkStatus();
  }

  absl::Status Replace(NodeDef* node) {
    const int flow = ArrayOps().at(node->op()).flow;
    TF_RETURN_IF_ERROR(editor_.CheckInputs(*node, flow < 0 ? 1 : flow + 1));
    if (flow < 0) {
      editor_.Become(node, "NoOp", {});
      return absl::OkStatus();
    }
    const std::string list = node->input(flow), op = node->op();
    const NodeDef& array = *handle_known_.at(node);
    const PartialTensorShape shape = ElementShape(*node);
    DataType type;
    TF_RETURN_IF_ERROR(GetNodeAttr(array, "dtype", &type));
    if (op == "TensorArraySizeV3") {
      editor_.Become(node, "TensorListLength", {list});
      return absl::OkStatus();
    }
    const auto shape_input = [&](const PartialTensorShape& wanted) {
      return ShapeConstant(*node, list, DT_VARIANT, wanted);
    };
    bool dynamic = false;
    TF_RETURN_IF_ERROR(GetNodeAttr(array, "dynamic_size", &dynamic));
    if (op == "TensorArrayReadV3") {
      editor_.Become(node, "TensorListGetItem", {list, node->input(1), shape_input(shape)});
    } else if (op == "TensorArrayWriteV3") {
      editor_.Become(node, "TensorListSetItem", {list, node->input(1), node->input(2)});
      (*node->mutable_attr())["resize_if_index_out_of_bounds"].set_b(dynamic);
    } else if (op == "TensorArrayGatherV3") {
      const PartialTensorShape wanted = Merged(shape, ShapeAttribute(*node, "element_shape"));
      editor_.Become(node, "TensorListGather", {list, node->input(1), shape_input(wanted)});
    } else if (op == "TensorArrayScatterV3") {
      editor_.Become(node, "TensorListScatterIntoExistingList",
                     {list, node->input(2), node->input(1)});
    } else if (op == "TensorArrayConcatV3") {
      TF_RETURN_IF_ERROR(ReplaceConcat(node, list));
    } else {
      return ReplaceSplit(node, list, type, dynamic);
    }
    editor_.SetType(node, "element_dtype", type);
    return absl::OkStatus();
  }

  absl::Status ReplaceConcat(NodeDef* node, const std::string& list) {
    const PartialTensorShape rest = ShapeAttribute(*node, "element_shape_except0");
    PartialTensorShape shape = AnyLength(ElementShape(*node));
    if (!rest.unknown_rank()) shape = Merged(shape, PartialTensorShape({-1}).Concatenate(rest));
    const std::string element = ShapeConstant(*node, list, DT_VARIANT, shape);
    const std::string lengths =
        Constant(*node, "leading_dims", list, DT_VARIANT,
                 tensorflow::Tensor(tensorflow::DT_INT64, tensorflow::TensorShape({0})));
    editor_.Become(node, "TensorListConcatV2", {list, element, lengths});
    editor_.SetType(node, "shape_type", DT_INT32);
    return absl::OkStatus();
  }

  // A split makes a new list. An array that may grow keeps its length if it is longer.
  absl::Status ReplaceSplit(NodeDef* node, const std::string& list, DataType type, bool dynamic) {
    TF_RETURN_IF_ERROR(CheckUnwritten(*node, list));
    const std::string value = node->input(1), lengths = node->input(2);
    const std::string shape =
        ShapeConstant(*node, list, DT_VARIANT, AnyLength(ElementShape(*node)));
    const std::vector<std::string> inputs = {value, shape, lengths};
    NodeDef* split = node;
    if (dynamic) {
      split = editor_.Add(*node, "split", "TensorListSplit", inputs);
      const NodeDef* before = editor_.Add(*node, "before", "TensorListLength", {list});
      const NodeDef* after = editor_.Add(*node, "after", "TensorListLength", {split->name()});
      NodeDef* longer = editor_.Add(*node, "longer", "Maximum", {before->name(), after->name()});
      editor_.SetType(longer, "T", DT_INT32);
      editor_.Become(node, "TensorListResize", {split->name(), longer->name()});
    } else {
      editor_.Become(node, "TensorListSplit", inputs);
    }
    editor_.SetType(split, "element_dtype", type);
    editor_.SetType(split, "shape_type", DT_INT32);
    return absl::OkStatus();
  }

  absl::Status CheckUnwritten(const NodeDef& split, const std::string& list) const {
    const NodeDef* maker = editor_.Find(tensorflow::ParseTensorName(list).node());
    while (maker != nullptr && NumPassedOn(*maker) > 0 && maker->op() != "Merge" &&
           maker->input_size() > 0) {
      maker = editor_.Find(tensorflow::ParseTensorName(maker->input(0)).node());
    }
    if (maker != nullptr && (maker->op() == kArray || maker->op() == "TensorListReserve")) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(
        absl::StrCat("node '", split.name(), "' of op TensorArraySplitV3",
                     ": expected a TensorArray that nothing has written to; other elements of the "
                     "array would be lost"));
  }

  // Removes the nodes that passed handles on. One that other nodes wait for stays and passes a
  // number on instead.
  void RemoveHandles() {
    for (NodeDef* node : editor_.RemoveUnused(passed_handles_)) {
      editor_.SetType(node, "T", DT_INT32);
      for (std::string& input : *node->mutable_input()) {
        const tensorflow::TensorId id = tensorflow::ParseTensorName(input);
        const NodeDef* array = editor_.Find(id.node());
        if (id.index() < 0 || array == nullptr || array->op() != "TensorListReserve") continue;
        input = Constant(*array, "handle", array->name(), DT_VARIANT, tensorflow::Tensor(0));
      }
    }
  }

  GraphDefEditor editor_;
  std::map<TensorName, Role> roles_;
  // The ops whose handle or flow was followed, with the array.
  std::unordered_map<const NodeDef*, const NodeDef*> handle_known_, flow_known_;
  std::set<NodeDef*> passed_handles_, passed_flows_;
};

}  // namespace

absl::Status TensorArraysToLists(GraphDef* graph) { return TensorArrayRewriter(graph).Run(); }

}  // namespace tensorflow_ext
