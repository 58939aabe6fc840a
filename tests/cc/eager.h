// Eager ops for C++ tests of tapes. Any thread may use a context.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow_ext/c_objects.h"
#include "tensorflow_ext/gradient_tape.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {

// Ends the program after an error.
inline void Require(const absl::Status& status, const char* what = "") {
  if (status.ok()) return;
  Check(false, absl::StrCat(what, ": ", status.ToString()));
  std::_Exit(ExitStatus());
}

template <typename T>
T Value(absl::StatusOr<T> value) {
  Require(value.status());
  return *std::move(value);
}

class Eager {
 public:
  using Values = std::vector<double>;
  using SetAttributes = std::function<void(TFE_Op*)>;

  // In an asynchronous context, ops are only enqueued.
  explicit Eager(bool asynchronous = false) {
    TFE_ContextOptions* options = TFE_NewContextOptions();
    TFE_ContextOptionsSetAsync(options, asynchronous);
    const c_objects_internal::Status status;
    context_ = TFE_NewContext(options, status.get());
    Require(status.Get());
    TFE_DeleteContextOptions(options);
  }
  ~Eager() { TFE_DeleteContext(context_); }

  TFE_Context* context() const { return context_; }

  EagerTensor Scalar(double value) const { return ToTensor<TF_DOUBLE>({}, Values{value}); }

  EagerTensor Vector(const Values& values) const {
    return ToTensor<TF_DOUBLE>({static_cast<int64_t>(values.size())}, values);
  }

  EagerTensor Int(int32_t value) const {
    return ToTensor<TF_INT32>({}, std::vector<int32_t>{value});
  }

  EagerTensor Ints(const std::vector<int32_t>& values) const {
    return ToTensor<TF_INT32>({static_cast<int64_t>(values.size())}, values);
  }

  // The outputs of an op. `set_attributes` may also add lists of inputs.
  std::vector<EagerTensor> RunAll(const char* type, const std::vector<TFE_TensorHandle*>& inputs,
                                  const SetAttributes& set_attributes = nullptr) const {
    const c_objects_internal::Status status;
    TFE_Op* const op = TFE_NewOp(context_, type, status.get());
    Require(status.Get(), type);
    for (TFE_TensorHandle* input : inputs) {
      TFE_OpAddInput(op, input, status.get());
      Require(status.Get(), type);
    }
    if (set_attributes) set_attributes(op);
    TFE_TensorHandle* outputs[4];
    int count = 4;
    TFE_Execute(op, outputs, &count, status.get());
    Require(status.Get(), type);
    TFE_DeleteOp(op);
    return std::vector<EagerTensor>(outputs, outputs + count);
  }

  // The only output of an op.
  EagerTensor Run(const char* type, const std::vector<TFE_TensorHandle*>& inputs,
                  const SetAttributes& set_attributes = nullptr) const {
    std::vector<EagerTensor> outputs = RunAll(type, inputs, set_attributes);
    Require(outputs.size() == 1 ? absl::OkStatus() : absl::InternalError("expected one output"),
            type);
    return std::move(outputs[0]);
  }

  EagerTensor Product(const EagerTensor& x, const EagerTensor& y) const {
    return Run("Mul", {x.get(), y.get()});
  }

  EagerTensor Rows(const EagerTensor& x, const std::vector<int32_t>& ids) const {
    return Run("Gather", {x.get(), Ints(ids).get()});
  }

  EagerTensor Sum(const EagerTensor& vector) const {
    return Run("Sum", {vector.get(), Int(0).get()});
  }

  // The handle of a variable, a vector.
  EagerTensor Variable(const std::string& name, const Values& values) const {
    EagerTensor handle = Run("VarHandleOp", {}, [&](TFE_Op* op) {
      const c_objects_internal::Status status;
      const int64_t size = values.size();
      TFE_OpSetAttrType(op, "dtype", TF_DOUBLE);
      TFE_OpSetAttrShape(op, "shape", &size, 1, status.get());
      TFE_OpSetAttrString(op, "shared_name", name.data(), name.size());
    });
    RunAll("AssignVariableOp", {handle.get(), Vector(values).get()});
    return handle;
  }

  EagerTensor Read(const EagerTensor& variable) const {
    return Run("ReadVariableOp", {variable.get()},
               [](TFE_Op* op) { TFE_OpSetAttrType(op, "dtype", TF_DOUBLE); });
  }

  template <typename T = double>
  std::vector<T> ValuesOf(const EagerTensor& tensor) const {
    const c_objects_internal::Status status;
    TF_Tensor* const value = TFE_TensorHandleResolve(tensor.get(), status.get());
    Require(status.Get());
    const auto* const data = static_cast<const T*>(TF_TensorData(value));
    const std::vector<T> values(data, data + TF_TensorElementCount(value));
    TF_DeleteTensor(value);
    return values;
  }

  // A copy on this machine's CPU.
  EagerTensor Copy(const EagerTensor& tensor) const {
    const c_objects_internal::Status status;
    EagerTensor copy(TFE_TensorHandleCopyToDevice(
        tensor.get(), context_, "/job:localhost/replica:0/task:0/device:CPU:0", status.get()));
    Require(status.Get());
    return copy;
  }

  double ValueOf(const EagerTensor& tensor) const { return ValuesOf(tensor).at(0); }

 private:
  template <TF_DataType type, typename T>
  EagerTensor ToTensor(const std::vector<int64_t>& shape, const std::vector<T>& values) const {
    TF_Tensor* const tensor =
        TF_AllocateTensor(type, shape.data(), shape.size(), values.size() * sizeof(T));
    std::copy(values.begin(), values.end(), static_cast<T*>(TF_TensorData(tensor)));
    const c_objects_internal::Status status;
    EagerTensor handle(TFE_NewTensorHandle(tensor, status.get()));
    Require(status.Get());
    TF_DeleteTensor(tensor);
    return handle;
  }

  TFE_Context* context_;
};

}  // namespace tensorflow_ext
