// Trains the network of network.py from C++: the graph is built with Scope, differentiated and
// trained by Minimize and run in a session. Its initial values are those of Keras. Python prepares
// the data; nothing of its gradients is used.
//
//   train_digits LIBRARY FOLDER
//
// LIBRARY is libtensorflow_ext.so, which this program links. FOLDER holds files that programs.py
// writes, each a `tensor` of the protocol of tests/clients/README.md: the batches (x, label,
// domain, with a leading axis of steps), the test set (test_x, test_label) and the settings
// (settings: learning rate, momentum, levels, reverse scale). Prints the loss of each step; writes
// the accuracy on the test set there (accuracy).

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/cc/ops/nn_ops.h"
#include "tensorflow/cc/ops/resource_variable_ops.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/cc/ops.h"
#include "tensorflow_ext/minimize.h"

namespace {

namespace ops = tensorflow::ops;
namespace ext = tensorflow_ext::ops;
namespace init = tensorflow_ext::initializers;
using tensorflow::DT_DOUBLE;
using tensorflow::DT_INT32;
using tensorflow::Output;
using tensorflow::Scope;
using tensorflow::Tensor;

absl::Status Read(const std::string& file, Tensor* tensor) {
  std::ifstream stream(file, std::ios::binary);
  const auto read_int = [&] {
    int64_t value = -1;
    stream.read(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  };
  const int64_t type = read_int();
  tensorflow::TensorShape shape;
  for (int64_t rank = read_int(); stream && rank > 0; --rank) {
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(read_int()));
  }
  const int64_t size = read_int();
  if (stream && (type == DT_DOUBLE || type == DT_INT32)) {
    *tensor = Tensor(static_cast<tensorflow::DataType>(type), shape);
    if (size == static_cast<int64_t>(tensor->TotalBytes())) {
      stream.read(static_cast<char*>(tensor->data()), size);
      if (stream) return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      file + ": expected a tensor of type double or int32; programs.py writes it");
}

absl::Status Write(const std::string& file, double value) {
  std::ofstream stream(file, std::ios::binary);
  for (const int64_t header : {int64_t{DT_DOUBLE}, int64_t{0}, int64_t{8}}) {
    stream.write(reinterpret_cast<const char*>(&header), sizeof(header));
  }
  stream.write(reinterpret_cast<const char*>(&value), sizeof(value));
  if (!stream.flush()) return absl::InternalError(file + ": cannot be written");
  return absl::OkStatus();
}

// Names of the tensors and operations that the session feeds and fetches.
struct Names {
  std::vector<std::string> initializers;
  std::string step, x, label, domain, loss, predictions;
};

class Trainer {
 public:
  explicit Trainer(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Run() {
    TF_RETURN_IF_ERROR(Load("settings"));
    for (const char* name : {"x", "label", "domain", "test_x", "test_label"}) {
      TF_RETURN_IF_ERROR(Load(name));
    }
    Scope scope = Scope::NewRootScope();
    Names names;
    TF_RETURN_IF_ERROR(Build(scope, &names));
    tensorflow::GraphDef graph;
    TF_RETURN_IF_ERROR(scope.ToGraphDef(&graph));
    session_.reset(tensorflow::NewSession(tensorflow::SessionOptions()));
    TF_RETURN_IF_ERROR(session_->Create(graph));
    TF_RETURN_IF_ERROR(session_->Run({}, {}, names.initializers, nullptr));
    TF_RETURN_IF_ERROR(Train(names));
    return Test(names);
  }

 private:
  absl::Status Load(const std::string& name) { return Read(folder_ + "/" + name, &data_[name]); }

  double setting(int i) { return data_["settings"].flat<double>()(i); }

  // Activations with `levels` steps per unit: rounded in the forward pass, the identity in the
  // backward pass.
  Output Quantize(const Scope& scope, Output x) {
    Output levels = ops::Const(scope, setting(2));
    return ops::Div(scope, ext::RoundStraightThrough(scope, ops::Mul(scope, x, levels)), levels);
  }

  Output Dense(const Scope& scope, Output x, Output weights, Output bias) {
    return ops::BiasAdd(scope, ops::MatMul(scope, x, weights), bias);
  }

  // The mean cross-entropy, added up like in Keras.
  Output CrossEntropy(const Scope& scope, Output logits, Output labels) {
    ops::SparseSoftmaxCrossEntropyWithLogits losses(scope, logits, labels);
    return ops::Mean(scope, losses.loss, 0);
  }

  absl::Status Build(const Scope& scope, Names* names) {
    tensorflow_ext::Variables variables;
    TF_RETURN_IF_ERROR(
        tensorflow_ext::NewVariables(scope,
                                     {{"w1", DT_DOUBLE, {64, 128}, init::GlorotUniform{/*seed=*/0}},
                                      {"b1", DT_DOUBLE, {128}, init::Zeros{}},
                                      {"w2", DT_DOUBLE, {128, 64}, init::GlorotUniform{/*seed=*/1}},
                                      {"b2", DT_DOUBLE, {64}, init::Zeros{}},
                                      {"w3", DT_DOUBLE, {64, 10}, init::GlorotUniform{/*seed=*/2}},
                                      {"b3", DT_DOUBLE, {10}, init::Zeros{}},
                                      {"w4", DT_DOUBLE, {64, 2}, init::GlorotUniform{/*seed=*/3}},
                                      {"b4", DT_DOUBLE, {2}, init::Zeros{}}},
                                     &variables));
    std::vector<Output> weights;
    for (const Output& handle : variables.handles) {
      weights.push_back(ops::ReadVariableOp(scope, handle, DT_DOUBLE));
    }
    Output x = ops::Placeholder(scope.WithOpName("x"), DT_DOUBLE);
    Output label = ops::Placeholder(scope.WithOpName("label"), DT_INT32);
    Output domain = ops::Placeholder(scope.WithOpName("domain"), DT_INT32);

    Output hidden = ext::Relu(scope, Dense(scope, x, weights[0], weights[1]));
    Output features =
        Quantize(scope, ext::Relu(scope, Dense(scope, hidden, weights[2], weights[3])));
    Output logits = Dense(scope, features, weights[4], weights[5]);
    Output reversed = ext::ReverseGradient(
        scope, features, ext::ReverseGradient::Scale(static_cast<float>(setting(3))));
    Output domain_logits = Dense(scope, reversed, weights[6], weights[7]);
    Output loss = ops::Add(scope.WithOpName("loss"), CrossEntropy(scope, logits, label),
                           CrossEntropy(scope, domain_logits, domain));
    Output predictions = ops::ArgMax(scope.WithOpName("predictions"), logits, 1);

    tensorflow_ext::SGD sgd;
    sgd.learning_rate = setting(0);
    sgd.momentum = setting(1);
    tensorflow_ext::TrainingStep training;
    TF_RETURN_IF_ERROR(tensorflow_ext::Minimize(scope, loss, variables.handles, sgd, &training));
    names->initializers = {variables.initialize.node()->name(), training.initialize.node()->name()};
    names->step = training.step.node()->name();
    names->x = x.name();
    names->label = label.name();
    names->domain = domain.name();
    names->loss = loss.name();
    names->predictions = predictions.name();
    return scope.status();
  }

  absl::Status Train(const Names& names) {
    const int64_t steps = data_["x"].dim_size(0);
    for (int64_t step = 0; step < steps; ++step) {
      std::vector<Tensor> fetched;
      TF_RETURN_IF_ERROR(session_->Run({{names.x, data_["x"].SubSlice(step)},
                                        {names.label, data_["label"].SubSlice(step)},
                                        {names.domain, data_["domain"].SubSlice(step)}},
                                       {names.loss}, {names.step}, &fetched));
      std::printf("%.17g\n", fetched[0].scalar<double>()());
      std::fflush(stdout);
    }
    return absl::OkStatus();
  }

  absl::Status Test(const Names& names) {
    std::vector<Tensor> fetched;
    TF_RETURN_IF_ERROR(
        session_->Run({{names.x, data_["test_x"]}}, {names.predictions}, {}, &fetched));
    const auto predicted = fetched[0].flat<int64_t>();
    const auto expected = data_["test_label"].flat<int32_t>();
    int64_t right = 0;
    for (int64_t i = 0; i < expected.size(); ++i) {
      right += predicted(i) == expected(i);
    }
    return Write(folder_ + "/accuracy",
                 static_cast<double>(right) / static_cast<double>(expected.size()));
  }

  const std::string folder_;
  std::map<std::string, Tensor> data_;
  std::unique_ptr<tensorflow::Session> session_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: train_digits LIBRARY FOLDER\n");
    return 2;
  }
  void* library = nullptr;
  absl::Status status = tensorflow::Env::Default()->LoadDynamicLibrary(argv[1], &library);
  if (status.ok()) status = Trainer(argv[2]).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "train_digits: %s\n", status.ToString().c_str());
  return 1;
}
