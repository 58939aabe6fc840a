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

  EagerTensor Scalar(double value) {
    TF_Tensor* tensor = TF_AllocateTensor(TF_DOUBLE, nullptr, 0, sizeof value);
    std::memcpy(TF_TensorData(tensor), &value, sizeof value);
    EagerTensor handle(TFE_NewTensorHandle(tensor, status_.get()));
    TF_DeleteTensor(tensor);
    return handle;
  }

  EagerTensor Product(const EagerTensor& x, const EagerTensor& y) {
    TFE_Op* op = TFE_NewOp(context_, "Mul", status_.get());
    TFE_OpAddInput(op, x.get(), status_.get());
    TFE_OpAddInput(op, y.get(), status_.get());
    TFE_TensorHandle* output = nullptr;
    int count = 1;
    TFE_Execute(op, &output, &count, status_.get());
    CheckOk(status_.Get());
    TFE_DeleteOp(op);
    return EagerTensor(output);
  }

  double ValueOf(const EagerTensor& tensor) {
    TF_Tensor* value = TFE_TensorHandleResolve(tensor.get(), status_.get());
    CheckOk(status_.Get());
    const double number = *static_cast<double*>(TF_TensorData(value));
    TF_DeleteTensor(value);
    return number;
  }

 private:
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

}  // namespace
}  // namespace tensorflow_ext

int main() {
  tensorflow_ext::Run();
  return tensorflow_ext::ExitStatus();
}
