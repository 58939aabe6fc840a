// SPDX-License-Identifier: Apache-2.0
//
// GradientTape of a C++ client that links libtensorflow_ext.so.

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/gradient_tape.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

template <typename T>
T Value(absl::StatusOr<T> value) {
  CheckOk(value.status());
  return *std::move(value);
}

class Eager {
 public:
  Eager() {
    TFE_ContextOptions* options = TFE_NewContextOptions();
    context_ = TFE_NewContext(options, status_.get());
    CheckOk(status_.Get());
    TFE_DeleteContextOptions(options);
  }
  ~Eager() { TFE_DeleteContext(context_); }

  TFE_Context* context() { return context_; }

  EagerTensor Scalar(double value) { return Tensor(TF_DOUBLE, {}, &value, sizeof value); }

  EagerTensor Vector(const std::vector<double>& values) {
    const int64_t size = values.size();
    return Tensor(TF_DOUBLE, {size}, values.data(), size * sizeof values[0]);
  }

  EagerTensor Ints(const std::vector<int32_t>& values) {
    const int64_t size = values.size();
    return Tensor(TF_INT32, {size}, values.data(), size * sizeof values[0]);
  }

  EagerTensor Product(const EagerTensor& x, const EagerTensor& y) { return Run("Mul", {&x, &y}); }

  EagerTensor Rows(const EagerTensor& x, const std::vector<int32_t>& ids) {
    const EagerTensor indices = Ints(ids);
    return Run("Gather", {&x, &indices});
  }

  EagerTensor Run(const char* name, const std::vector<const EagerTensor*>& inputs) {
    TFE_Op* op = TFE_NewOp(context_, name, status_.get());
    for (const EagerTensor* input : inputs) TFE_OpAddInput(op, input->get(), status_.get());
    TFE_TensorHandle* output = nullptr;
    int count = 1;
    TFE_Execute(op, &output, &count, status_.get());
    CheckOk(status_.Get());
    TFE_DeleteOp(op);
    return EagerTensor(output);
  }

  double ValueOf(const EagerTensor& tensor) { return ValuesOf<double>(tensor)[0]; }

  template <typename T>
  std::vector<T> ValuesOf(const EagerTensor& tensor) {
    TF_Tensor* value = TFE_TensorHandleResolve(tensor.get(), status_.get());
    CheckOk(status_.Get());
    const T* const first = static_cast<T*>(TF_TensorData(value));
    const std::vector<T> values(first, first + TF_TensorElementCount(value));
    TF_DeleteTensor(value);
    return values;
  }

 private:
  EagerTensor Tensor(TF_DataType type, const std::vector<int64_t>& shape, const void* values,
                     size_t bytes) {
    TF_Tensor* tensor = TF_AllocateTensor(type, shape.data(), shape.size(), bytes);
    std::memcpy(TF_TensorData(tensor), values, bytes);
    EagerTensor handle(TFE_NewTensorHandle(tensor, status_.get()));
    TF_DeleteTensor(tensor);
    return handle;
  }

  c_objects_internal::Status status_;
  TFE_Context* context_;
};

void Run() {
  Eager eager;
  const EagerTensor x = eager.Scalar(3), z = eager.Scalar(5);
  GradientTape tape = Value(GradientTape::New(eager.context(), TFEXT_TAPE_PERSISTENT));
  CheckOk(tape.Watch(x.get()));
  CheckOk(tape.Watch(z.get()));
  const EagerTensor y = eager.Product(eager.Product(x, x), z);

  const auto gradients = Value(tape.Gradient({y.get()}, {x.get(), z.get()}));
  Check(eager.ValueOf(gradients[0]) == 30, "dy/dx");
  Check(eager.ValueOf(gradients[1]) == 9, "dy/dz");
  // The persistent tape has recorded its own gradient.
  Check(eager.ValueOf(Value(tape.Gradient({gradients[0].get()}, {x.get()}))[0]) == 10, "d2y/dx2");
  Check(eager.ValueOf(Value(tape.Jacobian(y.get(), {x.get()}))[0]) == 30, "Jacobian");
  const auto derivative = Value(tape.Jvp({y.get()}, {x.get(), z.get()}, {x.get(), x.get()}));
  Check(eager.ValueOf(derivative[0]) == 3 * 30 + 3 * 9, "directional derivative");

  CheckOk(tape.Stop());
  const EagerTensor unseen = eager.Product(x, x);
  CheckOk(tape.Resume());
  Check(Value(tape.Gradient({unseen.get()}, {x.get()}))[0] == nullptr, "no gradient");
  const auto zeros = Value(tape.Gradient({unseen.get()}, {x.get()}, {}, TFEXT_UNCONNECTED_ZEROS));
  Check(eager.ValueOf(zeros[0]) == 0, "zeros");
  const absl::Status error = tape.Gradient({y.get()}, {x.get()}, {x.get(), x.get()}).status();
  Check(absl::StrContains(error.message(), "dys: expected none, or one for each of ys"),
        error.ToString());
  CheckOk(tape.Reset());
  const absl::Status unwatched = tape.Gradient({y.get()}, {x.get()}).status();
  Check(absl::StrContains(unwatched.message(), "x[0] is no tensor that the tape watches"),
        unwatched.ToString());
}

void RunSlices() {
  Eager eager;
  const EagerTensor x = eager.Vector({1, 2, 3, 4}), z = eager.Vector({5, 6});
  GradientTape tape = Value(GradientTape::New(eager.context(), TFEXT_TAPE_PERSISTENT));
  CheckOk(tape.Watch(x.get()));
  CheckOk(tape.Watch(z.get()));
  const EagerTensor y = eager.Product(eager.Rows(x, {3, 3}), z);
  const GradientTape::Handles xs = {x.get(), z.get()};

  const auto slices = Value(tape.GradientSlices({y.get()}, xs));
  Check(slices[0].dense == nullptr && slices[0].reason.empty(), slices[0].reason);
  Check(eager.ValuesOf<double>(slices[0].values) == std::vector<double>({5, 6}), "values");
  Check(eager.ValuesOf<int32_t>(slices[0].indices) == std::vector<int32_t>({3, 3}), "indices");
  Check(eager.ValuesOf<int32_t>(slices[0].shape) == std::vector<int32_t>({4}), "shape");
  Check(slices[1].values == nullptr, "no slices of a factor");
  Check(slices[1].reason == "the gradient of op Mul is dense", slices[1].reason);
  Check(eager.ValuesOf<double>(slices[1].dense) == std::vector<double>({4, 4}), "dense");

  const auto summed = Value(tape.GradientSlices({y.get()}, xs, {z.get()}, TFEXT_REPEATED_SUMMED));
  Check(eager.ValuesOf<double>(summed[0].values) == std::vector<double>({61}), "summed values");
  Check(eager.ValuesOf<int32_t>(summed[0].indices) == std::vector<int32_t>({3}), "summed indices");
  const absl::Status error = tape.GradientSlices({y.get()}, xs, {z.get(), z.get()}).status();
  Check(absl::StrContains(error.message(), "dys: expected none, or one for each of ys"),
        error.ToString());
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  tensorflow_ext::Run();
  tensorflow_ext::RunSlices();
  return tensorflow_ext::ExitStatus();
}
