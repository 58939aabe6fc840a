/* Everything that a C program must do for a gradient of this library: load it.
 *
 *   smoke libtensorflow_ext.so
 *
 * Prints relu(x) and its gradient. Exit status: 0; 1, TensorFlow refuses something or a number is
 * wrong; 2, the argument is missing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { kSize = 3 };

static void Require(const TF_Status* status) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}

static TF_Tensor* MakeTensor(const float* values) {
  const int64_t shape[] = {kSize};
  size_t bytes = kSize * sizeof(float);
  TF_Tensor* tensor = TF_AllocateTensor(TF_FLOAT, shape, 1, bytes);
  memcpy(TF_TensorData(tensor), values, bytes);
  return tensor;
}

/* Prints a tensor; returns true if it holds the expected values. */
static bool Print(const char* name, const TF_Tensor* tensor, const float* expected) {
  const float* values = TF_TensorData(tensor);
  printf("%s = [%g, %g, %g]\n", name, values[0], values[1], values[2]);
  return memcmp(values, expected, kSize * sizeof(float)) == 0;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s libtensorflow_ext.so\n", argv[0]);
    return 2;
  }
  TF_Status* status = TF_NewStatus();
  TF_Library* library = TF_LoadLibrary(argv[1], status);
  Require(status);

  /* A graph: y = relu(x) */
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* description = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Output x = {TF_FinishOperation(description, status), 0};
  Require(status);
  description = TF_NewOperation(graph, "TfExt>Relu", "y");
  TF_AddInput(description, x);
  TF_Output y = {TF_FinishOperation(description, status), 0};
  Require(status);

  /* Its gradient: nodes that TensorFlow adds to the graph. */
  TF_Output dx;
  TF_AddGradients(graph, &y, 1, &x, 1, NULL, status, &dx);
  Require(status);

  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  Require(status);
  TF_Tensor* input = MakeTensor((const float[kSize]){-1, 0.5, 2});
  const TF_Output fetches[] = {y, dx};
  TF_Tensor* results[2];
  TF_SessionRun(session, NULL, &x, &input, 1, fetches, results, 2, NULL, 0, NULL, status);
  Require(status);
  bool ok = Print("relu(x)", results[0], (const float[kSize]){0, 0.5, 2});
  ok &= Print("d relu(x) / dx", results[1], (const float[kSize]){0, 1, 1});

  for (int i = 0; i < 2; ++i) TF_DeleteTensor(results[i]);
  TF_DeleteTensor(input);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(status);
  return ok ? 0 : 1;
}
