/* Says whether there is an op of this library. The library is linked, or loaded if an argument
 * names it. */
#include <stdio.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

int main(int argc, char** argv) {
  TF_Status* status = TF_NewStatus();
  if (argc == 2) TF_LoadLibrary(argv[1], status);
  TF_Graph* graph = TF_NewGraph();
  TF_Buffer* op_def = TF_NewBuffer();
  if (TF_GetCode(status) == TF_OK) {
    TF_GraphGetOpDef(graph, "TfExt>Relu", op_def, status);
  }
  int failed = TF_GetCode(status) != TF_OK;
  if (failed) {
    fprintf(stderr, "%s\n", TF_Message(status));
  } else {
    printf("TensorFlow %s has TfExt>Relu\n", TF_Version());
  }
  TF_DeleteBuffer(op_def);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return failed;
}
