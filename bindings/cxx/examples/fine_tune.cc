// SPDX-License-Identifier: Apache-2.0
//
// Trains a SavedModel further, in C++: the same as bindings/c/examples/fine_tune.c, with Scope
// and Minimize.
//
//   fine_tune MODEL DATA BATCH RATE [calls]
//
// The arguments are those of bindings/c/examples/main.c. Prints the loss of each step.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/cc/ops/nn_ops.h"
#include "tensorflow/cc/saved_model/reader.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/inline_calls.h"
#include "tensorflow_ext/minimize.h"
#include "tensorflow_ext/saved_model/describe_meta_graph.h"
#include "tensorflow_ext/use_model_gradients.h"

namespace {

namespace ops = tensorflow::ops;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;

class FineTune {
 public:
  // Reads the model, adds a step of gradient descent to its graph and creates a session for the
  // whole graph, with the model's variables.
  absl::Status Load(const std::string& model, float rate, bool inlined) {
    TF_RETURN_IF_ERROR(tensorflow::ReadMetaGraphDefFromSavedModel(model, {"serve"}, &meta_graph_));
    const Scope scope = Scope::NewRootScope();
    TF_RETURN_IF_ERROR(tensorflow::ImportGraphDef({}, meta_graph_.graph_def(), scope.graph(),
                                                  /*refiner=*/nullptr));
    TF_RETURN_IF_ERROR(tensorflow_ext::UseModelGradients(scope, meta_graph_));
    for (tensorflow::Node* node : scope.graph()->op_nodes()) {
      TF_RETURN_IF_ERROR(scope.DoShapeInference(node));
    }
    Output logits;
    TF_RETURN_IF_ERROR(ReadSignature(scope, &logits));
    std::vector<Output> variables;
    TF_RETURN_IF_ERROR(FindVariables(*scope.graph(), &variables));
    if (inlined) {
      std::vector<Output> bodies;
      TF_RETURN_IF_ERROR(tensorflow_ext::InlineCalls(scope, {logits}, &bodies));
      logits = bodies[0];
    }
    TF_RETURN_IF_ERROR(AddStep(scope.NewSubScope("fine_tune"), logits, variables, rate));
    tensorflow::GraphDef graph;
    TF_RETURN_IF_ERROR(scope.ToGraphDef(&graph));
    session_.reset(tensorflow::NewSession({}));
    TF_RETURN_IF_ERROR(session_->Create(graph));
    const tensorflow::SaverDef& saver = meta_graph_.saver_def();
    return session_->Run({{saver.filename_tensor_name(), Prefix(model)}}, {},
                         {saver.restore_op_name(), initialize_}, nullptr);
  }

  // The shape of an input of `batch` examples.
  tensorflow::TensorShape Shape(int64_t batch) const {
    tensorflow::TensorShape shape({batch});
    for (int i = 1; i < input_.tensor_shape().dim_size(); ++i) {
      shape.AddDim(input_.tensor_shape().dim(i).size());
    }
    return shape;
  }

  absl::Status Step(const Tensor& x, const Tensor& labels, float* loss) {
    std::vector<Tensor> fetched;
    TF_RETURN_IF_ERROR(
        session_->Run({{input_.name(), x}, {labels_, labels}}, {loss_}, {step_}, &fetched));
    *loss = fetched[0].scalar<float>()();
    return absl::OkStatus();
  }

  // Writes the variables into the model's folder by its own saver.
  absl::Status Save(const std::string& model) {
    TF_RETURN_IF_ERROR(session_->Run({}, {}, copies_, nullptr));
    const tensorflow::SaverDef& saver = meta_graph_.saver_def();
    std::vector<Tensor> written;
    return session_->Run({{saver.filename_tensor_name(), Prefix(model)}},
                         {saver.save_tensor_name()}, {}, &written);
  }

 private:
  // The path prefix of the variables' files.
  static Tensor Prefix(const std::string& model) {
    return Tensor(tensorflow::tstring(absl::StrCat(model, "/variables/variables")));
  }

  absl::Status ReadSignature(const Scope& scope, Output* logits) {
    const auto& signatures = meta_graph_.signature_def();
    auto found = signatures.find("train");
    if (found == signatures.end()) found = signatures.find("serving_default");
    if (found == signatures.end() || found->second.inputs_size() != 1 ||
        found->second.outputs_size() != 1) {
      return absl::InvalidArgumentError(
          "expected a signature train or serving_default with one input and one output");
    }
    signature_ = found->first;
    input_ = found->second.inputs().begin()->second;
    const tensorflow::TensorId id =
        tensorflow::ParseTensorName(found->second.outputs().begin()->second.name());
    const auto nodes = scope.graph()->BuildNodeNameIndex();
    const auto node = nodes.find(std::string(id.node()));
    if (node == nodes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the graph lacks the signature's ", id.ToString()));
    }
    *logits = Output(node->second, id.index());
    return absl::OkStatus();
  }

  // Finds the handles of the signature's trainable variables, and the copies that come before a
  // save: Keras exports each variable twice.
  absl::Status FindVariables(const tensorflow::Graph& graph, std::vector<Output>* trainable) {
    const std::string bytes = meta_graph_.SerializeAsString();
    const std::unique_ptr<TF_Buffer, decltype(&TF_DeleteBuffer)> meta_graph(
        TF_NewBufferFromString(bytes.data(), bytes.size()), TF_DeleteBuffer),
        lines(TF_NewBuffer(), TF_DeleteBuffer);
    const std::unique_ptr<TF_Status, decltype(&TF_DeleteStatus)> status(TF_NewStatus(),
                                                                        TF_DeleteStatus);
    TfExt_DescribeMetaGraph(meta_graph.get(), lines.get(), status.get());
    TF_RETURN_IF_ERROR(tensorflow::StatusFromTF_Status(status.get()));
    const auto nodes = graph.BuildNodeNameIndex();
    const absl::string_view text(static_cast<const char*>(lines->data), lines->length);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const std::vector<std::string> field = absl::StrSplit(line, '\t');
      if (field[0] == "saver" && field[1] == "copy") copies_.push_back(field[2]);
      if (field.size() == 7 && field[1] == signature_ && field[6] == "trainable") {
        trainable->emplace_back(nodes.find(field[3])->second);
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddStep(const Scope& scope, const Output& logits,
                       const std::vector<Output>& variables, float rate) {
    if (variables.empty()) {
      return absl::InvalidArgumentError("the model has no trainable variable");
    }
    const Output labels = ops::Placeholder(scope, tensorflow::DT_INT32);
    const ops::SparseSoftmaxCrossEntropyWithLogits losses(scope, logits, labels);
    const Output loss = ops::Mean(scope, losses.loss, 0);
    tensorflow_ext::SGD sgd;
    sgd.learning_rate = rate;
    tensorflow_ext::TrainingStep training;
    TF_RETURN_IF_ERROR(tensorflow_ext::Minimize(scope, loss, variables, sgd, &training));
    initialize_ = training.initialize.node()->name();
    step_ = training.step.node()->name();
    labels_ = labels.name();
    loss_ = loss.name();
    return scope.status();
  }

  tensorflow::MetaGraphDef meta_graph_;
  std::unique_ptr<tensorflow::Session> session_;
  tensorflow::TensorInfo input_;
  std::string signature_, labels_, loss_, initialize_, step_;
  std::vector<std::string> copies_;
};

// Reads a file of raw values.
template <typename T>
absl::Status Read(const std::string& path, std::vector<T>* values) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || bytes.size() % sizeof(T) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a file of values of ", sizeof(T), " bytes"));
  }
  values->resize(bytes.size() / sizeof(T));
  std::memcpy(values->data(), bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status Run(const std::string& model, const std::string& data, int64_t batch, float rate,
                 bool inlined) {
  std::vector<float> x;
  std::vector<int32_t> labels;
  TF_RETURN_IF_ERROR(Read(data + "/x", &x));
  TF_RETURN_IF_ERROR(Read(data + "/labels", &labels));
  FineTune training;
  TF_RETURN_IF_ERROR(training.Load(model, rate, inlined));
  const int64_t features = training.Shape(1).num_elements();
  const int64_t examples = labels.size();
  if (static_cast<int64_t>(x.size()) != examples * features || examples % batch != 0) {
    return absl::InvalidArgumentError(absl::StrCat("x has ", x.size(), " floats for ", examples,
                                                   " labels; expected ", features,
                                                   " for each, and whole batches of ", batch));
  }
  Tensor x_batch(tensorflow::DT_FLOAT, training.Shape(batch));
  Tensor label_batch(tensorflow::DT_INT32, {batch});
  for (int64_t i = 0; i < examples; i += batch) {
    std::copy_n(&x[i * features], batch * features, x_batch.flat<float>().data());
    std::copy_n(&labels[i], batch, label_batch.flat<int32_t>().data());
    float loss = 0;
    TF_RETURN_IF_ERROR(training.Step(x_batch, label_batch, &loss));
    std::printf("%.9g\n", loss);
    std::fflush(stdout);
  }
  return training.Save(model);
}

}  // namespace

int main(int argc, char** argv) {
  const bool calls = argc == 6 && absl::string_view(argv[5]) == "calls";
  const int64_t batch = argc > 3 ? std::atoll(argv[3]) : 0;
  if (argc < 5 || argc > 5 + calls || batch < 1) {
    std::fprintf(stderr, "usage: fine_tune MODEL DATA BATCH RATE [calls]\n");
    return 2;
  }
  const absl::Status status = Run(argv[1], argv[2], batch, std::strtof(argv[4], nullptr), !calls);
  if (status.ok()) return 0;
  std::fprintf(stderr, "fine_tune: %s\n", status.ToString().c_str());
  return 1;
}
