#define _DEFAULT_SOURCE /* strsep */

#include "bindings/c/examples/fine_tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_tstring.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/saved_model/describe_meta_graph.h"
#include "tensorflow_ext/saved_model/use_model_gradients.h"
#include "tensorflow_ext/train/train.h"

enum { kMaxVariables = 256, kMaxRank = 8, kMaxName = 1024 };

struct FineTune {
  TF_Status* status;
  TF_Graph* graph;
  TF_Session* session;
  /* The signature. */
  TF_Output input, logits;
  int64_t shape[kMaxRank]; /* of the input */
  int rank;
  TF_Output variables[kMaxVariables]; /* their handles */
  int num_variables;
  /* The model's saver. */
  TF_Output saver_filename, saver_save;
  TF_Operation* saver_copies[kMaxVariables];
  int num_copies;
  /* The nodes that this program adds. */
  TF_Output labels, loss;
  TfExt_TrainingStep training;
};

static void Require(bool condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "fine_tune: %s\n", what);
  exit(1);
}

static void RequireOk(const FineTune* t) {
  Require(TF_GetCode(t->status) == TF_OK, TF_Message(t->status));
}

/* --- The model's own information ------------------------------------------*/

/* The tensor named "node:index", or "node" for its first output. */
static TF_Output Tensor(const FineTune* t, const char* name) {
  char node[kMaxName];
  Require(strlen(name) < sizeof(node), "a name is too long");
  strcpy(node, name);
  char* colon = strrchr(node, ':');
  int index = 0;
  if (colon != NULL) {
    *colon = '\0';
    index = atoi(colon + 1);
  }
  TF_Output output = {TF_GraphOperationByName(t->graph, node), index};
  Require(output.oper != NULL, "the graph lacks a node that the model names");
  return output;
}

/* A shape such as "[-1,64]"; the first size is the batch size. */
static void ReadShape(FineTune* t, const char* text) {
  Require(*text == '[', "expected an input of known rank");
  char* end = NULL;
  for (++text; *text != ']' && *text != '\0'; text = end + (*end == ',')) {
    Require(t->rank < kMaxRank, "the input has too many dimensions");
    t->shape[t->rank] = strtoll(text, &end, 10);
    Require(t->rank == 0 || t->shape[t->rank] > 0,
            "expected an input whose only unknown size is the batch");
    ++t->rank;
  }
  Require(t->rank > 1, "expected an input with a batch of examples");
}

/* A line of TfExt_DescribeMetaGraph, cut into its fields. */
static void ReadLine(FineTune* t, const char* signature, char** field, int fields) {
  if (fields == 3 && strcmp(field[0], "saver") == 0) {
    if (strcmp(field[1], "filename") == 0) {
      t->saver_filename = Tensor(t, field[2]);
    } else if (strcmp(field[1], "copy") == 0) {
      Require(t->num_copies < kMaxVariables, "too many variables");
      t->saver_copies[t->num_copies++] = Tensor(t, field[2]).oper;
    } else if (strcmp(field[1], "save") == 0) {
      t->saver_save = Tensor(t, field[2]);
    }
  } else if (fields == 7 && strcmp(field[1], signature) == 0) {
    if (strcmp(field[2], "input") == 0) {
      Require(t->input.oper == NULL && strcmp(field[5], "float") == 0,
              "expected a signature with one input, of floats");
      t->input = Tensor(t, field[4]);
      ReadShape(t, field[6]);
    } else if (strcmp(field[2], "output") == 0) {
      Require(t->logits.oper == NULL, "expected a signature with one output");
      t->logits = Tensor(t, field[4]);
    } else if (strcmp(field[6], "trainable") == 0) {
      Require(t->num_variables < kMaxVariables, "too many variables");
      t->variables[t->num_variables++] = Tensor(t, field[3]);
    }
  }
}

static void ReadDescription(FineTune* t, const TF_Buffer* meta_graph) {
  TF_Buffer* lines = TF_NewBuffer();
  TfExt_DescribeMetaGraph(meta_graph, lines, t->status);
  RequireOk(t);
  char* text = malloc(lines->length + 1);
  Require(text != NULL, "out of memory");
  memcpy(text, lines->data, lines->length);
  text[lines->length] = '\0';
  TF_DeleteBuffer(lines);
  const bool has_train = strstr(text, "signature\ttrain\t") != NULL;
  char* rest = text;
  char* line;
  while ((line = strsep(&rest, "\n")) != NULL) {
    char* field[7];
    int fields = 0;
    while (fields < 7 && line != NULL) field[fields++] = strsep(&line, "\t");
    ReadLine(t, has_train ? "train" : "serving_default", field, fields);
  }
  free(text);
  Require(t->input.oper != NULL && t->logits.oper != NULL && t->num_variables > 0 &&
              t->saver_filename.oper != NULL && t->saver_save.oper != NULL,
          "expected a model with a signature train or serving_default, trainable variables and a "
          "saver");
}

/* --- Additions to the model's graph ---------------------------------------*/

static TF_OperationDescription* NewOperation(const FineTune* t, const char* type, int number) {
  char name[64];
  snprintf(name, sizeof(name), "fine_tune/%s_%d", type, number);
  return TF_NewOperation(t->graph, type, name);
}

static TF_Output Finish(const FineTune* t, TF_OperationDescription* description) {
  TF_Output output = {TF_FinishOperation(description, t->status), 0};
  RequireOk(t);
  return output;
}

static TF_Tensor* NewTensor(TF_DataType type, const int64_t* shape, int rank, const void* data,
                            size_t bytes) {
  TF_Tensor* tensor = TF_AllocateTensor(type, shape, rank, bytes);
  Require(tensor != NULL, "out of memory");
  memcpy(TF_TensorData(tensor), data, bytes);
  return tensor;
}

static TF_Output Scalar(const FineTune* t, TF_DataType type, const void* value, int number) {
  TF_Tensor* tensor = NewTensor(type, NULL, 0, value, TF_DataTypeSize(type));
  TF_OperationDescription* description = NewOperation(t, "Const", number);
  TF_SetAttrType(description, "dtype", type);
  TF_SetAttrTensor(description, "value", tensor, t->status);
  RequireOk(t);
  TF_DeleteTensor(tensor);
  return Finish(t, description);
}

static void AddLoss(FineTune* t) {
  TF_OperationDescription* description = NewOperation(t, "Placeholder", 0);
  TF_SetAttrType(description, "dtype", TF_INT32);
  t->labels = Finish(t, description);
  description = NewOperation(t, "SparseSoftmaxCrossEntropyWithLogits", 0);
  TF_AddInput(description, t->logits);
  TF_AddInput(description, t->labels);
  TF_Output losses = Finish(t, description);
  const int32_t batch_axis = 0;
  TF_Output axis = Scalar(t, TF_INT32, &batch_axis, 0);
  description = NewOperation(t, "Mean", 0);
  TF_AddInput(description, losses);
  TF_AddInput(description, axis);
  t->loss = Finish(t, description);
}

static void AddTraining(FineTune* t, float rate) {
  char optimizer[128];
  snprintf(optimizer, sizeof(optimizer),
           "{\"class_name\": \"SGD\", \"config\": {\"learning_rate\": %.9g}}", rate);
  TfExt_Minimize(t->graph, t->loss, t->variables, t->num_variables, optimizer, &t->training, NULL,
                 t->status);
  RequireOk(t);
  const TF_Operation* initialize = t->training.initialize;
  TF_SessionRun(t->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &initialize, 1, NULL, t->status);
  RequireOk(t);
}

/* --- fine_tune.h -----------------------------------------------------------*/

FineTune* FineTune_Load(const char* model, float rate, bool inlined) {
  FineTune* t = calloc(1, sizeof(*t));
  Require(t != NULL, "out of memory");
  t->status = TF_NewStatus();
  t->graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer* meta_graph = TF_NewBuffer();
  const char* tags[] = {"serve"};
  t->session =
      TF_LoadSessionFromSavedModel(options, NULL, model, tags, 1, t->graph, meta_graph, t->status);
  RequireOk(t);
  TfExt_UseModelGradients(t->graph, meta_graph, t->status);
  RequireOk(t);
  ReadDescription(t, meta_graph);
  TF_DeleteBuffer(meta_graph);
  TF_DeleteSessionOptions(options);
  if (inlined) {
    TF_Output body;
    TfExt_InlineCalls(t->graph, &t->logits, 1, &body, t->status);
    RequireOk(t);
    t->logits = body;
  }
  AddLoss(t);
  AddTraining(t, rate);
  return t;
}

int64_t FineTune_Features(const FineTune* t) {
  int64_t features = 1;
  for (int i = 1; i < t->rank; ++i) features *= t->shape[i];
  return features;
}

float FineTune_Step(FineTune* t, const float* x, const int32_t* labels, int64_t batch) {
  t->shape[0] = batch;
  const size_t count = (size_t)(batch * FineTune_Features(t));
  TF_Tensor* fed[] = {NewTensor(TF_FLOAT, t->shape, t->rank, x, count * sizeof(*x)),
                      NewTensor(TF_INT32, &batch, 1, labels, (size_t)batch * sizeof(*labels))};
  const TF_Output feeds[] = {t->input, t->labels};
  const TF_Operation* step = t->training.step;
  TF_Tensor* fetched = NULL;
  TF_SessionRun(t->session, NULL, feeds, fed, 2, &t->loss, &fetched, 1, &step, 1, NULL, t->status);
  RequireOk(t);
  const float loss = *(const float*)TF_TensorData(fetched);
  TF_DeleteTensor(fetched);
  TF_DeleteTensor(fed[0]);
  TF_DeleteTensor(fed[1]);
  return loss;
}

void FineTune_Save(FineTune* t, const char* model) {
  char prefix[kMaxName];
  const int length = snprintf(prefix, sizeof(prefix), "%s/variables/variables", model);
  Require(length < kMaxName, "the model's path is too long");
  TF_SessionRun(t->session, NULL, NULL, NULL, 0, NULL, NULL, 0,
                (const TF_Operation* const*)t->saver_copies, t->num_copies, NULL, t->status);
  RequireOk(t);
  TF_Tensor* filename = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  Require(filename != NULL, "out of memory");
  TF_TString* text = TF_TensorData(filename);
  TF_StringInit(text);
  TF_StringCopy(text, prefix, (size_t)length);
  TF_Tensor* written = NULL;
  TF_SessionRun(t->session, NULL, &t->saver_filename, &filename, 1, &t->saver_save, &written, 1,
                NULL, 0, NULL, t->status);
  RequireOk(t);
  TF_DeleteTensor(written);
  TF_StringDealloc(text);
  TF_DeleteTensor(filename);
}

void FineTune_Delete(FineTune* t) {
  TF_CloseSession(t->session, t->status);
  TF_DeleteSession(t->session, t->status);
  TF_DeleteGraph(t->graph);
  TF_DeleteStatus(t->status);
  free(t);
}
