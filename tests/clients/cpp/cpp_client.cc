// SPDX-License-Identifier: Apache-2.0
//
// A client in C++: builds a graph for every case in a Scope, differentiates it
// with AddSymbolicGradients, and that graph once more for the second order, and
// runs it in a session. (The wheel has no ClientSession: NewSession and
// GraphDef do the same.)
//
//   cpp_client [--tsv] [--quick] [--type=TYPE] [--case=TEXT] LIBRARY CASES...

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tensorflow/c/c_api.h"
#include "tensorflow/cc/framework/gradients.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow/core/public/session.h"
#include "tests/clients/harness/check.h"

namespace {

using tensorflow::DataType;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;
using tensorflow::Scope;

tensorflow::TensorShape ShapeOf(int rank, const int64_t* dims) {
  tensorflow::TensorShape shape;
  for (int i = 0; i < rank; ++i) shape.AddDim(dims[i]);
  return shape;
}

tensorflow::Tensor ToTensorFlow(const Tensor& tensor) {
  tensorflow::Tensor result(static_cast<DataType>(tensor.dtype),
                            ShapeOf(tensor.rank, tensor.dims));
  if (tensor.size > 0) EncodeValues(&tensor, result.data());
  return result;
}

Tensor FromTensorFlow(const tensorflow::Tensor& tensor) {
  std::vector<int64_t> dims;
  for (int i = 0; i < tensor.dims(); ++i) dims.push_back(tensor.dim_size(i));
  Tensor result = NewTensor(static_cast<TF_DataType>(tensor.dtype()),
                            tensor.dims(), dims.data());
  if (result.size > 0) DecodeValues(tensor.data(), &result);
  return result;
}

class Graph {
 public:
  Graph(const Case& c, const BuildOptions& options)
      : case_(c), options_(options), scope_(Scope::NewRootScope()) {
    AddOp();
    if (scope_.ok() && options.gradients) AddGradients();
    if (scope_.ok() && options.second) AddSecond();
    if (scope_.ok() && options.chains) {
      reference_ = AddChain("reference", c.reference);
      if (options.type == TF_DOUBLE) loss_ = AddChain("loss", c.loss);
    }
    if (scope_.ok()) scope_.UpdateStatus(OpenSession());
  }

  absl::Status status() const { return scope_.status(); }

  Output Find(Slot slot) const {
    switch (slot.kind) {
      case kInput:
        return At(inputs_, slot.index);
      case kUpstream:
        return At(upstreams_, slot.index);
      case kWeight:
        return At(weights_, slot.index);
      case kOutput:
        return At(outputs_, slot.index);
      case kGradient:
        return At(gradients_, slot.index);
      case kSecond:
        return At(second_, slot.index);
      case kReference:
        return reference_;
      default:
        return loss_;
    }
  }

  absl::Status Run(
      const std::vector<std::pair<std::string, tensorflow::Tensor>>& feeds,
      const std::vector<std::string>& fetches,
      std::vector<tensorflow::Tensor>* results) const {
    return session_->Run(feeds, fetches, {}, results);
  }

 private:
  static Output At(const std::vector<Output>& outputs, int index) {
    return index < static_cast<int>(outputs.size()) ? outputs[index]
                                                    : Output(nullptr, -1);
  }

  Node* Finish(NodeBuilder* builder) {
    Node* node = nullptr;
    if (!scope_.ok()) return node;
    scope_.UpdateBuilder(builder);
    scope_.UpdateStatus(builder->Finalize(scope_.graph(), &node));
    if (scope_.ok()) scope_.UpdateStatus(scope_.DoShapeInference(node));
    return node;
  }

  Output Placeholder(const std::string& name, DataType dtype,
                     const InputSpec* shape) {
    auto attrs = tensorflow::ops::Placeholder::Attrs();
    if (shape != nullptr) {
      attrs = attrs.Shape(ShapeOf(shape->rank, shape->dims));
    }
    return tensorflow::ops::Placeholder(scope_.WithOpName(name), dtype, attrs);
  }

  void AddOp() {
    std::vector<NodeBuilder::NodeOut> nodes;
    for (int i = 0; i < case_.input_count; ++i) {
      auto dtype = static_cast<DataType>(InputType(&case_, i, options_.type));
      inputs_.push_back(Placeholder(
          "input", dtype, options_.known_shapes ? &case_.inputs[i] : nullptr));
      if (!scope_.ok()) return;
      nodes.emplace_back(inputs_.back().node());
    }
    NodeBuilder builder("op", case_.op);
    for (int i = 0; i < case_.input_count;) {
      int end = i + 1;
      while (case_.inputs[i].in_list && end < case_.input_count &&
             std::string(case_.inputs[end].argument) ==
                 case_.inputs[i].argument) {
        ++end;
      }
      if (case_.inputs[i].in_list) {
        builder.Input(absl::MakeConstSpan(nodes).subspan(i, end - i));
      } else {
        builder.Input(nodes[i]);
      }
      i = end;
    }
    for (int i = 0; i < case_.attr_count; ++i) {
      SetAttr(case_.attrs[i], &builder);
    }
    Node* op = Finish(&builder);
    if (!scope_.ok()) return;
    for (int i = 0; i < op->num_outputs(); ++i) outputs_.emplace_back(op, i);
  }

  void SetAttr(const AttrSpec& attr, NodeBuilder* builder) const {
    switch (attr.kind) {
      case AttrSpec::kAttrInt:
        builder->Attr(attr.name, attr.i);
        break;
      case AttrSpec::kAttrFloat:
        builder->Attr(attr.name, static_cast<float>(attr.f));
        break;
      case AttrSpec::kAttrBool:
        builder->Attr(attr.name, attr.i != 0);
        break;
      case AttrSpec::kAttrString:
        builder->Attr(attr.name, attr.s);
        break;
      case AttrSpec::kAttrType:
        builder->Attr(attr.name,
                      static_cast<DataType>(TypeOf(&attr.type, options_.type)));
        break;
    }
  }

  Output Argument(const std::string& argument, const std::vector<Output>& nodes,
                  const Chain& chain) {
    if (argument == "upstream") return upstreams_[0];
    for (int i = 0; i < case_.input_count; ++i) {
      if (argument == case_.inputs[i].argument) return inputs_[i];
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (argument == chain.nodes[i].name) return nodes[i];
    }
    Tensor scalar = NewTensor(options_.type, 0, nullptr);
    scalar.values[0] = std::strtod(argument.c_str(), nullptr);
    Output constant = tensorflow::ops::Const(
        scope_, tensorflow::Input::Initializer(ToTensorFlow(scalar)));
    FreeTensor(&scalar);
    return constant;
  }

  Output AddChain(const std::string& prefix, const Chain& chain) {
    std::vector<Output> nodes;
    for (int i = 0; i < chain.count && scope_.ok(); ++i) {
      const NodeSpec& node = chain.nodes[i];
      NodeBuilder builder(scope_.GetUniqueNameForOp(prefix), node.op);
      for (int k = 0; k < node.argument_count; ++k) {
        Output argument = Argument(node.arguments[k], nodes, chain);
        if (!scope_.ok()) return Output(nullptr, -1);
        builder.Input(argument.node(), argument.index());
      }
      nodes.emplace_back(Finish(&builder), 0);
    }
    return nodes.empty() ? Output(nullptr, -1) : nodes.back();
  }

  // Differentiates the floating outputs, or all outputs when none is.
  void AddGradients() {
    bool floating = std::any_of(outputs_.begin(), outputs_.end(), [](Output y) {
      return DataTypeIsFloating(y.type());
    });
    std::vector<Output> y;
    std::vector<Output> dy;
    for (int i = 0; i < static_cast<int>(outputs_.size()); ++i) {
      upstreams_.emplace_back(nullptr, -1);
      DataType dtype = outputs_[i].type();
      if (case_.upstreams[i].kind == Values::kNone) continue;
      if (floating && !DataTypeIsFloating(dtype)) continue;
      upstreams_.back() = Placeholder("upstream", dtype, nullptr);
      y.push_back(outputs_[i]);
      dy.push_back(upstreams_.back());
    }
    scope_.UpdateStatus(
        AddSymbolicGradients(scope_, y, inputs_, dy, &gradients_));
  }

  // AddSymbolicGradients refuses, for all of them, a source that no output
  // depends on.
  void AddSecond() {
    std::vector<Output> y;
    std::vector<Output> dy;
    std::unordered_set<const Node*> reachable;
    for (Output gradient : gradients_) {
      weights_.emplace_back(nullptr, -1);
      if (gradient.node() == nullptr) continue;
      weights_.back() = Placeholder("weight", gradient.type(), nullptr);
      y.push_back(gradient);
      dy.push_back(weights_.back());
      ReverseDFSFrom(
          *scope_.graph(), {gradient.node()},
          [&](Node* node) { reachable.insert(node); }, nullptr);
    }
    std::vector<Output> sources = inputs_;
    sources.insert(sources.end(), upstreams_.begin(), upstreams_.end());
    second_.assign(sources.size(), Output(nullptr, -1));
    std::vector<Output> x;
    std::vector<size_t> slots;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (reachable.count(sources[i].node()) == 0) continue;
      x.push_back(sources[i]);
      slots.push_back(i);
    }
    if (!scope_.ok() || x.empty()) return;
    std::vector<Output> dx;
    scope_.UpdateStatus(AddSymbolicGradients(scope_, y, x, dy, &dx));
    if (!scope_.ok()) return;
    for (size_t k = 0; k < x.size(); ++k) second_[slots[k]] = dx[k];
  }

  absl::Status OpenSession() {
    tensorflow::GraphDef graph;
    TF_RETURN_IF_ERROR(scope_.ToGraphDef(&graph));
    session_.reset(tensorflow::NewSession(tensorflow::SessionOptions()));
    return session_->Create(graph);
  }

  const Case& case_;
  const BuildOptions options_;
  Scope scope_;
  std::unique_ptr<tensorflow::Session> session_;
  // A node of nullptr: there is none.
  std::vector<Output> inputs_, outputs_, upstreams_, gradients_, weights_,
      second_;
  Output reference_ = Output(nullptr, -1);
  Output loss_ = Output(nullptr, -1);
};

void SetStatus(const absl::Status& from, TF_Status* to) {
  TF_SetStatus(to, static_cast<TF_Code>(from.code()),
               std::string(from.message()).c_str());
}

void Load(const char* library, TF_Status* status) {
  TF_Library* handle = TF_LoadLibrary(library, status);
  if (handle != nullptr) TF_DeleteLibraryHandle(handle);
}

void* Build(const Case* c, const BuildOptions* options, TF_Status* status) {
  auto graph = std::make_unique<Graph>(*c, *options);
  SetStatus(graph->status(), status);
  return graph->status().ok() ? graph.release() : nullptr;
}

bool Has(void* graph, Slot slot) {
  return static_cast<Graph*>(graph)->Find(slot).node() != nullptr;
}

void Run(void* graph, const Feed* feeds, int feed_count, const Slot* fetches,
         int fetch_count, Tensor* results, TF_Status* status) {
  auto* g = static_cast<Graph*>(graph);
  std::vector<std::pair<std::string, tensorflow::Tensor>> fed;
  for (int i = 0; i < feed_count; ++i) {
    fed.emplace_back(g->Find(feeds[i].slot).name(),
                     ToTensorFlow(*feeds[i].tensor));
  }
  std::vector<std::string> fetched;
  for (int i = 0; i < fetch_count; ++i) {
    fetched.push_back(g->Find(fetches[i]).name());
  }
  std::vector<tensorflow::Tensor> tensors;
  absl::Status run = g->Run(fed, fetched, &tensors);
  SetStatus(run, status);
  for (int i = 0; run.ok() && i < fetch_count; ++i) {
    results[i] = FromTensorFlow(tensors[i]);
  }
}

void Free(void* graph) { delete static_cast<Graph*>(graph); }

}  // namespace

int main(int argc, char** argv) {
  const Client client = {"C++", Load, Build, Has, Run, Free};
  return RunCases(&client, argc, argv);
}
