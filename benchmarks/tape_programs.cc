// Programs of eager mode in C++, which tape.py compares with the same ones in Python. A process
// that loads this file has loaded libtensorflow_ext.so for all to see (RTLD_GLOBAL).

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow_ext/gradient_tape.h"

namespace {

using tensorflow_ext::EagerTensor;
using tensorflow_ext::GradientTape;
using Handle = TFE_TensorHandle*;

void Check(TF_Status* status) {
  if (TF_GetCode(status) == TF_OK) return;
  std::fprintf(stderr, "%s\n", TF_Message(status));
  std::exit(1);
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Value(absl::StatusOr<T> result) {
  Check(result.status());
  return *std::move(result);
}

// An eager program with the tensors that it was given. It ends the process on an error.
class Program {
 public:
  using Inputs = std::vector<const EagerTensor*>;

  Program() : status_(TF_NewStatus()) {
    TFE_ContextOptions* options = TFE_NewContextOptions();
    context_ = TFE_NewContext(options, status_);
    Check(status_);
    TFE_DeleteContextOptions(options);
  }
  ~Program() {
    given.clear();
    TFE_DeleteContext(context_);
    TF_DeleteStatus(status_);
  }

  EagerTensor Tensor(TF_DataType type, const void* values, const std::vector<int64_t>& shape) {
    size_t bytes = TF_DataTypeSize(type);
    for (const int64_t size : shape) bytes *= size;
    TF_Tensor* tensor = TF_AllocateTensor(type, shape.data(), shape.size(), bytes);
    std::memcpy(TF_TensorData(tensor), values, bytes);
    EagerTensor handle(TFE_NewTensorHandle(tensor, status_));
    Check(status_);
    TF_DeleteTensor(tensor);
    return handle;
  }

  // Runs an op with `most` outputs; `set_attrs` takes the op. Returns the first output.
  template <typename SetAttrs>
  EagerTensor Run(const char* name, const Inputs& inputs, int most, const SetAttrs& set_attrs) {
    TFE_Op* op = TFE_NewOp(context_, name, status_);
    set_attrs(op);
    for (const EagerTensor* input : inputs) TFE_OpAddInput(op, input->get(), status_);
    std::vector<Handle> outputs(most);
    TFE_Execute(op, outputs.data(), &most, status_);
    Check(status_);
    TFE_DeleteOp(op);
    for (size_t k = 1; k < outputs.size(); ++k) TFE_DeleteTensorHandle(outputs[k]);
    return EagerTensor(outputs.empty() ? nullptr : outputs[0]);
  }

  EagerTensor Run(const char* name, const Inputs& inputs) {
    return Run(name, inputs, 1, [](TFE_Op*) {});
  }

  GradientTape Watching(const std::vector<Handle>& watched) {
    GradientTape tape = Value(GradientTape::New(context_));
    for (Handle tensor : watched) Check(tape.Watch(tensor));
    return tape;
  }

  // The given tensors from number `first` on.
  std::vector<Handle> Given(size_t first) const {
    std::vector<Handle> handles;
    for (size_t k = first; k < given.size(); ++k) handles.push_back(given[k].get());
    return handles;
  }

  // The first number of a tensor.
  float First(const EagerTensor& tensor) {
    TF_Tensor* value = TFE_TensorHandleResolve(tensor.get(), status_);
    Check(status_);
    const float first = *static_cast<float*>(TF_TensorData(value));
    TF_DeleteTensor(value);
    return first;
  }

  std::vector<EagerTensor> given;

 private:
  TF_Status* const status_;
  TFE_Context* context_;
};

// Tanh and a product with `factor` in turns, `length` ops.
EagerTensor Chain(Program* program, const EagerTensor& x, const EagerTensor& factor, int length) {
  EagerTensor y;
  for (int k = 0; k < length / 2; ++k) {
    y = program->Run("Tanh", {k == 0 ? &x : &y});
    y = program->Run("Mul", {&y, &factor});
  }
  return y;
}

// A residual network of 18 layers. Takes its weights one after the other.
class ResNet {
 public:
  ResNet(Program* program, const EagerTensor* weights) : program_(program), next_(weights) {}

  // The loss.
  EagerTensor Run(const EagerTensor& images, const EagerTensor& labels, const EagerTensor& axes) {
    EagerTensor x = Relu(Convolution(images, 2));
    x = program_->Run("MaxPool", {&x}, 1, [](TFE_Op* op) {
      const int64_t size[] = {1, 3, 3, 1}, strides[] = {1, 2, 2, 1};
      TFE_OpSetAttrIntList(op, "ksize", size, 4);
      TFE_OpSetAttrIntList(op, "strides", strides, 4);
      TFE_OpSetAttrString(op, "padding", "SAME", 4);
    });
    for (int stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < 2; ++block) x = Block(x, stage > 0 && block == 0 ? 2 : 1);
    }
    x = program_->Run("Mean", {&x, &axes});
    x = program_->Run("MatMul", {&x, Next()});
    x = program_->Run("BiasAdd", {&x, Next()});
    return program_->Run("SparseSoftmaxCrossEntropyWithLogits", {&x, &labels}, 2, [](TFE_Op*) {});
  }

 private:
  const EagerTensor* Next() { return next_++; }

  EagerTensor Relu(const EagerTensor& x) { return program_->Run("Relu", {&x}); }

  // A convolution and a batch normalization.
  EagerTensor Convolution(const EagerTensor& x, int stride) {
    const EagerTensor y = program_->Run("Conv2D", {&x, Next()}, 1, [stride](TFE_Op* op) {
      const int64_t strides[] = {1, stride, stride, 1};
      TFE_OpSetAttrIntList(op, "strides", strides, 4);
      TFE_OpSetAttrString(op, "padding", "SAME", 4);
    });
    const EagerTensor *scale = Next(), *offset = Next();
    // An empty mean and variance, because it computes those of the batch.
    const EagerTensor empty = program_->Tensor(TF_FLOAT, "", {0});
    return program_->Run("FusedBatchNormV3", {&y, scale, offset, &empty, &empty}, 6,
                         [](TFE_Op* op) { TFE_OpSetAttrFloat(op, "epsilon", 0.001f); });
  }

  EagerTensor Block(const EagerTensor& x, int stride) {
    EagerTensor y = Relu(Convolution(x, stride));
    y = Convolution(y, 1);
    if (stride == 1) return Relu(program_->Run("AddV2", {&x, &y}));
    const EagerTensor shortcut = Convolution(x, stride);
    return Relu(program_->Run("AddV2", {&shortcut, &y}));
  }

  Program* const program_;
  const EagerTensor* next_;
};

// Subtracts the gradient from the rows of a variable that were gathered, or from all of it.
void Update(Program* program, GradientTape* tape, const EagerTensor& loss, const EagerTensor& table,
            const EagerTensor& rate, bool sliced) {
  const std::vector<Handle> y = {loss.get()}, x = {table.get()};
  const auto set_type = [](TFE_Op* op) { TFE_OpSetAttrType(op, "dtype", TF_FLOAT); };
  if (sliced) {
    const auto slices = Value(tape->GradientSlices(y, x));
    const EagerTensor change = program->Run("Mul", {&slices[0].values, &rate});
    program->Run("ResourceScatterSub", {&table, &slices[0].indices, &change}, 0, set_type);
  } else {
    const auto dense = Value(tape->Gradient(y, x));
    const EagerTensor change = program->Run("Mul", {&dense[0], &rate});
    program->Run("AssignSubVariableOp", {&table, &change}, 0, set_type);
  }
}

Program* ToProgram(void* program) { return static_cast<Program*>(program); }

}  // namespace

// Each function takes the tensors that were added before, and returns the first number of the
// first gradient, unless it says otherwise.
extern "C" {

void* Tape_NewProgram() { return new Program; }
void Tape_DeleteProgram(void* program) { delete ToProgram(program); }

void Tape_AddTensor(void* program, int type, const void* values, const int64_t* shape, int dims) {
  Program* const p = ToProgram(program);
  p->given.push_back(
      p->Tensor(static_cast<TF_DataType>(type), values, std::vector<int64_t>(shape, shape + dims)));
}

// A chain from tensor 0, with factor 1, and its gradient.
float Tape_Chain(void* program, int length) {
  Program* const p = ToProgram(program);
  const Handle x = p->given[0].get();
  GradientTape tape = p->Watching({x});
  const EagerTensor y = Chain(p, p->given[0], p->given[1], length);
  return p->First(Value(tape.Gradient({y.get()}, {x}))[0]);
}

// The same chain without a gradient: number `recorded` says whether a tape records it. Returns the
// first number of its result.
float Tape_ForwardChain(void* program, int length, int recorded) {
  Program* const p = ToProgram(program);
  if (recorded == 0) return p->First(Chain(p, p->given[0], p->given[1], length));
  const GradientTape tape = p->Watching({p->given[0].get()});
  return p->First(Chain(p, p->given[0], p->given[1], length));
}

// Makes tensor 0 the handle of a variable with its value.
void Tape_MakeVariable(void* program, int64_t rows, int64_t columns) {
  Program* const p = ToProgram(program);
  EagerTensor handle = p->Run("VarHandleOp", {}, 1, [&](TFE_Op* op) {
    const int64_t shape[] = {rows, columns};
    TF_Status* const status = TF_NewStatus();
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    TFE_OpSetAttrShape(op, "shape", shape, 2, status);
    Check(status);
    TF_DeleteStatus(status);
  });
  p->Run("AssignVariableOp", {&handle, &p->given[0]}, 0,
         [](TFE_Op* op) { TFE_OpSetAttrType(op, "dtype", TF_FLOAT); });
  p->given[0] = std::move(handle);
}

// A step of training of a table: gathers the rows 1 of variable 0, and subtracts their gradient
// times 2. Returns the loss.
float Tape_Table(void* program, int sliced) {
  Program* const p = ToProgram(program);
  const EagerTensor &table = p->given[0], &ids = p->given[1], &rate = p->given[2];
  GradientTape tape = p->Watching({});
  EagerTensor y = p->Run("ResourceGather", {&table, &ids}, 1,
                         [](TFE_Op* op) { TFE_OpSetAttrType(op, "dtype", TF_FLOAT); });
  y = p->Run("Tanh", {&y});
  const EagerTensor loss = p->Run("L2Loss", {&y});
  Update(p, &tape, loss, table, rate, sliced != 0);
  return p->First(loss);
}

// The loss of layers relu(x w + b). The tensors: x, then a w and a b for each layer.
float Tape_Perceptron(void* program) {
  Program* const p = ToProgram(program);
  const std::vector<EagerTensor>& given = p->given;
  const std::vector<Handle> weights = p->Given(1);
  GradientTape tape = p->Watching(weights);
  EagerTensor y;
  for (size_t k = 1; k < given.size(); k += 2) {
    y = p->Run("MatMul", {k == 1 ? &given[0] : &y, &given[k]});
    y = p->Run("BiasAdd", {&y, &given[k + 1]});
    y = p->Run("Relu", {&y});
  }
  const EagerTensor loss = p->Run("L2Loss", {&y});
  return p->First(Value(tape.Gradient({loss.get()}, weights))[0]);
}

// The loss of a ResNet-18. The tensors: images, labels, the axes of pixels, then the weights.
float Tape_ResNet(void* program) {
  Program* const p = ToProgram(program);
  const std::vector<EagerTensor>& given = p->given;
  const std::vector<Handle> weights = p->Given(3);
  GradientTape tape = p->Watching(weights);
  const EagerTensor loss = ResNet(p, &given[3]).Run(given[0], given[1], given[2]);
  return p->First(Value(tape.Gradient({loss.get()}, weights))[0]);
}

}  // extern "C"
