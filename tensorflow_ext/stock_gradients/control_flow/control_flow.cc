// SPDX-License-Identifier: Apache-2.0
//
// Ops that call a function, or one of several. The gradient of a call is a call of the functions'
// gradients (differentiate_function.h), with the same choice between them. Other ops that call a
// function have no gradient: BatchFunction mixes the arguments of unrelated calls, and
// TPUPartitionedCall and XlaLaunch appear only in rewritten graphs that no client sees.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/functions/differentiate_function.h"

namespace tensorflow_ext {
namespace {

using tensorflow::AttrValue;
using tensorflow::DataTypeVector;
using tensorflow::DT_INVALID;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;

// The attributes that name the functions: of type func, or a single list(func).
using Attributes = std::vector<const char*>;

Attributes FunctionAttributes(const Node& node) {
  if (node.IsPartitionedCall() || node.type_string() == "RemoteCall") {
    return {"f"};
  }
  if (node.IsIfNode()) return {"then_branch", "else_branch"};
  return {"branches"};
}

// Adds the gradient of one call.
class CallGradient {
 public:
  CallGradient(const Scope& scope, const Operation& op, const std::vector<Output>& upstream)
      : scope_(scope),
        op_(op),
        upstream_(WithoutZerosOfResources(scope, op, upstream)),
        attributes_(FunctionAttributes(*op.node())),
        num_choosing_(op.node()->IsPartitionedCall() ? 0 : 1),
        nodes_(scope, op) {}

  absl::Status Run(std::vector<Output>* gradients) { return nodes_.Finish(AddAll(gradients)); }

 private:
  absl::Status AddAll(std::vector<Output>* gradients) {
    gradients->assign(op_.num_inputs(), tensorflow::NoGradient());
    for (int i = num_choosing_; i < op_.num_inputs(); ++i) {
      arguments_.emplace_back(op_.input(i).node(), op_.input(i).index());
    }
    const DataTypeVector upstream_types = UpstreamTypes(op_, upstream_);
    for (size_t i = 0; i < upstream_.size(); ++i) {
      if (upstream_types[i] == DT_INVALID) continue;
      arguments_.emplace_back(upstream_[i].node(), upstream_[i].index());
    }
    TF_RETURN_IF_ERROR(DifferentiateAll(upstream_types));
    DataTypeVector types;
    for (tensorflow::DataType type : union_) {
      if (type != DT_INVALID) types.push_back(type);
    }
    if (types.empty()) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(Node * call, AddCall(types));
    int result = 0;
    for (size_t i = 0; i < union_.size(); ++i) {
      if (union_[i] == DT_INVALID) continue;
      TF_ASSIGN_OR_RETURN((*gradients)[num_choosing_ + i],
                          nodes_.WrapInIdentity(Output(call, result++)));
    }
    return absl::OkStatus();
  }

  // Creates the gradients of all functions. They return the same: a gradient for each argument for
  // which one of them has a gradient.
  absl::Status DifferentiateAll(const DataTypeVector& upstream_types) {
    std::vector<const NameAttrList*> functions;
    for (const char* attribute : attributes_) {
      const AttrValue* value = op_.node()->attrs().Find(attribute);
      if (value == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("the node has no attribute '", attribute, "'"));
      }
      if (value->has_func()) functions.push_back(&value->func());
      for (const auto& function : value->list().func()) {
        functions.push_back(&function);
      }
    }
    const auto& library = scope_.graph()->flib_def();
    std::vector<std::shared_ptr<const FunctionWithGradients>> made;
    for (const NameAttrList* function : functions) {
      TF_ASSIGN_OR_RETURN(auto one, DifferentiateFunction(library, *function, upstream_types));
      union_.resize(one->gradients.size(), DT_INVALID);
      for (size_t i = 0; i < union_.size(); ++i) {
        if (union_[i] == DT_INVALID) union_[i] = one->gradients[i];
      }
      made.push_back(std::move(one));
    }
    for (size_t k = 0; k < made.size(); ++k) {
      if (made[k]->gradients != union_) {
        TF_ASSIGN_OR_RETURN(made[k],
                            DifferentiateFunction(library, *functions[k], upstream_types, union_));
      }
      TF_RETURN_IF_ERROR(scope_.graph()->AddFunctionLibrary(made[k]->library));
      gradients_.emplace_back();
      gradients_.back().set_name(made[k]->name);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Node*> AddCall(const DataTypeVector& types) {
    NodeBuilder builder = nodes_.New("call", op_.node()->type_string());
    for (int i = 0; i < num_choosing_; ++i) {
      builder.Input(op_.input(i).node(), op_.input(i).index());
    }
    builder.Input(arguments_).Attr("Tout", types);
    size_t next = 0;
    for (const char* attribute : attributes_) {
      if (op_.node()->attrs().Find(attribute)->has_func()) {
        builder.Attr(attribute, gradients_[next++]);
      } else {
        builder.Attr(attribute, gradients_);
      }
    }
    // Attributes that say how to run the call.
    for (const char* name : {"_XlaMustCompile", "_lower_using_switch_merge", "config",
                             "config_proto", "executor_type"}) {
      const AttrValue* value = op_.node()->attrs().Find(name);
      if (value != nullptr) builder.Attr(name, *value);
    }
    return nodes_.Add(builder);
  }

  const Scope& scope_;
  const Operation& op_;
  const std::vector<Output> upstream_;
  const Attributes attributes_;
  const int num_choosing_;  // inputs before the arguments
  GradientNodes nodes_;
  std::vector<NodeBuilder::NodeOut> arguments_;  // of the gradient functions
  std::vector<NameAttrList> gradients_;          // the gradient functions
  DataTypeVector union_;
};

absl::Status CallGrad(const Scope& scope, const Operation& op, const std::vector<Output>& upstream,
                      std::vector<Output>* gradients) {
  return CallGradient(scope, op, upstream).Run(gradients);
}

[[maybe_unused]] const bool registered_calls[] = {
    RegisterClientGradient("Case", CallGrad),
    RegisterClientGradient("If", CallGrad),
    RegisterClientGradient("RemoteCall", CallGrad),
    RegisterClientGradient("StatelessCase", CallGrad),
    RegisterClientGradient("StatelessIf", CallGrad),
    // TensorFlow's is a SymbolicGradient. It knows only the gradients of the function registry,
    // treats variables as floats and has no gradient itself.
    StandIn("PartitionedCall", CallGrad),
    StandIn("StatefulPartitionedCall", CallGrad),
};

}  // namespace
}  // namespace tensorflow_ext
