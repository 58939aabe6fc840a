// The base of the typed ops that `python -m tensorflow_ext wrappers --cxx` writes.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"

namespace tensorflow_ext {

// Adds the node of an op to a scope. An error becomes the scope's status, as with TensorFlow's own
// ops: from then on nothing is added, and results are empty. Pass the inputs in the order of the
// OpDef.
class OpBuilder {
 public:
  // `name`: the node's name if the scope gives none.
  OpBuilder(const tensorflow::Scope& scope, const char* op, const char* name)
      : scope_(scope), op_(op) {
    if (!scope_.ok()) return;
    const tensorflow::OpDef* op_def = nullptr;
    if (!tensorflow::OpRegistry::Global()->LookUpOpDef(op, &op_def).ok()) {
      Refuse(absl::NotFoundError(
          absl::StrCat("there is no op '", op,
                       "' in this process: link the library that holds it, or load it with "
                       "Env::LoadDynamicLibrary or TF_LoadLibrary before you build the "
                       "graph")));
      return;
    }
    builder_.emplace(scope_.GetUniqueNameForOp(name), op);
  }

  void Input(const char* argument, const tensorflow::Input& value) {
    if (!scope_.ok()) return;
    const NodeOut source = Resolve(argument, value);
    if (scope_.ok()) builder_->Input(source);
  }

  void Input(const char* argument, const tensorflow::InputList& values) {
    if (!scope_.ok()) return;
    std::vector<NodeOut> sources;
    for (const tensorflow::Input& value : values) {
      sources.push_back(Resolve(argument, value));
      if (!scope_.ok()) return;
    }
    builder_->Input(sources);
  }

  template <typename T>
  void Attr(const char* name, const T& value) {
    if (scope_.ok()) builder_->Attr(name, value);
  }

  // Adds the node and infers its shapes; returns true on success.
  bool Finish() {
    if (!scope_.ok()) return false;
    scope_.UpdateBuilder(&*builder_);
    tensorflow::Node* node = nullptr;
    scope_.UpdateStatus(builder_->Finalize(scope_.graph(), &node));
    if (!scope_.ok()) return false;
    scope_.UpdateStatus(scope_.DoShapeInference(node));
    if (!scope_.ok()) return false;
    scope_.UpdateStatus(tensorflow::NameRangesForNode(*node, node->op_def(), nullptr, &ranges_));
    operation_ = tensorflow::Operation(node);
    return scope_.ok();
  }

  // The node that Finish() has added.
  tensorflow::Operation operation() const { return operation_; }

  tensorflow::Output Output(const char* argument) const {
    return tensorflow::Output(operation_, ranges_.at(argument).first);
  }

  tensorflow::OutputList OutputList(const char* argument) const {
    const auto [begin, end] = ranges_.at(argument);
    tensorflow::OutputList outputs;
    for (int i = begin; i < end; ++i) outputs.emplace_back(operation_, i);
    return outputs;
  }

 private:
  using NodeOut = tensorflow::NodeBuilder::NodeOut;

  void Refuse(const absl::Status& status) { scope_.UpdateStatus(status); }

  // Checks what NodeBuilder assumes about an input.
  NodeOut Resolve(const char* argument, const tensorflow::Input& value) {
    const auto refuse = [&](const auto&... what) {
      Refuse(absl::InvalidArgumentError(absl::StrCat(op_, ": input '", argument, "' ", what...)));
      return NodeOut();
    };
    if (!value.status().ok()) return refuse(value.status().message());
    if (const tensorflow::Node* node = value.node(); node != nullptr) {
      if (!scope_.graph()->IsValidNode(node).ok()) {
        return refuse("is node '", node->name(),
                      "' of another graph; expected one of this scope's graph");
      }
      if (value.index() < 0 || value.index() >= node->num_outputs()) {
        return refuse("is output ", value.index(), " of node '", node->name(), "', which has ",
                      node->num_outputs(), " outputs");
      }
    } else if (value.node_name().empty() && value.tensor().dtype() == tensorflow::DT_FLOAT &&
               value.tensor().shape() == tensorflow::TensorShape({0})) {
      // An Input that was made from an empty Output looks like this.
      return refuse(
          "is not a tensor, but an Output() that was never assigned. Pass a constant "
          "without elements as ops::Const");
    }
    return tensorflow::ops::AsNodeOut(scope_, value);
  }

  const tensorflow::Scope& scope_;
  const char* const op_;
  std::optional<tensorflow::NodeBuilder> builder_;
  tensorflow::Operation operation_;
  tensorflow::NameRangeMap ranges_;
};

}  // namespace tensorflow_ext
