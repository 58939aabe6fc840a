#include "tensorflow_ext/gradient/slices/terms.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow_ext/gradient/plan/known_values.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::DT_INT32;
using tensorflow::DT_INT64;
using tensorflow::DT_INVALID;
using tensorflow::Edge;
using tensorflow::Node;
using tensorflow::OutputTensor;
using tensorflow::Tensor;

namespace {

// The integer at position `i` of a small constant.
std::optional<int64_t> ConstantElement(const Node& node, int64_t i) {
  const std::optional<Tensor> value = SmallConstant(node.def());
  if (!value || i >= value->NumElements()) return std::nullopt;
  if (value->dtype() == DT_INT32) return value->flat<int32_t>()(i);
  if (value->dtype() == DT_INT64) return value->flat<int64_t>()(i);
  return std::nullopt;
}

bool IsConstant(const OutputTensor& tensor, int64_t expected) {
  return ConstantElement(*tensor.node, 0) == expected;
}

bool PassesOn(const Node& node) {
  return node.IsIdentity() || node.type_string() == "TfExt>CheckGradientShape";
}

// The tensor before identities and casts, of integers.
OutputTensor Before(OutputTensor tensor) {
  while (tensor.node->IsIdentity() || tensor.node->type_string() == "Cast") {
    tensor = InputOf(*tensor.node, 0);
  }
  return tensor;
}

std::string NameOf(const OutputTensor& tensor) {
  return absl::StrCat(tensor.node->name(), ":", tensor.index);
}

std::string FirstElement(const OutputTensor& vector);

// A key for a scalar: equal keys mean equal values.
std::string ScalarKey(const OutputTensor& unresolved) {
  const OutputTensor scalar = Before(unresolved);
  const Node& node = *scalar.node;
  if (const auto value = ConstantElement(node, 0)) return absl::StrCat("= ", *value);
  const std::string& op = node.type_string();
  if (op == "Mul") {
    for (int i : {0, 1}) {
      if (IsConstant(InputOf(node, i), 1)) return ScalarKey(InputOf(node, 1 - i));
    }
  }
  if (op == "GatherV2" && IsConstant(InputOf(node, 1), 0) && IsConstant(InputOf(node, 2), 0)) {
    return FirstElement(InputOf(node, 0));
  }
  int shrunk = 0;
  if (op == "StridedSlice" && TryGetNodeAttr(node.attrs(), "shrink_axis_mask", &shrunk) &&
      shrunk == 1 && IsConstant(InputOf(node, 1), 0)) {
    return FirstElement(InputOf(node, 0));
  }
  return NameOf(scalar);
}

// The same for the first element of a vector of sizes.
std::string FirstElement(const OutputTensor& unresolved) {
  const OutputTensor vector = Before(unresolved);
  const Node& node = *vector.node;
  if (const auto value = ConstantElement(node, 0)) return absl::StrCat("= ", *value);
  const std::string& op = node.type_string();
  if (op == "Pack") return ScalarKey(InputOf(node, 0));
  if (op == "Shape" || op == "VariableShape") {
    return absl::StrCat(op, " of ", NameOf(InputOf(node, 0)));
  }
  return absl::StrCat("first of ", NameOf(vector));
}

// The scatter that `reshape` gives the shape of the table, if it keeps the number of rows.
Node* ReshapedScatter(const Node& reshape) {
  Node* const scatter = InputOf(reshape, 0).node;
  if (scatter->type_string() != "UnsortedSegmentSum") return nullptr;
  const std::string rows = ScalarKey(InputOf(*scatter, 2));
  return rows == FirstElement(InputOf(reshape, 1)) ? scatter : nullptr;
}

bool IsZeroScalar(const OutputTensor& tensor) {
  const std::optional<Tensor> value = SmallConstant(tensor.node->def());
  return value && value->dims() == 0 && IsZero(*value);
}

bool IsZeros(const Node& node) {
  return node.type_string() == "ZerosLike" ||
         (node.type_string() == "Fill" && IsZeroScalar(InputOf(node, 1)));
}

// True if the condition tells whether there are any indices.
bool DependsOnCount(const OutputTensor& condition) {
  const Node& node = *condition.node;
  if (node.IsConstant()) return true;
  return node.type_string() == "Equal" && InputOf(node, 0).node->type_string() == "Size";
}

// The input of `node` whose rows it changes one by one, if there is one.
std::optional<int> MappedInput(const Node& node) {
  const std::string& op = node.type_string();
  if (op == "Neg" || (op == "Cast" && IsDifferentiable(node.input_type(0)) &&
                      IsDifferentiable(node.output_type(0)))) {
    return 0;
  }
  if (op == "SelectV2" && DependsOnCount(InputOf(node, 0)) && IsZeroScalar(InputOf(node, 1))) {
    return 2;
  }
  if (op != "Mul") return std::nullopt;
  for (int i : {0, 1}) {
    const std::optional<Tensor> factor = SmallConstant(InputOf(node, 1 - i).node->def());
    if (factor && factor->dims() == 0) return i;
  }
  return std::nullopt;
}

bool CallsBodies(const Node& node) {
  return node.IsPartitionedCall() || node.IsIfNode() || node.IsCaseNode();
}

bool IsScatter(const std::string& op) {
  return op == "UnsortedSegmentSum" || op == "SparseSegmentSumGrad" ||
         op == "SparseSegmentMeanGrad" || op == "SparseSegmentSqrtNGrad";
}

class Finder {
 public:
  using FindResult = std::function<absl::StatusOr<Terms>(const OutputTensor&)>;

  explicit Finder(const FindResult& find_result) : find_result_(find_result) {}

  absl::Status Add(const OutputTensor& tensor, std::vector<Term::Map> maps) {
    Node* const node = tensor.node;
    const std::string& op = node->type_string();
    if (PassesOn(*node)) {
      AddWaits(*node);
      return Add(InputOf(*node, 0), std::move(maps));
    }
    if (op == "AddN" || op == "Add" || op == "AddV2") {
      AddWaits(*node);
      for (int i = 0; i < node->num_inputs(); ++i) {
        TF_RETURN_IF_ERROR(Add(InputOf(*node, i), maps));
      }
      return absl::OkStatus();
    }
    if (const std::optional<int> input = MappedInput(*node)) {
      AddWaits(*node);
      maps.push_back({node, *input});
      return Add(InputOf(*node, *input), std::move(maps));
    }
    if (IsScatter(op)) return AddScatter(node, nullptr, std::move(maps));
    if (op == "Reshape") {
      if (Node* const scatter = ReshapedScatter(*node)) {
        AddWaits(*node);
        return AddScatter(scatter, node, std::move(maps));
      }
    }
    if (IsZeros(*node)) {
      AddWaits(*node);
      found_.terms.push_back({Term::kZeros, node, 0, nullptr, std::move(maps)});
      return absl::OkStatus();
    }
    if (!CallsBodies(*node)) return IsDense(Described(*node));
    TF_ASSIGN_OR_RETURN(const Terms result, find_result_(tensor));
    if (!result.dense.empty()) return IsDense(result.dense);
    found_.index_type = CommonIndexType(found_.index_type, result.index_type);
    found_.terms.push_back({Term::kCall, node, tensor.index, nullptr, std::move(maps)});
    return absl::OkStatus();
  }

  Terms Take() { return std::move(found_); }

 private:
  absl::Status IsDense(const std::string& reason) {
    if (found_.dense.empty()) found_.dense = reason;
    return absl::OkStatus();
  }

  absl::Status AddScatter(Node* scatter, Node* reshape, std::vector<Term::Map> maps) {
    AddWaits(*scatter);
    found_.index_type = CommonIndexType(found_.index_type, scatter->input_type(1));
    found_.terms.push_back({Term::kScatter, scatter, 0, reshape, std::move(maps)});
    return absl::OkStatus();
  }

  void AddWaits(const Node& node) {
    for (const Edge* edge : node.in_edges()) {
      if (edge->IsControlEdge() && edge->src()->IsOp() &&
          !absl::c_linear_search(found_.waits, edge->src())) {
        found_.waits.push_back(edge->src());
      }
    }
  }

  const FindResult& find_result_;
  Terms found_;
};

}  // namespace

DataType CommonIndexType(DataType a, DataType b) {
  if (a == DT_INVALID && b == DT_INVALID) return DT_INVALID;
  return a == DT_INT64 || b == DT_INT64 ? DT_INT64 : DT_INT32;
}

std::string Described(const Node& node) {
  return absl::StrCat("node '", node.name(), "' of op ", node.type_string());
}

OutputTensor InputOf(const Node& node, int i) {
  OutputTensor tensor;
  const absl::Status found = node.input_tensor(i, &tensor);
  return found.ok() ? tensor : OutputTensor(const_cast<Node*>(&node), -1);
}

absl::StatusOr<Terms> FindTerms(const OutputTensor& gradient,
                                const Finder::FindResult& find_result) {
  Finder finder(find_result);
  TF_RETURN_IF_ERROR(finder.Add(gradient, {}));
  return finder.Take();
}

}  // namespace tensorflow_ext
