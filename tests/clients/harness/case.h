/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of cases that every client runs; tests/clients/cases/README.md
 * describes the format. Plain C, shared by the C and the C++ client.
 */
#ifndef TENSORFLOW_EXT_TESTS_CLIENTS_HARNESS_CASE_H_
#define TENSORFLOW_EXT_TESTS_CLIENTS_HARNESS_CASE_H_

#include "tests/clients/harness/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kMaxName = 80,
  kMaxFragments = 240,
  kMaxTypes = 6,
  kMaxInputs = 16,
  kMaxOutputs = 16,
  kMaxAttrs = 8,
  kMaxNodes = 8,
  kMaxArguments = 4,
};

/* How the numbers of a tensor come about. */
typedef struct Values {
  enum { kAbsent, kListed, kUniform, kChoose, kPermutation, kNone } kind;
  uint64_t seed;
  int count; /* listed values, or values to choose from or to avoid */
  const double* list;
  double low, high; /* kUniform */
  double step;      /* kPermutation */
} Values;

/* A type as a case names it. */
typedef struct TypeSpec {
  enum {
    kTheType,       /* dtype */
    kTypeT,         /* that of the case, "T" */
    kComputeTypeOfT /* that T is computed in, "compute" */
  } kind;
  TF_DataType dtype;
} TypeSpec;

typedef struct InputSpec {
  /* The op's argument, without the ".k" that marks an element of a list. */
  char argument[kMaxName];
  bool in_list;
  TypeSpec type;
  int rank;
  int64_t dims[kMaxRank];
  Values values;
} InputSpec;

typedef struct AttrSpec {
  char name[kMaxName];
  enum { kAttrInt, kAttrFloat, kAttrBool, kAttrString, kAttrType } kind;
  int64_t i; /* also the bool */
  TypeSpec type;
  double f;
  char s[kMaxName];
} AttrSpec;

/* One node of a chain of stock ops. An argument is the name of an input of the
 * case, of an earlier node, "upstream" (of output 0), or a number. */
typedef struct NodeSpec {
  char name[kMaxName];
  char op[kMaxName];
  int argument_count;
  char arguments[kMaxArguments][kMaxName];
} NodeSpec;

typedef struct Chain {
  int count;
  NodeSpec nodes[kMaxNodes];
} Chain;

typedef struct Case {
  char name[kMaxName];
  char op[kMaxName];
  int type_count;
  TF_DataType types[kMaxTypes];
  int attr_count;
  AttrSpec attrs[kMaxAttrs];
  int input_count;
  InputSpec inputs[kMaxInputs];
  /* Of each input. kAbsent: compared with differences; kNone: it has none;
   * kListed: golden values. */
  Values gradients[kMaxInputs];
  Values upstreams[kMaxOutputs];
  Values outputs[kMaxOutputs];
  Chain reference;
  Chain loss;
  double tolerance;     /* in unit roundoffs of the type */
  char error[kMaxName]; /* "" or the status expected, "InvalidArgument" */
  /* What its message contains: one of these, with " | " between them. */
  char fragments[kMaxFragments];
} Case;

typedef struct CaseList {
  int count;
  Case* cases;
} CaseList;

/* Appends the cases of a file. Returns false, after writing "file:line: what is
 * wrong" to stderr, when the file cannot be read or a line is malformed. What
 * the cases point to lives as long as the process. */
bool ReadCases(const char* path, CaseList* list);

/* The type that `spec` names when T is `type`. */
TF_DataType TypeOf(const TypeSpec* spec, TF_DataType type);

/* The type of input `index` when T is `type`. */
TF_DataType InputType(const Case* c, int index, TF_DataType type);

/* The values of input `index`; the caller frees the tensor. They are exact in
 * every type of the case, so that one reference serves all. */
Tensor MakeInput(const Case* c, int index, TF_DataType type);

/* The upstream gradient of output `index`, shaped as `output`. By default
 * uniform in [-2, 2]. */
Tensor MakeUpstream(const Case* c, int index, const Tensor* output);

/* Whether the case lists golden gradients; they take the place of central
 * differences. */
bool HasGoldenGradients(const Case* c);

/* Listed value `i`: a list shorter than the tensor repeats. */
double ListedValue(const Values* values, int64_t i);

/* Whether the list says what a tensor of this size is to hold: one value for
 * all, or exactly as many. */
bool ListFits(const Values* values, int64_t size);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENSORFLOW_EXT_TESTS_CLIENTS_HARNESS_CASE_H_ */
