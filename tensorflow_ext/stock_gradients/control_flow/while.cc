// The gradient of a loop is two loops. The first runs the loop again and keeps the loop variables
// from before each iteration in lists. If the body would give other values in another run, as one
// that draws random numbers, the loop itself keeps the variables and these values, and there is no
// first loop. The second goes back: it pops the last values and calls the gradient of the body,
// which turns the gradients of the variables after the iteration into those before it. This is
// reverse mode as in Griewank and Walther, Evaluating Derivatives, chapter 3, with the lists as a
// tape. Both loops are of the same kind, so they have a gradient in turn.

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
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/expand/gradient_nodes.h"
#include "tensorflow_ext/gradient/expand/upstream.h"
#include "tensorflow_ext/gradient/functions/differentiate_function.h"
#include "tensorflow_ext/gradient/functions/function_builder.h"
#include "tensorflow_ext/gradient/functions/loop_bound.h"
#include "tensorflow_ext/gradient/functions/more_outputs.h"
#include "tensorflow_ext/gradient/functions/rerun.h"

namespace tensorflow_ext {
namespace {

using tensorflow::DataType;
using tensorflow::DataTypeVector;
using tensorflow::DT_INVALID;
using tensorflow::DT_RESOURCE;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Operation;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;

// True if the function uses its argument `i`.
bool Uses(const tensorflow::FunctionDef& function, int i) {
  const std::string& argument = function.signature().input_arg(i).name();
  for (const auto& node : function.node_def()) {
    for (const std::string& input : node.input()) {
      if (input == argument) return true;
    }
  }
  for (const auto& [result, value] : function.ret()) {
    if (value == argument) return true;
  }
  return false;
}

void Append(const Outputs& more, Outputs* to) { to->insert(to->end(), more.begin(), more.end()); }

// Adds the gradient of one loop.
class WhileGradient {
 public:
  WhileGradient(const Scope& scope, const Operation& op, const Outputs& upstream)
      : scope_(scope),
        op_(op),
        upstream_(WithoutZerosOfResources(scope, op, upstream)),
        graph_(scope.graph()),
        call_(op.node()->op_def().is_stateful() ? "StatefulPartitionedCall" : "PartitionedCall"),
        nodes_(scope, op) {}

  absl::Status Run(Outputs* gradients) { return nodes_.Finish(AddAll(gradients)); }

 private:
  absl::Status AddAll(Outputs* gradients) {
    gradients->assign(op_.num_inputs(), tensorflow::NoGradient());
    TF_RETURN_IF_ERROR(GetNodeAttr(op_.node()->attrs(), "cond", &cond_));
    TF_RETURN_IF_ERROR(GetNodeAttr(op_.node()->attrs(), "body", &body_));
    TF_RETURN_IF_ERROR(GetNodeAttr(op_.node()->attrs(), "T", &types_));
    TF_RETURN_IF_ERROR(DifferentiateBody());
    if (gradient_types_.empty()) return absl::OkStatus();
    absl::Status why = body_gradient_->runs_again;
    why.Update(StateOf(*graph_, {op_.node()}).CheckRunsAgain(*op_.node()));
    if (!why.ok()) TF_RETURN_IF_ERROR(CheckMayChange(scope_, *op_.node(), why));
    TF_RETURN_IF_ERROR(graph_->AddFunctionLibrary(body_gradient_->library));
    TF_RETURN_IF_ERROR(ClassifyVariables());
    Outputs tape;
    TF_RETURN_IF_ERROR(MakeForwardFunctions());
    TF_RETURN_IF_ERROR(why.ok() ? AddForwardLoop(&tape) : ChangeLoop(&tape));
    gradients->resize(op_.node()->num_inputs(), tensorflow::NoGradient());
    return AddBackwardLoop(tape, gradients);
  }

  // Differentiates the body with respect to all variables that the gradient flows through: those
  // with an upstream gradient, and those that one of these was computed from in an earlier
  // iteration.
  absl::Status DifferentiateBody() {
    DataTypeVector flowing = UpstreamTypes(op_, upstream_);
    while (true) {
      TF_ASSIGN_OR_RETURN(body_gradient_,
                          DifferentiateFunction(graph_->flib_def(), body_, flowing, flowing));
      if (body_gradient_->gradients == flowing) break;
      flowing = body_gradient_->gradients;
    }
    for (size_t i = 0; i < flowing.size(); ++i) {
      if (flowing[i] == DT_INVALID) continue;
      flowing_.push_back(i);
      gradient_types_.push_back(flowing[i]);
    }
    return absl::OkStatus();
  }

  // Finds the variables to keep: those that change and that the gradient uses.
  absl::Status ClassifyVariables() {
    const auto body = graph_->flib_def().FindRecord(body_.name());
    const auto gradient = graph_->flib_def().FindRecord(body_gradient_->name);
    for (int i = 0; i < op_.num_inputs(); ++i) {
      unchanged_.push_back(ReturnsUnchanged(body->fdef(), i));
      if (unchanged_[i] || !Uses(gradient->fdef(), i)) {
        constant_.push_back(i);
        constant_types_.push_back(types_[i]);
      } else if (types_[i] == DT_RESOURCE) {
        return absl::UnimplementedError(
            absl::StrCat("loop variable ", i, " is a resource that changes in the loop"));
      } else {
        kept_.push_back(i);
      }
    }
    for (int i : kept_) list_types_.push_back(types_[i]);
    result_types_ = types_;
    result_types_.insert(result_types_.end(), body_gradient_->forward_types.begin(),
                         body_gradient_->forward_types.end());
    for (int i : body_gradient_->kept) list_types_.push_back(result_types_[i]);
    return absl::OkStatus();
  }

  // The maximum number of iterations, or -1 if unknown. XLA needs it for lists.
  absl::StatusOr<Output> MostIterations() {
    const auto& library = graph_->flib_def();
    const auto bound = FindLoopBound(*op_.node(), library.FindRecord(cond_.name())->fdef(),
                                     library.FindRecord(body_.name())->fdef());
    if (bound && bound->input >= 0) return op_.input(bound->input);
    return nodes_.Constant("most", ScalarInt(bound ? bound->constant : -1));
  }

  // Adds a loop that runs like the differentiated loop.
  absl::StatusOr<Node*> AddLoop(const char* name, const Outputs& variables,
                                const NameAttrList& cond, const NameAttrList& body) {
    NodeBuilder builder = nodes_.New(name, op_.node()->type_string());
    // Lists and gradients may change shape between iterations.
    const std::vector<tensorflow::PartialTensorShape> shapes(variables.size());
    builder.Input(NodeOuts(variables))
        .Attr("cond", cond)
        .Attr("body", body)
        .Attr("output_shapes", shapes);
    for (const char* attribute : {"parallel_iterations", "_lower_using_switch_merge"}) {
      const tensorflow::AttrValue* value = op_.node()->attrs().Find(attribute);
      if (value != nullptr) builder.Attr(attribute, *value);
    }
    return nodes_.Add(builder);
  }

  // Makes the functions of a loop that also counts its iterations and fills a list for each kept
  // tensor.
  absl::Status MakeForwardFunctions() {
    const size_t num_variables = types_.size();
    more_types_.assign(1, tensorflow::DT_INT32);
    more_types_.resize(1 + list_types_.size(), tensorflow::DT_VARIANT);
    DataTypeVector types = types_;
    types.insert(types.end(), more_types_.begin(), more_types_.end());

    FunctionBuilder test;
    Outputs x = test.Arguments(types);
    x.resize(num_variables);
    TF_ASSIGN_OR_RETURN(taped_cond_,
                        test.Finish(absl::StrCat(cond_.name(), "_taped"),
                                    test.Call(call_, cond_, x, {tensorflow::DT_BOOL}), graph_));

    FunctionBuilder step;
    const Outputs arguments = step.Arguments(types);
    x.assign(arguments.begin(), arguments.begin() + num_variables);
    const std::string& forward = body_gradient_->forward;
    const Outputs all =
        step.Call(call_, forward.empty() ? body_ : Named(forward), x, result_types_);
    Outputs results(all.begin(), all.begin() + num_variables), lists;
    for (int i : kept_) lists.push_back(x[i]);
    for (int i : body_gradient_->kept) lists.push_back(all[i]);
    for (size_t i = 0; i < num_variables; ++i) {
      if (unchanged_[i]) results[i] = x[i];
    }
    results.push_back(step.Binary("AddV2", arguments[num_variables], step.Int(1)));
    for (size_t k = 0; k < lists.size(); ++k) {
      results.push_back(
          step.Binary("TensorListPushBack", arguments[num_variables + 1 + k], lists[k]));
    }
    TF_ASSIGN_OR_RETURN(taped_body_,
                        step.Finish(absl::StrCat(body_.name(), "_taped"), results, graph_));
    return absl::OkStatus();
  }

  // The initial values of the further variables of such a loop.
  absl::Status AddInitialTape(Outputs* variables) {
    TF_ASSIGN_OR_RETURN(const Output zero, nodes_.Constant("count", ScalarInt(0)));
    TF_ASSIGN_OR_RETURN(const Output any, nodes_.Constant("any", ScalarInt(-1)));
    TF_ASSIGN_OR_RETURN(const Output most, MostIterations());
    variables->push_back(zero);
    for (DataType type : list_types_) {
      NodeBuilder builder = nodes_.New("tape", "EmptyTensorList");
      builder.Input(any.node(), any.index())
          .Input(most.node(), most.index())
          .Attr("element_dtype", type);
      TF_ASSIGN_OR_RETURN(Node * list, nodes_.Add(builder));
      variables->emplace_back(list, 0);
    }
    return absl::OkStatus();
  }

  void AddTape(Node* loop, Outputs* tape) const {
    for (size_t k = 0; k < more_types_.size(); ++k) tape->emplace_back(loop, types_.size() + k);
  }

  // Runs the loop again. `tape` receives the number of iterations and the lists.
  absl::Status AddForwardLoop(Outputs* tape) {
    Outputs variables;
    for (int i = 0; i < op_.num_inputs(); ++i) variables.push_back(op_.input(i));
    TF_RETURN_IF_ERROR(AddInitialTape(&variables));
    TF_ASSIGN_OR_RETURN(Node * loop, AddLoop("forward", variables, taped_cond_, taped_body_));
    AddTape(loop, tape);
    return absl::OkStatus();
  }

  // The same, but lets the loop itself fill the lists.
  absl::Status ChangeLoop(Outputs* tape) {
    Outputs more;
    TF_RETURN_IF_ERROR(AddInitialTape(&more));
    Node* const loop = op_.node();
    TF_RETURN_IF_ERROR(AddLoopVariables(scope_, more_types_, more, loop));
    loop->AddAttr("cond", taped_cond_);
    loop->AddAttr("body", taped_body_);
    AddTape(loop, tape);
    return absl::OkStatus();
  }

  // Goes back through the iterations. The loop variables are `tape`, the constant variables of the
  // loop, and the gradients.
  absl::Status AddBackwardLoop(const Outputs& tape, Outputs* gradients) {
    DataTypeVector types = more_types_;
    types.insert(types.end(), constant_types_.begin(), constant_types_.end());
    types.insert(types.end(), gradient_types_.begin(), gradient_types_.end());

    FunctionBuilder test;
    const Output left = test.Arguments(types)[0];
    TF_ASSIGN_OR_RETURN(const NameAttrList cond,
                        test.Finish(absl::StrCat(body_gradient_->name, "_left"),
                                    {test.Binary("Greater", left, test.Int(0))}, graph_));
    TF_ASSIGN_OR_RETURN(const NameAttrList body, BackwardBody(types));

    Outputs variables = tape;
    for (int i : constant_) variables.push_back(op_.input(i));
    for (size_t k = 0; k < flowing_.size(); ++k) {
      TF_ASSIGN_OR_RETURN(const Output dy, UpstreamOrZeros(flowing_[k], gradient_types_[k]));
      variables.push_back(dy);
    }
    TF_ASSIGN_OR_RETURN(Node * loop, AddLoop("backward", variables, cond, body));
    const int first = variables.size() - flowing_.size();
    for (size_t k = 0; k < flowing_.size(); ++k) {
      TF_ASSIGN_OR_RETURN((*gradients)[flowing_[k]],
                          nodes_.WrapInIdentity(Output(loop, first + k)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NameAttrList> BackwardBody(const DataTypeVector& types) {
    FunctionBuilder step;
    const Outputs arguments = step.Arguments(types);
    auto next = arguments.begin();
    Outputs results{step.Binary("Sub", *next++, step.Int(1))};
    Outputs x(types_.size()), kept;
    for (DataType type : list_types_) {
      const Output list = *next++, any = step.Int(-1);
      Outputs popped = step.Add(step.New("TensorListPopBack")
                                    .Input(list.node(), list.index())
                                    .Input(any.node(), any.index())
                                    .Attr("element_dtype", type));
      popped.resize(2);
      results.push_back(popped[0]);
      kept.push_back(popped[1]);
    }
    for (size_t k = 0; k < kept_.size(); ++k) x[kept_[k]] = kept[k];
    for (int i : constant_) {
      x[i] = *next;
      results.push_back(*next++);
    }
    Append(Outputs(next, arguments.end()), &x);
    Append(Outputs(kept.begin() + kept_.size(), kept.end()), &x);
    Append(step.Call(call_, Named(body_gradient_->name), x, gradient_types_), &results);
    return step.Finish(absl::StrCat(body_gradient_->name, "_back"), results, graph_);
  }

  // The upstream gradient of variable `i`, or zeros of its shape after the loop.
  absl::StatusOr<Output> UpstreamOrZeros(int i, DataType type) {
    if (UpstreamTypes(op_, upstream_)[i] != DT_INVALID) return upstream_[i];
    if (types_[i] == DT_RESOURCE) {
      return nodes_.ZerosLikeVariable(op_.input(i), type);
    }
    return nodes_.ZerosLike(op_.output(i));
  }

  const Scope& scope_;
  const Operation& op_;
  const Outputs upstream_;
  tensorflow::Graph* const graph_;
  const char* const call_;
  GradientNodes nodes_;
  NameAttrList cond_, body_, taped_cond_, taped_body_;
  DataTypeVector types_;  // of the loop variables
  std::shared_ptr<const FunctionWithGradients> body_gradient_;
  std::vector<bool> unchanged_;  // of each loop variable
  // Indices of loop variables: with a gradient, on the tape, and all others.
  std::vector<int> flowing_, kept_, constant_;
  DataTypeVector gradient_types_, constant_types_;
  // The types of the results of the body, or of the function that returns more.
  DataTypeVector result_types_;
  // The types of the kept variables and of the further tensors that the body's gradient keeps; and
  // those of the loop's variables for these.
  DataTypeVector list_types_, more_types_;
};

absl::Status WhileGrad(const Scope& scope, const Operation& op, const Outputs& upstream,
                       Outputs* gradients) {
  return WhileGradient(scope, op, upstream).Run(gradients);
}

[[maybe_unused]] const bool registered_loops[] = {
    RegisterClientGradient("StatelessWhile", WhileGrad),
    RegisterClientGradient("While", WhileGrad),
};

}  // namespace
}  // namespace tensorflow_ext
