/* SPDX-License-Identifier: Apache-2.0
 *
 * A client in plain C: answers the requests of the judge with TensorFlow's C
 * API. ../README.md describes the protocol.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { kMaxNames = 256, kMaxRank = 254 };

static TF_Status* status; /* of the current request */
static TF_Graph* graph;
static TF_Session* session; /* of `graph`; sees nodes that are added later */

static bool Ok(void) { return TF_GetCode(status) == TF_OK; }

static void Require(bool condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "malformed request: %s\n", what);
  exit(1);
}

/* --- What requests and answers consist of ----------------------------------*/

static void Read(void* to, size_t size) {
  Require(fread(to, 1, size, stdin) == size, "it ends too early");
}

static int64_t ReadInt(void) {
  int64_t value;
  Read(&value, sizeof(value));
  return value;
}

static int ReadCount(int limit) {
  int64_t count = ReadInt();
  Require(0 <= count && count <= limit, "a count is out of range");
  return (int)count;
}

/* Bytes and a NUL behind them; the caller frees them. */
static char* ReadBytes(size_t* size) {
  *size = (size_t)ReadInt();
  char* bytes = malloc(*size + 1);
  Require(bytes != NULL, "more bytes than memory");
  Read(bytes, *size);
  bytes[*size] = '\0';
  return bytes;
}

/* A tensor's name, "node:index". Sets the status when the graph lacks it. */
static TF_Output ReadOutput(void) {
  size_t size;
  char* name = ReadBytes(&size);
  char* colon = strrchr(name, ':');
  Require(colon != NULL, "a tensor's name has no ':'");
  *colon = '\0';
  TF_Output output = {TF_GraphOperationByName(graph, name), atoi(colon + 1)};
  if (output.oper == NULL) TF_SetStatus(status, TF_NOT_FOUND, name);
  free(name);
  return output;
}

static int ReadOutputs(TF_Output* outputs) {
  int count = ReadCount(kMaxNames);
  for (int i = 0; i < count; ++i) outputs[i] = ReadOutput();
  return count;
}

static TF_Tensor* ReadTensor(void) {
  TF_DataType dtype = (TF_DataType)ReadInt();
  int rank = ReadCount(kMaxRank);
  int64_t dims[kMaxRank];
  Read(dims, (size_t)rank * sizeof(dims[0]));
  size_t size = (size_t)ReadInt();
  TF_Tensor* tensor = TF_AllocateTensor(dtype, dims, rank, size);
  Read(TF_TensorData(tensor), size);
  return tensor;
}

static void WriteInt(int64_t value) {
  fwrite(&value, sizeof(value), 1, stdout);
}

static void WriteBytes(const void* bytes, size_t size) {
  WriteInt((int64_t)size);
  fwrite(bytes, 1, size, stdout);
}

static void WriteOutput(TF_Output output) {
  char name[1024] = ""; /* stays empty where there is no gradient */
  if (output.oper != NULL) {
    const char* node = TF_OperationName(output.oper);
    snprintf(name, sizeof(name), "%s:%d", node, output.index);
  }
  WriteBytes(name, strlen(name));
}

static void WriteTensor(const TF_Tensor* tensor) {
  WriteInt(TF_TensorType(tensor));
  WriteInt(TF_NumDims(tensor));
  for (int i = 0; i < TF_NumDims(tensor); ++i) WriteInt(TF_Dim(tensor, i));
  WriteBytes(TF_TensorData(tensor), TF_TensorByteSize(tensor));
}

/* Every answer begins with the status. Returns whether more is to follow. */
static bool WriteStatus(void) {
  WriteInt(TF_GetCode(status));
  if (!Ok()) WriteBytes(TF_Message(status), strlen(TF_Message(status)));
  return Ok();
}

/* --- The requests ----------------------------------------------------------*/

static void LoadLibrary(void) {
  size_t size;
  char* path = ReadBytes(&size);
  TF_Library* library = TF_LoadLibrary(path, status);
  if (library != NULL) TF_DeleteLibraryHandle(library);
  free(path);
  WriteStatus();
}

static void DeleteGraph(void) {
  TF_Status* ignored = TF_NewStatus();
  if (session != NULL) TF_DeleteSession(session, ignored);
  if (graph != NULL) TF_DeleteGraph(graph);
  TF_DeleteStatus(ignored);
  session = NULL;
  graph = NULL;
}

static void ImportGraph(void) {
  DeleteGraph();
  graph = TF_NewGraph();
  size_t size;
  char* graph_def = ReadBytes(&size);
  TF_Buffer* buffer = TF_NewBufferFromString(graph_def, size);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(graph, buffer, options, status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(buffer);
  free(graph_def);
  if (Ok()) {
    TF_SessionOptions* session_options = TF_NewSessionOptions();
    session = TF_NewSession(graph, session_options, status);
    TF_DeleteSessionOptions(session_options);
  }
  WriteStatus();
}

static void ExportGraph(void) {
  TF_Buffer* buffer = TF_NewBuffer();
  TF_GraphToGraphDef(graph, buffer, status);
  if (WriteStatus()) WriteBytes(buffer->data, buffer->length);
  TF_DeleteBuffer(buffer);
}

static void AddGradients(void) {
  TF_Output ys[kMaxNames], xs[kMaxNames], upstreams[kMaxNames];
  TF_Output gradients[kMaxNames];
  int y_count = ReadOutputs(ys);
  int x_count = ReadOutputs(xs);
  Require(ReadOutputs(upstreams) == y_count,
          "as many upstream gradients as ys");
  if (Ok()) {
    TF_AddGradients(graph, ys, y_count, xs, x_count, upstreams, status,
                    gradients);
  }
  if (!WriteStatus()) return;
  WriteInt(x_count);
  for (int i = 0; i < x_count; ++i) WriteOutput(gradients[i]);
}

static void Run(void) {
  TF_Output fed[kMaxNames], fetched[kMaxNames];
  TF_Tensor *values[kMaxNames], *results[kMaxNames] = {NULL};
  int fed_count = ReadCount(kMaxNames);
  for (int i = 0; i < fed_count; ++i) {
    fed[i] = ReadOutput();
    values[i] = ReadTensor();
  }
  int fetched_count = ReadOutputs(fetched);
  if (Ok()) {
    TF_SessionRun(session, NULL, fed, values, fed_count, fetched, results,
                  fetched_count, NULL, 0, NULL, status);
  }
  for (int i = 0; i < fed_count; ++i) TF_DeleteTensor(values[i]);
  if (!WriteStatus()) return;
  WriteInt(fetched_count);
  for (int i = 0; i < fetched_count; ++i) {
    WriteTensor(results[i]);
    TF_DeleteTensor(results[i]);
  }
}

static void Answer(const char* request) {
  static const struct {
    const char* name;
    void (*Answer)(void);
  } kRequests[] = {
      {"library", LoadLibrary},
      {"import", ImportGraph},
      {"gradients", AddGradients},
      {"export", ExportGraph},
      {"run", Run},
  };
  for (size_t i = 0; i < sizeof(kRequests) / sizeof(kRequests[0]); ++i) {
    if (strcmp(request, kRequests[i].name) != 0) continue;
    status = TF_NewStatus();
    kRequests[i].Answer();
    TF_DeleteStatus(status);
    fflush(stdout);
    return;
  }
  Require(false, request);
}

int main(void) {
  for (int next; (next = getchar()) != EOF;) {
    ungetc(next, stdin);
    size_t size;
    char* request = ReadBytes(&size);
    Answer(request);
    free(request);
  }
  DeleteGraph();
  return 0;
}
