/* The op and its gradients in C, where TF_AddGradients adds gradients:
 *
 *   client libtensorflow_ext.so libyour_op.so
 *
 * Prints y, dy/dx and d^2y/dx^2 at three points. Exit status: 0; 1 if TensorFlow reports an error
 * or a number is wrong; 2 if no library is named.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { kSize = 3, kResults = 3 };

static TF_Status* status;

static void Require(void) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s LIBRARY...\n", argv[0]);
    return 2;
  }
  status = TF_NewStatus();
  for (int i = 1; i < argc; ++i) {
    TF_LoadLibrary(argv[i], status);
    Require();
  }

  /* results: y = squareplus(x), its gradient, and the gradient of that. */
  const float b = 2;
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* description = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Output x = {TF_FinishOperation(description, status), 0};
  Require();
  description = TF_NewOperation(graph, "Your>Squareplus", "y");
  TF_AddInput(description, x);
  TF_SetAttrFloat(description, "b", b);
  TF_Output results[kResults] = {{TF_FinishOperation(description, status), 0}};
  Require();
  for (int i = 1; i < kResults; ++i) {
    TF_AddGradients(graph, &results[i - 1], 1, &x, 1, NULL, status, &results[i]);
    Require();
  }

  const float points[kSize] = {-1, 0, 2};
  const int64_t shape[] = {kSize};
  TF_Tensor* input = TF_AllocateTensor(TF_FLOAT, shape, 1, sizeof(points));
  memcpy(TF_TensorData(input), points, sizeof(points));
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  Require();
  TF_Tensor* values[kResults];
  TF_SessionRun(session, NULL, &x, &input, 1, results, values, kResults, NULL, 0, NULL, status);
  Require();

  int wrong = 0;
  const char* const names[kResults] = {"y", "dy/dx", "d^2y/dx^2"};
  for (int i = 0; i < kResults; ++i) {
    printf("%-10s", names[i]);
    const float* found = TF_TensorData(values[i]);
    for (int k = 0; k < kSize; ++k) {
      const double p = points[k], root = sqrt(p * p + b), y = (p + root) / 2;
      const double expected[] = {y, y / root, b / (2 * root * root * root)};
      wrong |= !(fabs(found[k] - expected[i]) < 1e-6);
      printf(" %9.6f", found[k]);
    }
    printf("\n");
    TF_DeleteTensor(values[i]);
  }

  TF_DeleteTensor(input);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return wrong;
}
