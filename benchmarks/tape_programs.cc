// SPDX-License-Identifier: Apache-2.0
//
// Programs of eager mode in C, which tape.py compares with the same ones in Python.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow_ext/tape/tape.h"

namespace {

using Handle = TFE_TensorHandle*;

// An eager program. It ends the process on an error.
class Program {
 public:
  Program() : status_(TF_NewStatus()) {
    TFE_ContextOptions* options = TFE_NewContextOptions();
    context_ = TFE_NewContext(options, status_);
    Check();
    TFE_DeleteContextOptions(options);
  }
  ~Program() {
    for (Handle variable : variables_) TFE_DeleteTensorHandle(variable);
    TFE_DeleteContext(context_);
    TF_DeleteStatus(status_);
  }

  Handle Tensor(const float* values, const std::vector<int64_t>& shape) {
    size_t count = 1;
    for (const int64_t size : shape) count *= size;
    TF_Tensor* tensor = TF_AllocateTensor(TF_FLOAT, shape.data(), shape.size(), count * 4);
    memcpy(TF_TensorData(tensor), values, count * 4);
    return FromTensor(tensor);
  }

  Handle Ints(const std::vector<int32_t>& values) {
    const int64_t size = values.size();
    TF_Tensor* tensor = TF_AllocateTensor(TF_INT32, &size, 1, size * 4);
    memcpy(TF_TensorData(tensor), values.data(), size * 4);
    return FromTensor(tensor);
  }

  // Runs an op; its output lives until Clear.
  Handle Run(const char* name, const std::vector<Handle>& inputs) {
    TFE_Op* op = TFE_NewOp(context_, name, status_);
    for (Handle input : inputs) TFE_OpAddInput(op, input, status_);
    Handle output;
    int count = 1;
    TFE_Execute(op, &output, &count, status_);
    Check();
    TFE_DeleteOp(op);
    tensors_.push_back(output);
    return output;
  }

  void Clear() {
    for (Handle tensor : tensors_) TFE_DeleteTensorHandle(tensor);
    tensors_.clear();
  }

  TfExt_Tape* NewTape(const std::vector<Handle>& watched) {
    TfExt_Tape* tape = TfExt_NewTape(context_, 0, status_);
    for (Handle tensor : watched) TfExt_TapeWatch(tape, tensor, status_);
    Check();
    return tape;
  }

  // The gradients live until Clear.
  std::vector<Handle> Gradients(TfExt_Tape* tape, Handle y, const std::vector<Handle>& x) {
    std::vector<Handle> gradients(x.size());
    TfExt_TapeGradient(tape, &y, 1, x.data(), x.size(), nullptr, TFEXT_UNCONNECTED_NONE, status_,
                       gradients.data());
    Check();
    tensors_.insert(tensors_.end(), gradients.begin(), gradients.end());
    return gradients;
  }

  // The first number of a tensor.
  float First(Handle tensor) {
    TF_Tensor* value = TFE_TensorHandleResolve(tensor, status_);
    Check();
    const float first = *static_cast<float*>(TF_TensorData(value));
    TF_DeleteTensor(value);
    return first;
  }

  std::vector<Handle>& variables() { return variables_; }

 private:
  Handle FromTensor(TF_Tensor* tensor) {
    Handle handle = TFE_NewTensorHandle(tensor, status_);
    Check();
    TF_DeleteTensor(tensor);
    return handle;
  }

  void Check() {
    if (TF_GetCode(status_) == TF_OK) return;
    fprintf(stderr, "%s\n", TF_Message(status_));
    exit(1);
  }

  TF_Status* const status_;
  TFE_Context* context_;
  // The program's, and those of one step.
  std::vector<Handle> variables_, tensors_;
};

Handle Chain(Program* program, Handle x, int length) {
  for (int k = 0; k < length / 2; ++k) {
    x = program->Run("Tanh", {x});
    x = program->Run("Mul", {x, program->variables()[1]});
  }
  return x;
}

}  // namespace

extern "C" {

void* Tape_New() { return new Program; }
void Tape_Delete(void* program) { delete static_cast<Program*>(program); }

// Adds a tensor that the program keeps.
void Tape_AddTensor(void* program, const float* values, const int64_t* shape, int dims) {
  auto* p = static_cast<Program*>(program);
  p->variables().push_back(p->Tensor(values, std::vector<int64_t>(shape, shape + dims)));
}

// A chain of `length` small ops on tensor 0, Tanh and a product with tensor 1; with a tape, also
// its gradient. Returns the first number of the result.
float Tape_Chain(void* program, int length, bool with_tape) {
  auto* p = static_cast<Program*>(program);
  Handle x = p->variables()[0];
  TfExt_Tape* tape = with_tape ? p->NewTape({x}) : nullptr;
  Handle y = Chain(p, x, length);
  const float result = p->First(with_tape ? p->Gradients(tape, y, {x})[0] : y);
  p->Clear();
  TfExt_DeleteTape(tape);
  return result;
}

// The loss of layers relu(x w + b) and its gradients by all w and b. The tensors: x, then a w and a
// b for each layer. Returns the first number of the first gradient.
float Tape_Perceptron(void* program) {
  auto* p = static_cast<Program*>(program);
  const std::vector<Handle> variables(p->variables().begin() + 1, p->variables().end());
  TfExt_Tape* tape = p->NewTape(variables);
  Handle y = p->variables()[0];
  for (size_t k = 0; k < variables.size(); k += 2) {
    y = p->Run("Relu",
               {p->Run("BiasAdd", {p->Run("MatMul", {y, variables[k]}), variables[k + 1]})});
  }
  const float result = p->First(p->Gradients(tape, p->Run("L2Loss", {y}), variables)[0]);
  p->Clear();
  TfExt_DeleteTape(tape);
  return result;
}

}  // extern "C"
