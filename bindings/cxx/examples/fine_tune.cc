// Trains a SavedModel further, such as one that Keras exported. It trains the signature "train" if
// there is one, and otherwise "serving_default".
//
//   fine_tune MODEL DATA BATCH RATE [SAVED]
//
// MODEL is the folder of the SavedModel. The trained one goes to the folder SAVED, or to MODEL,
// whose variables it overwrites. DATA is a folder with the training data of all steps as raw
// values: x, floats, and labels, 32-bit integers. BATCH is the number of examples per step, RATE
// the learning rate. Prints the loss of each step.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/cc/ops/nn_ops.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"
#include "tensorflow_ext/minimize.h"
#include "tensorflow_ext/trainable_model.h"

namespace {

namespace ops = tensorflow::ops;
using tensorflow::Output;
using tensorflow::Tensor;

// Opens a file of values of 4 bytes, and counts them.
absl::Status Open(const std::string& path, std::ifstream* file, int64_t* count) {
  file->open(path, std::ios::binary | std::ios::ate);
  if (!*file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  *count = file->tellg() / 4;
  file->seekg(0);
  return absl::OkStatus();
}

// Fills a tensor with the next values of a file.
void Read(std::ifstream* file, Tensor* tensor) {
  file->read(static_cast<char*>(tensor->data()), static_cast<int64_t>(tensor->TotalBytes()));
}

absl::Status FineTune(const std::string& folder, const std::string& data, int64_t batch, float rate,
                      const std::string& saved) {
  const tensorflow::Scope root = tensorflow::Scope::NewRootScope();
  tensorflow_ext::TrainableModel model;
  TF_RETURN_IF_ERROR(tensorflow_ext::TrainableModel::Load(folder, "", root, &model));
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    return absl::InvalidArgumentError("expected a signature with one input and one output");
  }
  const Output input = model.inputs.begin()->second, logits = model.outputs.begin()->second;
  const tensorflow::Scope scope = root.NewSubScope("fine_tune");
  const Output labels = ops::Placeholder(scope, tensorflow::DT_INT32);
  const ops::SparseSoftmaxCrossEntropyWithLogits losses(scope, logits, labels);
  const Output loss = ops::Mean(scope, losses.loss, 0);
  tensorflow_ext::SGD sgd;
  sgd.learning_rate = rate;
  tensorflow_ext::TrainingStep training;
  TF_RETURN_IF_ERROR(tensorflow_ext::Minimize(scope, loss, model.variables, sgd, &training));

  tensorflow::GraphDef graph;
  TF_RETURN_IF_ERROR(scope.ToGraphDef(&graph));
  const std::unique_ptr<tensorflow::Session> session(tensorflow::NewSession({}));
  TF_RETURN_IF_ERROR(session->Create(graph));
  TF_RETURN_IF_ERROR(model.Restore(session.get()));
  TF_RETURN_IF_ERROR(session->Run({}, {}, {training.initialize.node()->name()}, nullptr));

  tensorflow::PartialTensorShape partial;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(input.node()->attrs(), "shape", &partial));
  if (partial.dims() > 0) partial.set_dim(0, batch);
  tensorflow::TensorShape shape;
  if (!partial.AsTensorShape(&shape)) {
    return absl::InvalidArgumentError("expected an input of known size, except the batch");
  }
  Tensor x_batch(tensorflow::DT_FLOAT, shape), label_batch(tensorflow::DT_INT32, {batch});
  std::ifstream x, expected;
  int64_t floats = 0, examples = 0;
  TF_RETURN_IF_ERROR(Open(data + "/x", &x, &floats));
  TF_RETURN_IF_ERROR(Open(data + "/labels", &expected, &examples));
  const int64_t size = shape.num_elements() / batch;
  if (floats != examples * size || examples % batch != 0) {
    return absl::InvalidArgumentError(absl::StrCat("x has ", floats, " floats for ", examples,
                                                   " labels; expected ", size,
                                                   " for each, and whole batches of ", batch));
  }
  for (; examples > 0; examples -= batch) {
    Read(&x, &x_batch);
    Read(&expected, &label_batch);
    std::vector<Tensor> fetched;
    TF_RETURN_IF_ERROR(session->Run({{input.name(), x_batch}, {labels.name(), label_batch}},
                                    {loss.name()}, {training.step.node()->name()}, &fetched));
    std::printf("%.9g\n", fetched[0].scalar<float>()());
    std::fflush(stdout);
  }
  return model.Save(session.get(), saved);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t batch = argc > 3 ? std::atoll(argv[3]) : 0;
  if (argc < 5 || argc > 6 || batch < 1) {
    std::fprintf(stderr, "usage: fine_tune MODEL DATA BATCH RATE [SAVED]\n");
    return 2;
  }
  const absl::Status status =
      FineTune(argv[1], argv[2], batch, std::strtof(argv[4], nullptr), argv[argc == 6 ? 5 : 1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "fine_tune: %s\n", status.ToString().c_str());
  return 1;
}
