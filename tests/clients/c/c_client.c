/* SPDX-License-Identifier: Apache-2.0
 *
 * A client in plain C: loads the op library with TF_LoadLibrary, builds a graph
 * for every case, differentiates it with TF_AddGradients, and that graph once
 * more for the second order, and runs it in a session.
 *
 *   c_client [--tsv] [--quick] [--type=TYPE] [--case=TEXT] LIBRARY CASES...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tests/clients/harness/check.h"

typedef struct Graph {
  const Case* c;
  TF_Graph* graph;
  TF_Session* session;
  int output_count;
  /* An `oper` of NULL: there is none. */
  TF_Output inputs[kMaxInputs];
  TF_Output outputs[kMaxOutputs];
  TF_Output upstreams[kMaxOutputs];
  TF_Output gradients[kMaxInputs];
  TF_Output weights[kMaxInputs];
  TF_Output second[kMaxInputs + kMaxOutputs];
  TF_Output reference;
  TF_Output loss;
} Graph;

static bool Ok(const TF_Status* status) { return TF_GetCode(status) == TF_OK; }

static TF_Output Finish(TF_OperationDescription* description,
                        TF_Status* status) {
  TF_Output output = {TF_FinishOperation(description, status), 0};
  return output;
}

static TF_Output Placeholder(Graph* g, const char* kind, int index,
                             TF_DataType dtype, const InputSpec* shape,
                             TF_Status* status) {
  char name[kMaxName];
  snprintf(name, sizeof(name), "%s_%d", kind, index);
  TF_OperationDescription* description =
      TF_NewOperation(g->graph, "Placeholder", name);
  TF_SetAttrType(description, "dtype", dtype);
  if (shape != NULL) {
    TF_SetAttrShape(description, "shape", shape->dims, shape->rank);
  }
  return Finish(description, status);
}

static TF_Output Constant(Graph* g, const char* name, TF_DataType dtype,
                          double number, TF_Status* status) {
  Tensor scalar = NewTensor(dtype, 0, NULL);
  scalar.values[0] = number;
  TF_Tensor* tensor = TF_AllocateTensor(dtype, NULL, 0, TF_DataTypeSize(dtype));
  EncodeValues(&scalar, TF_TensorData(tensor));
  TF_OperationDescription* description =
      TF_NewOperation(g->graph, "Const", name);
  TF_SetAttrType(description, "dtype", dtype);
  TF_SetAttrTensor(description, "value", tensor, status);
  FreeTensor(&scalar);
  TF_DeleteTensor(tensor);
  return Finish(description, status);
}

static void SetAttr(TF_OperationDescription* description, const AttrSpec* attr,
                    TF_DataType type) {
  switch (attr->kind) {
    case kAttrInt:
      TF_SetAttrInt(description, attr->name, attr->i);
      break;
    case kAttrFloat:
      TF_SetAttrFloat(description, attr->name, (float)attr->f);
      break;
    case kAttrBool:
      TF_SetAttrBool(description, attr->name, (unsigned char)attr->i);
      break;
    case kAttrString:
      TF_SetAttrString(description, attr->name, attr->s, strlen(attr->s));
      break;
    case kAttrType:
      TF_SetAttrType(description, attr->name, TypeOf(&attr->type, type));
      break;
  }
}

static void AddOp(Graph* g, const BuildOptions* options, TF_Status* status) {
  const Case* c = g->c;
  for (int i = 0; i < c->input_count && Ok(status); ++i) {
    g->inputs[i] =
        Placeholder(g, "input", i, InputType(c, i, options->type),
                    options->known_shapes ? &c->inputs[i] : NULL, status);
  }
  if (!Ok(status)) return;
  TF_OperationDescription* description = TF_NewOperation(g->graph, c->op, "op");
  for (int i = 0; i < c->input_count;) {
    const InputSpec* input = &c->inputs[i];
    int count = 1;
    while (input->in_list && i + count < c->input_count &&
           strcmp(c->inputs[i + count].argument, input->argument) == 0) {
      ++count;
    }
    if (input->in_list) {
      TF_AddInputList(description, &g->inputs[i], count);
    } else {
      TF_AddInput(description, g->inputs[i]);
    }
    i += count;
  }
  for (int i = 0; i < c->attr_count; ++i) {
    SetAttr(description, &c->attrs[i], options->type);
  }
  TF_Operation* op = TF_FinishOperation(description, status);
  if (!Ok(status)) return;
  g->output_count = TF_OperationNumOutputs(op);
  for (int i = 0; i < g->output_count; ++i) {
    g->outputs[i] = (TF_Output){op, i};
  }
}

/* An argument of a node in a chain; see NodeSpec. */
static TF_Output Argument(Graph* g, const Chain* chain, TF_Output* nodes,
                          int node, int index, TF_DataType type,
                          TF_Status* status) {
  const char* argument = chain->nodes[node].arguments[index];
  if (strcmp(argument, "upstream") == 0) return g->upstreams[0];
  for (int i = 0; i < g->c->input_count; ++i) {
    if (strcmp(argument, g->c->inputs[i].argument) == 0) return g->inputs[i];
  }
  for (int i = 0; i < node; ++i) {
    if (strcmp(argument, chain->nodes[i].name) == 0) return nodes[i];
  }
  char name[2 * kMaxName];
  snprintf(name, sizeof(name), "%s_%d", chain->nodes[node].name, index);
  return Constant(g, name, type, strtod(argument, NULL), status);
}

static TF_Output AddChain(Graph* g, const char* prefix, const Chain* chain,
                          TF_DataType type, TF_Status* status) {
  TF_Output nodes[kMaxNodes];
  TF_Output last = {NULL, 0};
  for (int i = 0; i < chain->count && Ok(status); ++i) {
    const NodeSpec* node = &chain->nodes[i];
    TF_Output arguments[kMaxArguments];
    for (int k = 0; k < node->argument_count && Ok(status); ++k) {
      arguments[k] = Argument(g, chain, nodes, i, k, type, status);
    }
    if (!Ok(status)) break;
    char name[2 * kMaxName];
    snprintf(name, sizeof(name), "%s_%s", prefix, node->name);
    TF_OperationDescription* description =
        TF_NewOperation(g->graph, node->op, name);
    for (int k = 0; k < node->argument_count; ++k) {
      TF_AddInput(description, arguments[k]);
    }
    last = nodes[i] = Finish(description, status);
  }
  return last;
}

static bool HasFloatingOutput(const Graph* g) {
  for (int i = 0; i < g->output_count; ++i) {
    if (IsFloating(TF_OperationOutputType(g->outputs[i]))) return true;
  }
  return false;
}

/* Differentiates the floating outputs, or all outputs when none is. */
static void AddGradients(Graph* g, TF_Status* status) {
  TF_Output y[kMaxOutputs];
  TF_Output dy[kMaxOutputs];
  int count = 0;
  bool floating = HasFloatingOutput(g);
  for (int i = 0; i < g->output_count && Ok(status); ++i) {
    TF_DataType dtype = TF_OperationOutputType(g->outputs[i]);
    if (g->c->upstreams[i].kind == kNone) continue;
    if (floating && !IsFloating(dtype)) continue;
    g->upstreams[i] = Placeholder(g, "upstream", i, dtype, NULL, status);
    y[count] = g->outputs[i];
    dy[count++] = g->upstreams[i];
  }
  if (!Ok(status)) return;
  TF_AddGradients(g->graph, y, count, g->inputs, g->c->input_count, dy, status,
                  g->gradients);
}

/* TF_AddGradients refuses, for all of them, a source that no output depends
 * on. */
static bool DependsOn(TF_Operation* op, TF_Operation* source) {
  if (op == source) return true;
  for (int i = 0; i < TF_OperationNumInputs(op); ++i) {
    if (DependsOn(TF_OperationInput((TF_Input){op, i}).oper, source)) {
      return true;
    }
  }
  return false;
}

static void AddSecond(Graph* g, TF_Status* status) {
  TF_Output y[kMaxInputs];
  TF_Output dy[kMaxInputs];
  int count = 0;
  for (int i = 0; i < g->c->input_count && Ok(status); ++i) {
    if (g->gradients[i].oper == NULL) continue;
    g->weights[i] = Placeholder(
        g, "weight", i, TF_OperationOutputType(g->gradients[i]), NULL, status);
    y[count] = g->gradients[i];
    dy[count++] = g->weights[i];
  }
  TF_Output x[kMaxInputs + kMaxOutputs];
  TF_Output dx[kMaxInputs + kMaxOutputs];
  int slots[kMaxInputs + kMaxOutputs];
  int sources = 0;
  for (int i = 0; i < g->c->input_count + g->output_count; ++i) {
    TF_Output source = i < g->c->input_count
                           ? g->inputs[i]
                           : g->upstreams[i - g->c->input_count];
    bool used = false;
    for (int k = 0; source.oper != NULL && k < count && !used; ++k) {
      used = DependsOn(y[k].oper, source.oper);
    }
    if (!used) continue;
    slots[sources] = i;
    x[sources++] = source;
  }
  if (!Ok(status) || count == 0 || sources == 0) return;
  TF_AddGradients(g->graph, y, count, x, sources, dy, status, dx);
  if (!Ok(status)) return;
  for (int k = 0; k < sources; ++k) g->second[slots[k]] = dx[k];
}

static void Free(void* graph) {
  Graph* g = graph;
  TF_Status* status = TF_NewStatus();
  if (g->session != NULL) TF_DeleteSession(g->session, status);
  TF_DeleteStatus(status);
  TF_DeleteGraph(g->graph);
  free(g);
}

static void* Build(const Case* c, const BuildOptions* options,
                   TF_Status* status) {
  Graph* g = calloc(1, sizeof(*g));
  g->c = c;
  g->graph = TF_NewGraph();
  AddOp(g, options, status);
  if (Ok(status) && options->gradients) AddGradients(g, status);
  if (Ok(status) && options->second) AddSecond(g, status);
  if (Ok(status) && options->chains) {
    g->reference =
        AddChain(g, "reference", &c->reference, options->type, status);
    if (options->type == TF_DOUBLE && Ok(status)) {
      g->loss = AddChain(g, "loss", &c->loss, options->type, status);
    }
  }
  if (Ok(status)) {
    TF_SessionOptions* session_options = TF_NewSessionOptions();
    g->session = TF_NewSession(g->graph, session_options, status);
    TF_DeleteSessionOptions(session_options);
  }
  if (Ok(status)) return g;
  Free(g);
  return NULL;
}

static TF_Output Find(const Graph* g, Slot slot) {
  switch (slot.kind) {
    case kInput:
      return g->inputs[slot.index];
    case kUpstream:
      return g->upstreams[slot.index];
    case kWeight:
      return g->weights[slot.index];
    case kOutput:
      return g->outputs[slot.index];
    case kGradient:
      return g->gradients[slot.index];
    case kSecond:
      return g->second[slot.index];
    case kReference:
      return g->reference;
    default:
      return g->loss;
  }
}

static bool HasSlot(void* graph, Slot slot) {
  return Find(graph, slot).oper != NULL;
}

static TF_Tensor* ToTensorFlow(const Tensor* tensor) {
  size_t bytes = TF_DataTypeSize(tensor->dtype) * (size_t)tensor->size;
  TF_Tensor* result =
      TF_AllocateTensor(tensor->dtype, tensor->dims, tensor->rank, bytes);
  EncodeValues(tensor, TF_TensorData(result));
  return result;
}

static Tensor FromTensorFlow(const TF_Tensor* tensor) {
  int64_t dims[kMaxRank];
  int rank = TF_NumDims(tensor);
  for (int i = 0; i < rank; ++i) dims[i] = TF_Dim(tensor, i);
  Tensor result = NewTensor(TF_TensorType(tensor), rank, dims);
  DecodeValues(TF_TensorData(tensor), &result);
  return result;
}

static void Run(void* graph, const Feed* feeds, int feed_count,
                const Slot* fetches, int fetch_count, Tensor* results,
                TF_Status* status) {
  Graph* g = graph;
  enum { kMaxSlots = 3 * kMaxInputs + 2 * kMaxOutputs };
  TF_Output fed[kMaxSlots];
  TF_Tensor* fed_tensors[kMaxSlots];
  TF_Output fetched[kMaxSlots];
  TF_Tensor* fetched_tensors[kMaxSlots] = {NULL};
  for (int i = 0; i < feed_count; ++i) {
    fed[i] = Find(g, feeds[i].slot);
    fed_tensors[i] = ToTensorFlow(feeds[i].tensor);
  }
  for (int i = 0; i < fetch_count; ++i) fetched[i] = Find(g, fetches[i]);
  TF_SessionRun(g->session, NULL, fed, fed_tensors, feed_count, fetched,
                fetched_tensors, fetch_count, NULL, 0, NULL, status);
  for (int i = 0; i < fetch_count; ++i) {
    if (Ok(status)) results[i] = FromTensorFlow(fetched_tensors[i]);
    if (fetched_tensors[i] != NULL) TF_DeleteTensor(fetched_tensors[i]);
  }
  for (int i = 0; i < feed_count; ++i) TF_DeleteTensor(fed_tensors[i]);
}

static void Load(const char* library, TF_Status* status) {
  TF_Library* handle = TF_LoadLibrary(library, status);
  if (handle != NULL) TF_DeleteLibraryHandle(handle);
}

int main(int argc, char** argv) {
  Client client = {"C", Load, Build, HasSlot, Run, Free};
  return RunCases(&client, argc, argv);
}
