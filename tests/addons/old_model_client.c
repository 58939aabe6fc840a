/* SPDX-License-Identifier: Apache-2.0
 *
 * A C program with a SavedModel of TensorFlow Addons: loads, runs and
 * differentiates it.
 *
 *   old_model_client MODEL
 *
 * Prints the costs of two frames of ones and the gradient of their sum by the
 * first frame. Exit status: 0; 1 when something is refused, or accepted, that
 * should not be; 2 when the argument is missing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow_ext/addons/register_ops.h"

enum { kRows = 4, kColumns = 5, kChannels = 2 };

static void Require(const TF_Status* status) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}

static void RequireThat(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "expected: %s\n", what);
  exit(1);
}

/* The model's session, and its graph in `graph`. */
static TF_Session* Load(const char* model, TF_Graph* graph, TF_Status* status) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* tag = "serve";
  TF_Session* session = TF_LoadSessionFromSavedModel(options, NULL, model, &tag,
                                                     1, graph, NULL, status);
  TF_DeleteSessionOptions(options);
  return session;
}

static TF_Tensor* Ones(void) {
  const int64_t shape[] = {1, kRows, kColumns, kChannels};
  const size_t count = kRows * kColumns * kChannels;
  TF_Tensor* tensor =
      TF_AllocateTensor(TF_FLOAT, shape, 4, count * sizeof(float));
  float* values = TF_TensorData(tensor);
  for (size_t i = 0; i < count; ++i) values[i] = 1;
  return tensor;
}

static void Print(const char* name, const TF_Tensor* tensor) {
  const float* values = TF_TensorData(tensor);
  printf("%s", name);
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i) {
    printf(" %.9g", values[i]);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL\n", argv[0]);
    return 2;
  }
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  Load(argv[1], graph, status);
  RequireThat(TF_GetCode(status) == TF_NOT_FOUND, "no op of that name before");
  TF_DeleteGraph(graph);

  RequireThat(TfExt_RegisterAddonsOps(status) == 18, "18 new ops");
  Require(status);
  RequireThat(TfExt_RegisterAddonsOps(status) == 0, "no new ops");
  Require(status);

  graph = TF_NewGraph();
  TF_Session* session = Load(argv[1], graph, status);
  Require(status);
  TF_Output costs = {TF_GraphOperationByName(graph, "costs"), 0};
  TF_Output frame = {TF_GraphOperationByName(graph, "frame"), 0};
  TF_Output next = {TF_GraphOperationByName(graph, "next_frame"), 0};
  TF_Output gradient;
  TF_AddGradients(graph, &costs, 1, &frame, 1, NULL, status, &gradient);
  Require(status);

  const TF_Output feeds[] = {frame, next}, fetches[] = {costs, gradient};
  TF_Tensor* values[] = {Ones(), Ones()};
  TF_Tensor* results[2];
  TF_SessionRun(session, NULL, feeds, values, 2, fetches, results, 2, NULL, 0,
                NULL, status);
  Require(status);
  Print("costs", results[0]);
  Print("gradient", results[1]);

  for (int i = 0; i < 2; ++i) {
    TF_DeleteTensor(values[i]);
    TF_DeleteTensor(results[i]);
  }
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
