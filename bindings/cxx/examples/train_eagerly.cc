// Trains a network on handwritten digits in eager mode, and prints the loss of each step.
//
//   zcat examples/digits.csv.gz | train_eagerly
//
// A line of the input is an image, 64 grey values up to 16, and its digit.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/core/platform/statusor.h"
#include "tensorflow_ext/gradient_tape.h"

namespace {

using tensorflow_ext::EagerTensor;
using tensorflow_ext::GradientTape;

constexpr int kImages = 256, kPixels = 64, kHidden = 32, kDigits = 10, kSteps = 200;
constexpr double kRate = 0.5;

template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

// Runs eager ops.
class Eager {
 public:
  absl::Status Start() {
    const Owned<TFE_ContextOptions> options(TFE_NewContextOptions(), TFE_DeleteContextOptions);
    context_.reset(TFE_NewContext(options.get(), status_.get()));
    return Status();
  }

  TFE_Context* context() const { return context_.get(); }

  template <TF_DataType type, typename T>
  absl::StatusOr<EagerTensor> NewTensor(const std::vector<int64_t>& shape,
                                        const std::vector<T>& values) {
    const Owned<TF_Tensor> tensor(
        TF_AllocateTensor(type, shape.data(), shape.size(), values.size() * sizeof(T)),
        TF_DeleteTensor);
    std::copy(values.begin(), values.end(), static_cast<T*>(TF_TensorData(tensor.get())));
    EagerTensor handle(TFE_NewTensorHandle(tensor.get(), status_.get()));
    TF_RETURN_IF_ERROR(Status());
    return handle;
  }

  // The first output of an op, null if it has none.
  absl::StatusOr<EagerTensor> Run(
      const char* type, const std::vector<TFE_TensorHandle*>& inputs,
      const std::function<void(TFE_Op*)>& set_attributes = [](TFE_Op*) {}) {
    const Owned<TFE_Op> op(TFE_NewOp(context(), type, status_.get()), TFE_DeleteOp);
    TF_RETURN_IF_ERROR(Status());
    set_attributes(op.get());
    for (TFE_TensorHandle* input : inputs) {
      TFE_OpAddInput(op.get(), input, status_.get());
      TF_RETURN_IF_ERROR(Status());
    }
    TFE_TensorHandle* outputs[2] = {nullptr, nullptr};
    int count = 2;
    TFE_Execute(op.get(), outputs, &count, status_.get());
    TF_RETURN_IF_ERROR(Status());
    const EagerTensor second(outputs[1]);
    return EagerTensor(outputs[0]);
  }

  // The handle of a variable that starts with sin(1) / 5, sin(2) / 5, ...
  absl::StatusOr<EagerTensor> NewVariable(const std::string& name, int64_t rows, int64_t columns) {
    std::vector<double> start(rows * columns);
    for (size_t i = 0; i < start.size(); ++i) start[i] = std::sin(i + 1) / 5;
    TF_ASSIGN_OR_RETURN(EagerTensor variable, Run("VarHandleOp", {}, [&](TFE_Op* op) {
                          TFE_OpSetAttrType(op, "dtype", TF_DOUBLE);
                          TFE_OpSetAttrString(op, "shared_name", name.data(), name.size());
                          const int64_t shape[] = {rows, columns};
                          TFE_OpSetAttrShape(op, "shape", shape, 2, status_.get());
                        }));
    TF_ASSIGN_OR_RETURN(const EagerTensor value, NewTensor<TF_DOUBLE>({rows, columns}, start));
    TF_RETURN_IF_ERROR(Run("AssignVariableOp", {variable.get(), value.get()}).status());
    return variable;
  }

  absl::StatusOr<EagerTensor> Read(const EagerTensor& variable) {
    return Run("ReadVariableOp", {variable.get()},
               [](TFE_Op* op) { TFE_OpSetAttrType(op, "dtype", TF_DOUBLE); });
  }

  absl::StatusOr<double> ValueOf(const EagerTensor& scalar) {
    const Owned<TF_Tensor> value(TFE_TensorHandleResolve(scalar.get(), status_.get()),
                                 TF_DeleteTensor);
    TF_RETURN_IF_ERROR(Status());
    return *static_cast<const double*>(TF_TensorData(value.get()));
  }

 private:
  absl::Status Status() const {
    return absl::Status(static_cast<absl::StatusCode>(TF_GetCode(status_.get())),
                        TF_Message(status_.get()));
  }

  const Owned<TF_Status> status_{TF_NewStatus(), TF_DeleteStatus};
  Owned<TFE_Context> context_{nullptr, TFE_DeleteContext};
};

absl::Status Train() {
  std::vector<double> greys;
  std::vector<int32_t> labels;
  for (int i = 0, number; i < kImages * (kPixels + 1); ++i) {
    if (std::scanf("%d,", &number) != 1) return absl::InvalidArgumentError("expected more images");
    if (i % (kPixels + 1) < kPixels) {
      greys.push_back(number / 16.0);
    } else {
      labels.push_back(number);
    }
  }
  Eager eager;
  TF_RETURN_IF_ERROR(eager.Start());
  TF_ASSIGN_OR_RETURN(const EagerTensor images,
                      eager.NewTensor<TF_DOUBLE>({kImages, kPixels}, greys));
  TF_ASSIGN_OR_RETURN(const EagerTensor digits, eager.NewTensor<TF_INT32>({kImages}, labels));
  TF_ASSIGN_OR_RETURN(const EagerTensor rate,
                      eager.NewTensor<TF_DOUBLE>({}, std::vector<double>{kRate}));
  TF_ASSIGN_OR_RETURN(const EagerTensor axis,
                      eager.NewTensor<TF_INT32>({}, std::vector<int32_t>{0}));
  TF_ASSIGN_OR_RETURN(const EagerTensor first, eager.NewVariable("first", kPixels, kHidden));
  TF_ASSIGN_OR_RETURN(const EagerTensor second, eager.NewVariable("second", kHidden, kDigits));

  for (int step = 0; step < kSteps; ++step) {
    TF_ASSIGN_OR_RETURN(GradientTape tape, GradientTape::New(eager.context()));
    TF_ASSIGN_OR_RETURN(const EagerTensor w1, eager.Read(first));
    TF_ASSIGN_OR_RETURN(const EagerTensor w2, eager.Read(second));
    TF_ASSIGN_OR_RETURN(const EagerTensor product, eager.Run("MatMul", {images.get(), w1.get()}));
    TF_ASSIGN_OR_RETURN(const EagerTensor hidden, eager.Run("Relu", {product.get()}));
    TF_ASSIGN_OR_RETURN(const EagerTensor logits, eager.Run("MatMul", {hidden.get(), w2.get()}));
    TF_ASSIGN_OR_RETURN(const EagerTensor losses, eager.Run("SparseSoftmaxCrossEntropyWithLogits",
                                                            {logits.get(), digits.get()}));
    TF_ASSIGN_OR_RETURN(const EagerTensor loss, eager.Run("Mean", {losses.get(), axis.get()}));

    const GradientTape::Handles weights = {first.get(), second.get()};
    TF_ASSIGN_OR_RETURN(const auto gradients, tape.Gradient({loss.get()}, weights));
    for (size_t i = 0; i < weights.size(); ++i) {
      TF_RETURN_IF_ERROR(
          eager.Run("ResourceApplyGradientDescent", {weights[i], rate.get(), gradients[i].get()})
              .status());
    }
    TF_ASSIGN_OR_RETURN(const double value, eager.ValueOf(loss));
    std::printf("%.17g\n", value);
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Train();
  if (status.ok()) return 0;
  std::fprintf(stderr, "train_eagerly: %s\n", status.ToString().c_str());
  return 1;
}
