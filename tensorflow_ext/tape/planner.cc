#include "tensorflow_ext/tape/planner.h"

#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/framework/scope_internal.h"
#include "tensorflow/core/common_runtime/shape_refiner.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow_ext/gradient/slices/sliced_graph.h"
#include "tensorflow_ext/tape/plan_steps.h"

namespace tensorflow_ext {

using tensorflow::DataType;
using tensorflow::EagerContext;
using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::NodeDef;
using tensorflow::Output;
using tensorflow::OutputTensor;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorHandle;

namespace {

bool IsLoop(const Node& node) {
  return node.type_string() == "While" || node.type_string() == "StatelessWhile";
}

// Makes one plan in a graph of its own.
class Planner {
 public:
  Planner(EagerContext* context, const std::vector<EagerInput>& inputs, bool has_functions)
      : context_(context),
        inputs_(inputs),
        has_functions_(has_functions),
        graph_(has_functions ? std::make_unique<Graph>(*context->FuncLibDef())
                             : std::make_unique<Graph>(tensorflow::OpRegistry::Global())),
        shapes_(graph_->versions(), &graph_->flib_def()),
        plan_(std::make_shared<EagerPlan>()) {
    shapes_.set_require_shape_inference_fns(false);
  }

  absl::StatusOr<std::shared_ptr<const EagerPlan>> Make(const NodeDef& forward,
                                                        const std::vector<bool>& wanted,
                                                        int orders) {
    TF_RETURN_IF_ERROR(FindGradient(forward.op()));
    TF_RETURN_IF_ERROR(AddForward(forward));
    const int num_outputs = forward_->num_outputs();
    TF_RETURN_IF_ERROR(MakeSteps(wanted));
    if (IsChanged(*forward_, forward, inputs_.size(), num_outputs)) {
      TF_RETURN_IF_ERROR(AddForwardSteps());
      AddFurther(wanted, orders);
    }
    if (has_functions_) TF_RETURN_IF_ERROR(AddFunctions());
    return std::shared_ptr<const EagerPlan>(std::move(plan_));
  }

 private:
  // Fills the plan with the gradient by all present outputs.
  absl::Status MakeSteps(const std::vector<bool>& wanted) {
    plan_->uses_upstream.resize(forward_->num_outputs());
    std::vector<Output> gradients;
    TF_RETURN_IF_ERROR(Differentiate(&gradients));
    gradients.resize(inputs_.size());  // Inputs that the gradient added come last.
    plan_->results.resize(inputs_.size());
    plan_->rows.resize(inputs_.size());
    std::vector<Node*> ends;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (wanted[i] && gradients[i].node() != nullptr) ends.push_back(gradients[i].node());
    }
    plan_->has_results = !ends.empty();
    std::vector<std::optional<Rows>> rows(inputs_.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!wanted[i] || gradients[i].node() == nullptr) continue;
      TF_ASSIGN_OR_RETURN(rows[i],
                          AddRows(OutputTensor(gradients[i].node(), gradients[i].index())));
      if (!rows[i]) continue;
      ends.insert(ends.end(),
                  {rows[i]->values.node, rows[i]->indices.node, rows[i]->num_rows.node});
    }
    TF_RETURN_IF_ERROR(AddSteps(ends, forward_, &plan_->steps));
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!wanted[i] || gradients[i].node() == nullptr) continue;
      TF_ASSIGN_OR_RETURN(plan_->results[i], Source(gradients[i].node(), gradients[i].index()));
      if (!rows[i]) continue;
      EagerRows& sources = plan_->rows[i].emplace();
      TF_ASSIGN_OR_RETURN(sources.values, Source(rows[i]->values));
      TF_ASSIGN_OR_RETURN(sources.indices, Source(rows[i]->indices));
      TF_ASSIGN_OR_RETURN(sources.num_rows, Source(rows[i]->num_rows));
    }
    FindLastUses(plan_.get());
    return absl::OkStatus();
  }

  void ForgetSteps() {
    steps_.clear();
    same_.clear();
  }

  // Fills the plan with the steps that run in the op's place.
  absl::Status AddForwardSteps() {
    ForgetSteps();
    plan_->forward.clear();
    // The gradient does not take the inputs of the forward op.
    const std::vector<EagerSource> kept = plan_->kept;
    TF_RETURN_IF_ERROR(AddSteps({forward_}, nullptr, &plan_->forward));
    plan_->kept = kept;
    return absl::OkStatus();
  }

  // Adds the gradients by what the op has returned since it was changed. They may change it again.
  void AddFurther(const std::vector<bool>& wanted, int orders) {
    const std::shared_ptr<EagerPlan> plan = plan_;
    std::vector<std::shared_ptr<EagerPlan>> further;
    bool is_changed = true;
    for (int order = 2; order <= orders && is_changed; ++order) {
      const NodeDef before = forward_->def();
      const int num_inputs = forward_->num_inputs(), num_outputs = forward_->num_outputs();
      ForgetSteps();
      plan_ = std::make_shared<EagerPlan>();
      plan_->kept = plan->kept;
      absl::Status status = MakeSteps(wanted);
      const std::shared_ptr<EagerPlan> next = std::exchange(plan_, plan);
      is_changed = IsChanged(*forward_, before, num_inputs, num_outputs);
      if (status.ok() && is_changed) status = AddForwardSteps();
      if (!status.ok()) {
        plan_->further_error = std::move(status);
        break;
      }
      plan_->kept = next->kept;
      further.push_back(next);
    }
    for (const std::shared_ptr<EagerPlan>& next : further) {
      next->kept = plan_->kept;
      plan_->further.push_back(next);
    }
  }

  // Adds a node that stands for a tensor.
  absl::StatusOr<Node*> AddTensor(const std::string& name, const EagerInput& tensor,
                                  const EagerSource& source) {
    Node* node;
    NodeBuilder builder(name, tensor.value ? "Const" : "Placeholder");
    builder.Attr("dtype", tensor.dtype);
    if (tensor.value) {
      builder.Attr("value", *tensor.value);
    } else {
      builder.Attr("shape", tensor.shape);
    }
    TF_RETURN_IF_ERROR(builder.Finalize(graph_.get(), &node));
    TF_RETURN_IF_ERROR(shapes_.AddNode(node));
    tensors_.emplace(node, source);
    if (tensor.held_type != tensorflow::DT_INVALID) {
      auto* const context = shapes_.GetContext(node);
      tensorflow::shape_inference::ShapeHandle shape;
      TF_RETURN_IF_ERROR(context->MakeShapeFromPartialTensorShape(tensor.held_shape, &shape));
      context->set_output_handle_shapes_and_types(0, {{shape, tensor.held_type}});
    }
    return node;
  }

  absl::Status FindGradient(const std::string& op) {
    if (!tensorflow::ops::GradOpRegistry::Global()->Lookup(op, &gradient_).ok()) {
      return absl::NotFoundError(absl::StrCat(
          "No gradient defined for op: ", op,
          ". Write one in C++ (REGISTER_OP_GRADIENT) and load its library, or register one in C "
          "(TfExt_RegisterGradient), or stop the tape while the op runs"));
    }
    if (gradient_ != nullptr && absl::StartsWith(op, "TensorArray")) {
      return absl::UnimplementedError(absl::StrCat(
          "A tape cannot differentiate op ", op,
          ", because TensorFlow's kernels would add all gradients of an array to one array. Use "
          "TensorList ops, as tf.TensorArray does in TensorFlow 2, or run a function that creates "
          "the array"));
    }
    return absl::OkStatus();
  }

  absl::Status AddForward(const NodeDef& forward) {
    std::vector<Node*> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TF_ASSIGN_OR_RETURN(Node * node, AddTensor(absl::StrCat("input_", i), inputs_[i],
                                                 {EagerSource::kInput, static_cast<int>(i)}));
      inputs.push_back(node);
    }
    TF_ASSIGN_OR_RETURN(forward_, graph_->AddNode(forward));
    // Shape functions rely on the limits of attributes.
    for (const auto& attr : forward_->op_def().attr()) {
      const tensorflow::AttrValue* const value = forward_->attrs().Find(attr.name());
      if (value != nullptr) TF_RETURN_IF_ERROR(tensorflow::ValidateAttrValue(*value, attr));
    }
    for (size_t i = 0; i < inputs.size(); ++i) graph_->AddEdge(inputs[i], 0, forward_, i);
    return shapes_.AddNode(forward_);
  }

  absl::Status Differentiate(std::vector<Output>* gradients) {
    // Without an upstream gradient, gradients end the process: graphs never ask for them.
    const auto has_gradient = [](DataType type) { return IsDifferentiable(type); };
    if (gradient_ == nullptr || absl::c_none_of(forward_->output_types(), has_gradient)) {
      gradients->resize(inputs_.size());
      return absl::OkStatus();
    }
    std::vector<Output> upstream;
    for (int i = 0; i < forward_->num_outputs(); ++i) {
      const DataType type = forward_->output_type(i);
      if (!IsDifferentiable(type)) {
        upstream.push_back(tensorflow::NoGradient());
        continue;
      }
      tensorflow::shape_inference::InferenceContext* context = shapes_.GetContext(forward_);
      tensorflow::TensorShapeProto shape;
      context->ShapeHandleToProto(context->output(i), &shape);
      EagerInput like{type, PartialTensorShape(shape)};
      // The gradient by a handle that a loop returns is one by its variable.
      if (type == tensorflow::DT_RESOURCE && has_functions_ && IsLoop(*forward_) &&
          static_cast<size_t>(i) < inputs_.size() &&
          inputs_[i].held_type != tensorflow::DT_INVALID) {
        like = {inputs_[i].held_type, inputs_[i].held_shape};
      }
      const auto* const held = context->output_handle_shapes_and_types(i);
      const bool is_matrix = held != nullptr && held->size() == 1 &&
                             held->front().type.type_id() == tensorflow::TFT_UNSET;
      if (type == tensorflow::DT_VARIANT && is_matrix) {
        like.held_type = held->front().dtype;
        context->ShapeHandleToProto(held->front().shape, &shape);
        like.held_shape = PartialTensorShape(shape);
      }
      TF_ASSIGN_OR_RETURN(
          Node * node, AddTensor(absl::StrCat("upstream_", i), like, {EagerSource::kUpstream, i}));
      upstream.emplace_back(node, 0);
    }
    absl::Status status;
    const tensorflow::Scope scope =
        tensorflow::NewInternalScope(graph_.get(), &status, &shapes_).NewSubScope("gradient");
    TF_RETURN_IF_ERROR(gradient_(scope, tensorflow::Operation(forward_), upstream, gradients));
    TF_RETURN_IF_ERROR(status);
    if (gradients->size() < inputs_.size()) {
      return absl::InternalError(absl::StrCat("The gradient of op ", forward_->type_string(),
                                              " has ", gradients->size(), " results, expected ",
                                              inputs_.size()));
    }
    return absl::OkStatus();
  }

  // Adds nodes for the rows of a gradient that is zero in all others; nothing if it is dense. The
  // gradient that a call gives is taken as dense.
  absl::StatusOr<std::optional<Rows>> AddRows(const OutputTensor& gradient) {
    TF_ASSIGN_OR_RETURN(const Terms terms, FindTerms(gradient, [](const OutputTensor& result) {
                          Terms dense;
                          dense.dense = Described(*result.node);
                          return absl::StatusOr<Terms>(dense);
                        }));
    if (!terms.dense.empty() || terms.index_type == tensorflow::DT_INVALID) {
      return std::optional<Rows>();
    }
    Functions functions{graph_->flib_def(), {}, {}};
    TF_ASSIGN_OR_RETURN(Rows rows,
                        SlicedGraph(graph_.get(), &functions).AddRows(terms, terms.index_type));
    return std::optional<Rows>(rows);
  }

  absl::StatusOr<EagerSource> Source(const OutputTensor& tensor) {
    return Source(tensor.node, tensor.index);
  }

  // Where the tensor comes from. Its node was added before.
  absl::StatusOr<EagerSource> Source(const Node* node, int output) {
    if (node == forward_ && steps_.count(node) == 0) {
      return Keep({EagerSource::kOutput, output});
    }
    if (const auto found = tensors_.find(node); found != tensors_.end()) {
      if (found->second.kind == EagerSource::kUpstream) {
        plan_->uses_upstream[found->second.index] = true;
        return found->second;
      }
      return Keep(found->second);
    }
    if (const auto found = same_.find(node); found != same_.end()) return found->second;
    const auto step = steps_.find(node);
    if (step == steps_.end()) {
      return absl::InternalError(
          absl::StrCat("the gradient of op ", forward_->type_string(), " is in a loop"));
    }
    EagerSource source = step->second;
    source.output = output;
    return source;
  }

  EagerSource Keep(const EagerSource& source) {
    for (const EagerSource& kept : plan_->kept) {
      if (kept.kind == source.kind && kept.index == source.index) return source;
    }
    plan_->kept.push_back(source);
    return source;
  }

  // Adds the nodes that lead to `ends`, in order. `stop`: a node that is not added.
  absl::Status AddSteps(const std::vector<Node*>& ends, const Node* stop,
                        std::vector<EagerStep>* steps) {
    std::vector<Node*> order;
    tensorflow::ReverseDFSFrom(
        *graph_, absl::MakeConstSpan(ends), nullptr,
        [&](Node* node) {
          if (node->IsOp() && node != stop && tensors_.count(node) == 0) order.push_back(node);
        },
        {}, [&](const Edge& edge) { return edge.dst() != stop; });
    for (Node* node : order) TF_RETURN_IF_ERROR(AddStep(*node, steps));
    return absl::OkStatus();
  }

  absl::Status AddStep(const Node& node, std::vector<EagerStep>* steps) {
    if (node.type_string() == "Const") {
      Tensor value;
      TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "value", &value));
      steps_.emplace(
          &node, EagerSource{EagerSource::kConstant, static_cast<int>(plan_->constants.size())});
      plan_->constants.emplace_back(TensorHandle::CreateLocalHandle(value));
      return absl::OkStatus();
    }
    if (node.IsIdentity() && node.requested_device().empty() && node.in_edges().size() == 1) {
      const Edge* edge;
      TF_RETURN_IF_ERROR(node.input_edge(0, &edge));
      TF_ASSIGN_OR_RETURN(const EagerSource source, Source(edge->src(), edge->src_output()));
      same_.emplace(&node, source);
      return absl::OkStatus();
    }
    EagerStep step;
    step.num_outputs = node.num_outputs();
    step.device = node.requested_device();
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge;
      TF_RETURN_IF_ERROR(node.input_edge(i, &edge));
      TF_ASSIGN_OR_RETURN(const EagerSource source, Source(edge->src(), edge->src_output()));
      step.inputs.push_back(source);
    }
    step.attrs.Reset(node.type_string().c_str());
    for (const auto& [name, value] : node.def().attr()) {
      // The shapes and places of nodes in a graph.
      if (name != "_output_shapes" && name != "_class") step.attrs.Set(name, value);
    }
    step.attrs.NumInputs(node.num_inputs());
    steps_.emplace(&node, EagerSource{EagerSource::kStep, static_cast<int>(steps->size())});
    steps->push_back(std::move(step));
    return absl::OkStatus();
  }

  // Gives the context the functions that the gradient made.
  absl::Status AddFunctions() {
    for (const std::string& name : graph_->flib_def().ListFunctionNames()) {
      if (context_->FuncLibDef()->Contains(name)) continue;
      TF_RETURN_IF_ERROR(context_->AddFunctionDef(*graph_->flib_def().Find(name)));
    }
    return absl::OkStatus();
  }

  EagerContext* const context_;
  const std::vector<EagerInput>& inputs_;
  const bool has_functions_;
  std::unique_ptr<Graph> graph_;
  tensorflow::ShapeRefiner shapes_;
  Node* forward_ = nullptr;
  tensorflow::ops::GradFunc gradient_ = nullptr;
  std::map<const Node*, EagerSource> tensors_, steps_;
  // Identities, which need no step.
  std::map<const Node*, EagerSource> same_;
  std::shared_ptr<EagerPlan> plan_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const EagerPlan>> MakeEagerPlan(
    EagerContext* context, const NodeDef& forward, const std::vector<EagerInput>& inputs,
    bool has_functions, const std::vector<bool>& wanted, int orders) {
  return Planner(context, inputs, has_functions).Make(forward, wanted, orders);
}

}  // namespace tensorflow_ext
