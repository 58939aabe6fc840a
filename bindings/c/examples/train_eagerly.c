/* Trains a network on handwritten digits in eager mode, and prints the loss of each step.
 *
 *   zcat examples/digits.csv.gz | train_eagerly
 *
 * A line of the input is an image, 64 grey values up to 16, and its digit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/eager/c_api.h"
#include "tensorflow_ext/tape/tape.h"

enum { kImages = 256, kPixels = 64, kHidden = 32, kDigits = 10, kSteps = 200 };

static TFE_Context* context;
static TF_Status* status;
/* All tensors of the program, the last one last. */
static TFE_TensorHandle* tensors[64];
static int num_tensors;

static void Require(void) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "train_eagerly: %s\n", TF_Message(status));
  exit(1);
}

static TFE_TensorHandle* Own(TFE_TensorHandle* tensor) { return tensors[num_tensors++] = tensor; }

static void DeleteLast(int first) {
  while (num_tensors > first) TFE_DeleteTensorHandle(tensors[--num_tensors]);
}

static TFE_TensorHandle* NewTensor(TF_DataType type, int rank, const int64_t* shape,
                                   const void* values) {
  size_t bytes = TF_DataTypeSize(type);
  for (int d = 0; d < rank; ++d) bytes *= shape[d];
  TF_Tensor* tensor = TF_AllocateTensor(type, shape, rank, bytes);
  memcpy(TF_TensorData(tensor), values, bytes);
  TFE_TensorHandle* handle = TFE_NewTensorHandle(tensor, status);
  Require();
  TF_DeleteTensor(tensor);
  return Own(handle);
}

static TFE_Op* NewOp(const char* type, TFE_TensorHandle* a, TFE_TensorHandle* b,
                     TFE_TensorHandle* c) {
  TFE_Op* op = TFE_NewOp(context, type, status);
  Require();
  TFE_TensorHandle* const inputs[] = {a, b, c};
  for (int i = 0; i < 3 && inputs[i] != NULL; ++i) {
    TFE_OpAddInput(op, inputs[i], status);
    Require();
  }
  return op;
}

/* Runs an op. Returns its first output, if it has any. */
static TFE_TensorHandle* Run(TFE_Op* op) {
  TFE_TensorHandle* outputs[2] = {NULL, NULL};
  int count = 2;
  TFE_Execute(op, outputs, &count, status);
  Require();
  TFE_DeleteOp(op);
  for (int k = 0; k < count; ++k) Own(outputs[k]);
  return outputs[0];
}

/* The handle of a variable that starts with sin(1) / 5, sin(2) / 5, ... */
static TFE_TensorHandle* NewVariable(const char* name, int64_t rows, int64_t columns) {
  static double start[kPixels * kHidden];
  for (int i = 0; i < rows * columns; ++i) start[i] = sin(i + 1) / 5;
  const int64_t shape[] = {rows, columns};
  TFE_Op* op = NewOp("VarHandleOp", NULL, NULL, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_DOUBLE);
  TFE_OpSetAttrShape(op, "shape", shape, 2, status);
  Require();
  TFE_OpSetAttrString(op, "shared_name", name, strlen(name));
  TFE_TensorHandle* variable = Run(op);
  Run(NewOp("AssignVariableOp", variable, NewTensor(TF_DOUBLE, 2, shape, start), NULL));
  return variable;
}

static TFE_TensorHandle* Read(TFE_TensorHandle* variable) {
  TFE_Op* op = NewOp("ReadVariableOp", variable, NULL, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_DOUBLE);
  return Run(op);
}

static void Print(TFE_TensorHandle* scalar) {
  TF_Tensor* value = TFE_TensorHandleResolve(scalar, status);
  Require();
  printf("%.17g\n", *(const double*)TF_TensorData(value));
  TF_DeleteTensor(value);
}

int main(void) {
  status = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  context = TFE_NewContext(options, status);
  Require();
  TFE_DeleteContextOptions(options);

  static double greys[kImages][kPixels];
  static int32_t labels[kImages];
  for (int i = 0; i < kImages; ++i) {
    for (int k = 0; k <= kPixels; ++k) {
      int number;
      if (scanf("%d,", &number) != 1) return 2;
      if (k < kPixels) greys[i][k] = number / 16.0;
      if (k == kPixels) labels[i] = number;
    }
  }
  const double rate = 0.5;
  const int32_t axis = 0;
  TFE_TensorHandle* images = NewTensor(TF_DOUBLE, 2, (const int64_t[]){kImages, kPixels}, greys);
  TFE_TensorHandle* digits = NewTensor(TF_INT32, 1, (const int64_t[]){kImages}, labels);
  TFE_TensorHandle* learning_rate = NewTensor(TF_DOUBLE, 0, NULL, &rate);
  TFE_TensorHandle* first_axis = NewTensor(TF_INT32, 0, NULL, &axis);
  TFE_TensorHandle* weights[] = {NewVariable("first", kPixels, kHidden),
                                 NewVariable("second", kHidden, kDigits)};

  const int before = num_tensors;
  for (int step = 0; step < kSteps; ++step) {
    TfExt_Tape* tape = TfExt_NewTape(context, 0, status);
    Require();
    TFE_TensorHandle* product = Run(NewOp("MatMul", images, Read(weights[0]), NULL));
    TFE_TensorHandle* hidden = Run(NewOp("Relu", product, NULL, NULL));
    TFE_TensorHandle* logits = Run(NewOp("MatMul", hidden, Read(weights[1]), NULL));
    TFE_TensorHandle* losses =
        Run(NewOp("SparseSoftmaxCrossEntropyWithLogits", logits, digits, NULL));
    TFE_TensorHandle* loss = Run(NewOp("Mean", losses, first_axis, NULL));

    TFE_TensorHandle* gradients[2];
    TfExt_TapeGradient(tape, &loss, 1, weights, 2, NULL, TFEXT_UNCONNECTED_NONE, status, gradients);
    Require();
    TfExt_DeleteTape(tape);
    for (int i = 0; i < 2; ++i) {
      Run(NewOp("ResourceApplyGradientDescent", weights[i], learning_rate, Own(gradients[i])));
    }
    Print(loss);
    DeleteLast(before);
  }
  DeleteLast(0);
  TFE_DeleteContext(context);
  TF_DeleteStatus(status);
  return 0;
}
