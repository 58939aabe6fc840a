/* A client in plain C: answers the requests of the judge with TensorFlow's C API.
 * tests/clients/README.md describes the protocol.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/client/wire.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow_ext/saved_model/use_model_gradients.h"

enum { kMaxThreads = 64 };

/* A graph, its session, which sees nodes that are added later, and the status of the last operation
 * on them. */
typedef struct {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
} Model;

/* The tensors that a request for gradients names. */
typedef struct {
  Names ys, xs, upstreams;
} Gradients;

static char* target; /* of sessions; NULL means this process */

/* TfExt_UseModelGradients of the library that was loaded, or NULL. A program that links the library
 * calls it by its name. */
typedef __typeof__(&TfExt_UseModelGradients) UseModelGradients;
static UseModelGradients use_model_gradients;

static bool Ok(const Model* model) { return TF_GetCode(model->status) == TF_OK; }

/* Every answer begins with the status. Returns true if more must follow. */
static bool WriteStatus(const Model* model) {
  const char* message = TF_Message(model->status);
  WriteInt(TF_GetCode(model->status));
  if (!Ok(model)) WriteBytes(message, strlen(message));
  return Ok(model);
}

/* --- What is done with a graph ---------------------------------------------*/

static void DeleteGraph(Model* model) {
  TF_Status* ignored = TF_NewStatus();
  if (model->session != NULL) TF_DeleteSession(model->session, ignored);
  if (model->graph != NULL) TF_DeleteGraph(model->graph);
  TF_DeleteStatus(ignored);
  model->session = NULL;
  model->graph = NULL;
}

static void AddNodes(Model* model, const TF_Buffer* graph_def) {
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(model->graph, graph_def, options, model->status);
  TF_DeleteImportGraphDefOptions(options);
}

static void ImportGraph(Model* model, const TF_Buffer* graph_def) {
  DeleteGraph(model);
  model->graph = TF_NewGraph();
  AddNodes(model, graph_def);
  if (!Ok(model)) return;
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (target != NULL) TF_SetTarget(options, target);
  model->session = TF_NewSession(model->graph, options, model->status);
  TF_DeleteSessionOptions(options);
}

/* Sets the status if the graph lacks one of them. */
static void Find(Model* model, const Names* names, TF_Output* outputs) {
  for (int i = 0; i < names->count; ++i) {
    const char* colon = strrchr(names->names[i], ':');
    Require(colon != NULL, "a tensor's name has no ':'");
    char* node = strdup(names->names[i]);
    node[colon - names->names[i]] = '\0';
    outputs[i].oper = TF_GraphOperationByName(model->graph, node);
    outputs[i].index = atoi(colon + 1);
    if (outputs[i].oper == NULL) {
      TF_SetStatus(model->status, TF_NOT_FOUND, node);
    }
    free(node);
  }
}

static void AddGradients(Model* model, const Gradients* names, TF_Output* gradients) {
  TF_Output ys[kMaxNames], xs[kMaxNames], upstreams[kMaxNames];
  Find(model, &names->ys, ys);
  Find(model, &names->xs, xs);
  Find(model, &names->upstreams, upstreams);
  if (!Ok(model)) return;
  TF_AddGradients(model->graph, ys, names->ys.count, xs, names->xs.count, upstreams, model->status,
                  gradients);
}

static void Run(Model* model, const Feeds* feeds, const TF_Output* fetched, int count,
                TF_Tensor** results) {
  TF_Output fed[kMaxNames];
  Find(model, &feeds->names, fed);
  if (!Ok(model)) return;
  TF_SessionRun(model->session, NULL, fed, feeds->values, feeds->names.count, fetched, results,
                count, NULL, 0, NULL, model->status);
}

static void LoadSavedModel(Model* model, const char* folder) {
  DeleteGraph(model);
  model->graph = TF_NewGraph();
  const char* tags[] = {"serve"};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer* meta_graph_def = TF_NewBuffer();
  model->session = TF_LoadSessionFromSavedModel(options, NULL, folder, tags, 1, model->graph,
                                                meta_graph_def, model->status);
  if (Ok(model) && use_model_gradients != NULL) {
    use_model_gradients(model->graph, meta_graph_def, model->status);
  }
  TF_DeleteBuffer(meta_graph_def);
  TF_DeleteSessionOptions(options);
}

/* --- The requests ----------------------------------------------------------*/

static void ReadGradients(Gradients* names) {
  ReadNames(&names->ys);
  ReadNames(&names->xs);
  ReadNames(&names->upstreams);
  Require(names->upstreams.count == names->ys.count, "as many upstream gradients as ys");
}

static void FreeGradients(Gradients* names) {
  FreeNames(&names->ys);
  FreeNames(&names->xs);
  FreeNames(&names->upstreams);
}

static void AnswerLibrary(Model* model) {
  char* path = ReadString();
  TF_Library* library = TF_LoadLibrary(path, model->status);
  if (library != NULL) TF_DeleteLibraryHandle(library);
  void* loaded = Ok(model) ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
  void* function = loaded != NULL ? dlsym(loaded, "TfExt_UseModelGradients") : NULL;
  if (function != NULL) use_model_gradients = (UseModelGradients)function;
  free(path);
  WriteStatus(model);
}

static void AnswerImport(Model* model) {
  TF_Buffer* graph_def = ReadBuffer();
  ImportGraph(model, graph_def);
  TF_DeleteBuffer(graph_def);
  WriteStatus(model);
}

static void AnswerAdd(Model* model) {
  TF_Buffer* graph_def = ReadBuffer();
  AddNodes(model, graph_def);
  TF_DeleteBuffer(graph_def);
  WriteStatus(model);
}

static void AnswerSavedModel(Model* model) {
  char* folder = ReadString();
  LoadSavedModel(model, folder);
  free(folder);
  WriteStatus(model);
}

static void AnswerConnect(Model* model) {
  free(target);
  target = ReadString();
  WriteStatus(model);
}

static void AnswerExport(Model* model) {
  TF_Buffer* buffer = TF_NewBuffer();
  TF_GraphToGraphDef(model->graph, buffer, model->status);
  if (WriteStatus(model)) WriteBytes(buffer->data, buffer->length);
  TF_DeleteBuffer(buffer);
}

static void AnswerGradients(Model* model) {
  Gradients names;
  ReadGradients(&names);
  TF_Output gradients[kMaxNames];
  AddGradients(model, &names, gradients);
  if (WriteStatus(model)) {
    WriteInt(names.xs.count);
    for (int i = 0; i < names.xs.count; ++i) WriteOutput(gradients[i]);
  }
  FreeGradients(&names);
}

static void AnswerRun(Model* model) {
  Feeds feeds;
  Names fetches;
  ReadFeeds(&feeds);
  ReadNames(&fetches);
  TF_Output fetched[kMaxNames];
  TF_Tensor* results[kMaxNames] = {NULL};
  Find(model, &fetches, fetched);
  Run(model, &feeds, fetched, fetches.count, results);
  if (WriteStatus(model)) WriteTensors(results, fetches.count);
  FreeFeeds(&feeds);
  FreeNames(&fetches);
}

/* The input that all threads share, and the results of one of them. */
typedef struct {
  const TF_Buffer* graph_def;
  const Gradients* names;
  const Feeds* feeds;
  Model model;
  TF_Tensor* results[kMaxNames];
} Thread;

static void* RunThread(void* argument) {
  Thread* thread = argument;
  Model* model = &thread->model;
  TF_Output gradients[kMaxNames];
  ImportGraph(model, thread->graph_def);
  if (Ok(model)) AddGradients(model, thread->names, gradients);
  if (Ok(model)) {
    Run(model, thread->feeds, gradients, thread->names->xs.count, thread->results);
  }
  return NULL;
}

static void AnswerThreads(Model* model) {
  const int count = ReadCount(kMaxThreads);
  TF_Buffer* graph_def = ReadBuffer();
  Gradients names;
  ReadGradients(&names);
  Feeds feeds;
  ReadFeeds(&feeds);
  Thread* threads = calloc((size_t)count, sizeof(*threads));
  pthread_t* started = calloc((size_t)count, sizeof(*started));
  Require(threads != NULL && started != NULL, "more threads than memory");
  for (int i = 0; i < count; ++i) {
    threads[i] = (Thread){.graph_def = graph_def,
                          .names = &names,
                          .feeds = &feeds,
                          .model = {.status = TF_NewStatus()}};
    Require(pthread_create(&started[i], NULL, RunThread, &threads[i]) == 0,
            "more threads than the system has");
  }
  for (int i = 0; i < count; ++i) {
    pthread_join(started[i], NULL);
    const TF_Status* status = threads[i].model.status;
    if (Ok(model) && TF_GetCode(status) != TF_OK) {
      TF_SetStatus(model->status, TF_GetCode(status), TF_Message(status));
    }
  }
  const bool ok = WriteStatus(model);
  if (ok) WriteInt(count);
  for (int i = 0; i < count; ++i) {
    if (ok) WriteTensors(threads[i].results, names.xs.count);
    DeleteGraph(&threads[i].model);
    TF_DeleteStatus(threads[i].model.status);
  }
  free(started);
  free(threads);
  FreeFeeds(&feeds);
  FreeGradients(&names);
  TF_DeleteBuffer(graph_def);
}

static void Answer(const char* request, Model* model) {
  static const struct {
    const char* name;
    void (*Answer)(Model*);
  } kRequests[] = {
      {"library", AnswerLibrary},        {"import", AnswerImport},   {"add", AnswerAdd},
      {"saved_model", AnswerSavedModel}, {"connect", AnswerConnect}, {"gradients", AnswerGradients},
      {"export", AnswerExport},          {"run", AnswerRun},         {"threads", AnswerThreads},
  };
  for (size_t i = 0; i < sizeof(kRequests) / sizeof(kRequests[0]); ++i) {
    if (strcmp(request, kRequests[i].name) != 0) continue;
    model->status = TF_NewStatus();
    kRequests[i].Answer(model);
    TF_DeleteStatus(model->status);
    fflush(stdout);
    return;
  }
  Require(false, request);
}

int main(void) {
  Model model = {NULL, NULL, NULL};
  for (int next; (next = getchar()) != EOF;) {
    ungetc(next, stdin);
    char* request = ReadString();
    Answer(request, &model);
    free(request);
  }
  DeleteGraph(&model);
  free(target);
  return 0;
}
