/* The C interface below the short-hand for gradients (formula/formula.h). It builds a definition
 * call by call. A library of formulas therefore needs neither TensorFlow's headers nor its C++, and
 * libraries built with different versions of the short-hand work in one process. Authors of
 * gradients write C++ with formula.h; this interface is for authors of a short-hand in another
 * language.
 *
 * A writer is called with a TfExt_Body, from any thread, whenever a client wants the gradient of
 * its op for new attributes. Tensors of the body are numbers: the op's inputs are 0, 1, ..., then
 * come the upstream gradients of its outputs, then the outputs of nodes. List arguments count one
 * by one. TFEXT_NO_TENSOR means that a call failed; in TfExt_BodyReturn it means that an input has
 * no gradient. The first failure becomes the definition's error, which every client reports. All
 * calls after it fail too.
 *
 * Types are the numbers of tensorflow.DataType (1 is float). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifndef TFEXT_EXPORT
#define TFEXT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TfExt_Body TfExt_Body;

/* Writes the gradient of one op with one set of attributes. A C++ exception must not leave it. */
typedef void (*TfExt_FormulaWriter)(TfExt_Body* body, void* data);

/* The effect of a registration if a registry, of C and C++ clients or of the function runtime,
 * already has a gradient of the op. */
typedef enum TfExt_Precedence {
  /* An error. */
  TFEXT_GRADIENT_NEW = 0,
  /* The new gradient replaces any other in every client. Plans that clients have made with the
   * other one are dropped; graphs keep their nodes. */
  TFEXT_GRADIENT_INSTEAD = 1,
} TfExt_Precedence;

/* Registers `writer` as the gradient of `op`, as TfExt_RegisterGradient of c_api.h does, with the
 * same errors. For libraries that register while they are loaded, where no caller takes a status:
 * an error goes to TensorFlow's log and is kept for TfExt_TakeRegistrationErrors. Each call of the
 * writer receives `data`, which must live as long as the process. Returns 1 if the formula was
 * registered, else 0. */
TFEXT_EXPORT int TfExt_RegisterFormula(const char* op, TfExt_FormulaWriter writer, void* data,
                                       TfExt_Precedence precedence);

/* ---- The op. Strings belong to the body and live as long as it
 * does. */

TFEXT_EXPORT const char* TfExt_BodyOp(const TfExt_Body* body);
TFEXT_EXPORT int TfExt_BodyNumInputs(const TfExt_Body* body);
TFEXT_EXPORT int TfExt_BodyNumOutputs(const TfExt_Body* body);
/* Returns the first tensor of the op's argument `name`, a list or not, and their number in
 * `count`. */
TFEXT_EXPORT int TfExt_BodyInputs(TfExt_Body* body, const char* name, int* count);
/* Input, upstream gradient, and output `i` of the op. In the function runtime, an output runs the
 * op once more; elsewhere the existing output is used. */
TFEXT_EXPORT int TfExt_BodyInput(TfExt_Body* body, int i);
TFEXT_EXPORT int TfExt_BodyUpstream(TfExt_Body* body, int i);
TFEXT_EXPORT int TfExt_BodyOutput(TfExt_Body* body, int i);
/* The type of a tensor; 0 (DT_INVALID) for TFEXT_NO_TENSOR. */
TFEXT_EXPORT int TfExt_BodyType(const TfExt_Body* body, int tensor);

#define TFEXT_NO_TENSOR (-1)

/* ---- Attributes. */

typedef struct TfExt_String {
  const char* data;
  size_t length;
} TfExt_String;

/* The gradient of the function, or of each of the functions, in the op's attribute `function`; see
 * GradientOf in formula.h. */
typedef struct TfExt_GradientOf {
  const char* function;
  const int32_t* inputs;
  size_t num_inputs;
  const int32_t* results;
  size_t num_results;
} TfExt_GradientOf;

/* The type that `elements` of a TfExt_Attribute points to. */
typedef enum TfExt_AttributeKind {
  TFEXT_ATTRIBUTE_BOOL = 0,        /* uint8_t */
  TFEXT_ATTRIBUTE_INT = 1,         /* int64_t */
  TFEXT_ATTRIBUTE_FLOAT = 2,       /* float */
  TFEXT_ATTRIBUTE_STRING = 3,      /* TfExt_String */
  TFEXT_ATTRIBUTE_TYPE = 4,        /* int32_t */
  TFEXT_ATTRIBUTE_INTS = 5,        /* the same, `count` of them */
  TFEXT_ATTRIBUTE_FLOATS = 6,      /* */
  TFEXT_ATTRIBUTE_STRINGS = 7,     /* */
  TFEXT_ATTRIBUTE_TYPES = 8,       /* */
  TFEXT_ATTRIBUTE_OF_OP = 9,       /* TfExt_String: an attribute of the op */
  TFEXT_ATTRIBUTE_ANY_SHAPE = 10,  /* nothing: a shape of unknown rank */
  TFEXT_ATTRIBUTE_ANY_SHAPES = 11, /* nothing: `count` of these */
  TFEXT_ATTRIBUTE_GRADIENT_OF = 12 /* TfExt_GradientOf */
} TfExt_AttributeKind;

typedef struct TfExt_Attribute {
  const char* name;
  TfExt_AttributeKind kind;
  const void* elements;
  size_t count;
} TfExt_Attribute;

/* Fills in `elements` and `count` of an attribute of the op, given its name and kind (BOOL to
 * TYPES). Returns 0, a failure, if the op has no attribute of that name and kind. */
TFEXT_EXPORT int TfExt_BodyAttribute(TfExt_Body* body, TfExt_Attribute* attribute);

/* ---- The body. */

/* An argument of a node: a tensor, or a list of them. */
typedef struct TfExt_Argument {
  const int* tensors;
  int count;
  int is_list;
} TfExt_Argument;

/* Sets the line of the author's file that the next calls come from, for errors. `file` must live as
 * long as the process. */
TFEXT_EXPORT void TfExt_BodySetLine(TfExt_Body* body, const char* file, int line);
/* Adds a node. Attributes that follow from its inputs may be missing. Returns the first of its
 * outputs, which have consecutive numbers, and their count in `num_outputs`; returns 0 if it has
 * none. */
TFEXT_EXPORT int TfExt_BodyNode(TfExt_Body* body, const char* op, const TfExt_Argument* arguments,
                                int num_arguments, const TfExt_Attribute* attributes,
                                int num_attributes, int* num_outputs);
/* A constant of any numeric type, or bool: a scalar, or a vector. */
TFEXT_EXPORT int TfExt_BodyConstant(TfExt_Body* body, const double* numbers, int count,
                                    int is_vector, int type);
/* Returns `tensor`, computed only after `first`: Identity with a control input. */
TFEXT_EXPORT int TfExt_BodyAfter(TfExt_Body* body, int tensor, int first);

/* ---- The end. */

/* Sets the gradient of each input. It must be called once. */
TFEXT_EXPORT void TfExt_BodyReturn(TfExt_Body* body, const int* gradients, int count);
/* Ends the definition with an error. `code`: a TF_Code. */
TFEXT_EXPORT void TfExt_BodyFail(TfExt_Body* body, int code, const char* message);

#ifdef __cplusplus
} /* extern "C" */
#endif
