/* A client of a cluster: its ops, and their gradients, run on two servers.
 *
 *   session libtensorflow_ext.so grpc://HOST:PORT
 *
 * The target is one of two tasks, /job:worker/task:0 and task:1 (server.py). The ops are placed by
 * their device; a gradient runs where its op does. Computes the same in this process, too. Exit
 * status: 0; 1 if TensorFlow reports an error or the results differ in a bit; 2 if the arguments
 * are wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { kSize = 4, kFetches = 2 };

static const float kInput[kSize] = {-1.5f, -0.25f, 0.5f, 2};

typedef struct {
  float values[kFetches][kSize]; /* lisht(mish(x)) and its gradient */
} Results;

static void Require(const TF_Status* status) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}

static TF_Output AddUnary(TF_Graph* graph, const char* op, TF_Output input, const char* device,
                          TF_Status* status) {
  TF_OperationDescription* description = TF_NewOperation(graph, op, op);
  if (device != NULL) TF_SetDevice(description, device);
  TF_AddInput(description, input);
  TF_Output output = {TF_FinishOperation(description, status), 0};
  Require(status);
  return output;
}

/* Computes y = lisht(mish(x)) and dy / dx in a session with this target: in this process if it is
 * NULL, otherwise on two tasks. */
static Results Compute(const char* target, TF_Status* status) {
  const char* first = target == NULL ? NULL : "/job:worker/task:0";
  const char* second = target == NULL ? NULL : "/job:worker/task:1";
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* description = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Output x = {TF_FinishOperation(description, status), 0};
  Require(status);
  TF_Output hidden = AddUnary(graph, "TfExt>Mish", x, first, status);
  TF_Output fetches[kFetches] = {AddUnary(graph, "TfExt>Lisht", hidden, second, status)};
  TF_AddGradients(graph, &fetches[0], 1, &x, 1, NULL, status, &fetches[1]);
  Require(status);

  TF_SessionOptions* options = TF_NewSessionOptions();
  if (target != NULL) TF_SetTarget(options, target);
  TF_Session* session = TF_NewSession(graph, options, status);
  Require(status);
  const int64_t shape[] = {kSize};
  TF_Tensor* input = TF_AllocateTensor(TF_FLOAT, shape, 1, sizeof kInput);
  memcpy(TF_TensorData(input), kInput, sizeof kInput);
  TF_Tensor* tensors[kFetches];
  TF_SessionRun(session, NULL, &x, &input, 1, fetches, tensors, kFetches, NULL, 0, NULL, status);
  Require(status);
  Results results;
  for (int i = 0; i < kFetches; ++i) {
    memcpy(results.values[i], TF_TensorData(tensors[i]), sizeof kInput);
    TF_DeleteTensor(tensors[i]);
  }
  TF_DeleteTensor(input);
  TF_CloseSession(session, status);
  Require(status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  return results;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s libtensorflow_ext.so grpc://HOST:PORT\n", argv[0]);
    return 2;
  }
  TF_Status* status = TF_NewStatus();
  TF_Library* library = TF_LoadLibrary(argv[1], status);
  Require(status);
  Results here = Compute(NULL, status);
  Results there = Compute(argv[2], status);
  for (int i = 0; i < kSize; ++i) {
    printf("x %g y %.9g dx %.9g\n", kInput[i], there.values[0][i], there.values[1][i]);
  }
  int same = memcmp(&here, &there, sizeof here) == 0;
  printf("%s as in this process\n", same ? "the same bits" : "NOT the same");
  TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(status);
  return same ? 0 : 1;
}
