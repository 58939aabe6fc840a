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
#include "tensorflow_ext/gradient/functions/function_builder.h"
#include "tensorflow_ext/gradient/functions/more_outputs.h"

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
    if (results_.empty()) return absl::OkStatus();
    TF_RETURN_IF_ERROR(Keep());
    TF_ASSIGN_OR_RETURN(Node * call, AddCall());
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
    for (const char* attribute : attributes_) {
      const AttrValue* value = op_.node()->attrs().Find(attribute);
      if (value == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("the node has no attribute '", attribute, "'"));
      }
      if (value->has_func()) functions_.push_back(value->func());
      for (const auto& function : value->list().func()) {
        functions_.push_back(function);
      }
    }
    const auto& library = scope_.graph()->flib_def();
    for (const NameAttrList& function : functions_) {
      TF_ASSIGN_OR_RETURN(auto one, DifferentiateFunction(library, function, upstream_types));
      union_.resize(one->gradients.size(), DT_INVALID);
      for (size_t i = 0; i < union_.size(); ++i) {
        if (union_[i] == DT_INVALID) union_[i] = one->gradients[i];
      }
      made_.push_back(std::move(one));
    }
    for (size_t k = 0; k < made_.size(); ++k) {
      if (made_[k]->gradients != union_) {
        TF_ASSIGN_OR_RETURN(made_[k],
                            DifferentiateFunction(library, functions_[k], upstream_types, union_));
      }
      gradients_.push_back(Named(made_[k]->name));
    }
    for (tensorflow::DataType type : union_) {
      if (type != DT_INVALID) results_.push_back(type);
    }
    return absl::OkStatus();
  }

  // Adds the functions, hands the results that the gradients keep to them, and lets the node return
  // these. With several functions, each returns and each gradient takes what any of them keeps.
  absl::Status Keep() {
    absl::Status why;
    for (const auto& made : made_) why.Update(made->runs_again);
    bool changes = false;
    for (const auto& made : made_) changes = changes || !made->forward.empty();
    if (changes) TF_RETURN_IF_ERROR(CheckMayChange(scope_, *op_.node(), why));
    for (const auto& made : made_) {
      TF_RETURN_IF_ERROR(scope_.graph()->AddFunctionLibrary(made->library));
    }
    if (why.ok()) return absl::OkStatus();
    const int num_results = op_.num_outputs();
    std::vector<int> firsts;  // the first output for further results of each function
    DataTypeVector more;
    for (const auto& made : made_) {
      firsts.push_back(num_results + more.size());
      more.insert(more.end(), made->forward_types.begin(), made->forward_types.end());
    }
    if (changes) TF_RETURN_IF_ERROR(CallForward(firsts, more));
    const DataTypeVector before = TypesOf(arguments_);
    for (size_t k = 0; k < made_.size(); ++k) {
      kept_.emplace_back();
      for (int result : made_[k]->kept) {
        kept_[k].push_back(arguments_.size());
        const int index = result < num_results ? result : firsts[k] + result - num_results;
        arguments_.emplace_back(op_.node(), index);
      }
    }
    return made_.size() == 1 ? absl::OkStatus() : TakeOwn(before.size());
  }

  DataTypeVector TypesOf(const std::vector<NodeBuilder::NodeOut>& tensors) const {
    DataTypeVector types;
    for (const auto& tensor : tensors) types.push_back(tensor.node->output_type(tensor.index));
    return types;
  }

  // Lets the node call functions that return more.
  absl::Status CallForward(const std::vector<int>& firsts, const DataTypeVector& more) {
    Node* const node = op_.node();
    const DataTypeVector results(node->output_types().begin(), node->output_types().end());
    const DataTypeVector arguments(node->input_types().begin() + num_choosing_,
                                   node->input_types().end());
    for (size_t k = 0; k < made_.size(); ++k) {
      if (!made_[k]->forward.empty()) functions_[k] = Named(made_[k]->forward);
      if (made_.size() == 1) break;
      FunctionBuilder function;
      DataTypeVector own = results;
      own.insert(own.end(), made_[k]->forward_types.begin(), made_[k]->forward_types.end());
      Outputs returned = function.Call("StatefulPartitionedCall", functions_[k],
                                       function.Arguments(arguments), own);
      const Outputs further(returned.begin() + results.size(), returned.end());
      returned.resize(results.size());
      for (size_t i = 0; i < more.size(); ++i) {
        const size_t place = results.size() + i - firsts[k];
        returned.push_back(results.size() + i >= static_cast<size_t>(firsts[k]) &&
                                   place < further.size()
                               ? further[place]
                               : function.Empty(more[i]));
      }
      TF_ASSIGN_OR_RETURN(
          functions_[k],
          function.Finish(absl::StrCat(functions_[k].name(), "_padded"), returned, scope_.graph()));
    }
    SetFunctions(functions_,
                 [node](const char* name, auto&& value) { node->AddAttr(name, value); });
    return AddOutputs(scope_, "Tout", more, node);
  }

  // Makes each gradient take all arguments. The first `num_before` are for all gradients.
  absl::Status TakeOwn(size_t num_before) {
    for (size_t k = 0; k < gradients_.size(); ++k) {
      FunctionBuilder function;
      const Outputs all = function.Arguments(TypesOf(arguments_));
      Outputs own(all.begin(), all.begin() + num_before);
      for (int index : kept_[k]) own.push_back(all[index]);
      const std::string name = gradients_[k].name();
      TF_ASSIGN_OR_RETURN(
          gradients_[k],
          function.Finish(absl::StrCat(name, "_padded"),
                          function.Call("StatefulPartitionedCall", gradients_[k], own, results_),
                          scope_.graph()));
    }
    return absl::OkStatus();
  }

  // Sets the attributes that name the functions.
  template <typename Set>
  void SetFunctions(const std::vector<NameAttrList>& functions, const Set& set) const {
    size_t next = 0;
    for (const char* attribute : attributes_) {
      if (op_.node()->attrs().Find(attribute)->has_func()) {
        set(attribute, functions[next++]);
      } else {
        set(attribute, functions);
      }
    }
  }

  absl::StatusOr<Node*> AddCall() {
    NodeBuilder builder = nodes_.New("call", op_.node()->type_string());
    for (int i = 0; i < num_choosing_; ++i) {
      builder.Input(op_.input(i).node(), op_.input(i).index());
    }
    builder.Input(arguments_).Attr("Tout", results_);
    SetFunctions(gradients_,
                 [&builder](const char* name, const auto& value) { builder.Attr(name, value); });
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
  std::vector<NameAttrList> functions_, gradients_;
  std::vector<std::shared_ptr<const FunctionWithGradients>> made_;  // of each function
  std::vector<std::vector<int>> kept_;                              // in `arguments_`, the same
  // The type of the gradient of each argument, DT_INVALID if it has none; and the existing ones.
  DataTypeVector union_, results_;
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
