/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradients of this library for everyone who does not link C++: plain C,
 * no exceptions, buffers and statuses of TensorFlow's C API. Every function may
 * be called from many threads.
 *
 * A client that only differentiates graphs needs none of this: loading the
 * library (TF_LoadLibrary) is enough for TF_AddGradients.
 *
 * Attributes of an op travel as a serialized tensorflow.NodeDef: `op` is the op
 * type, `attr` its attributes (those with a default may be missing); name,
 * inputs and device are ignored. NULL with length 0 stands for no attributes.
 *
 * Errors common to all that take an op: NOT_FOUND, the op is not registered or
 * no gradient is; INVALID_ARGUMENT, the NodeDef does not parse or an attribute
 * is missing or wrong; FAILED_PRECONDITION, the gradient's definition is wrong
 * (the message names the op, the node and what differs).
 */
#ifndef TENSORFLOW_EXT_GRADIENT_C_API_H_
#define TENSORFLOW_EXT_GRADIENT_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/formula_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which registries know a gradient of an op: bits of
 * TfExt_GradientRegistries(). */
enum {
  /* The function registry has a gradient (REGISTER_OP_GRADIENT). */
  TFEXT_FUNCTION_GRADIENT = 1,
  /* The function registry says the op has none (REGISTER_OP_NO_GRADIENT). */
  TFEXT_FUNCTION_NO_GRADIENT = 2,
  /* The client registry (C++ AddSymbolicGradients, C TF_AddGradients) has a
   * gradient. */
  TFEXT_CLIENT_GRADIENT = 4,
  /* The client registry says the op has none. */
  TFEXT_CLIENT_NO_GRADIENT = 8,
  /* The client registry's entry is this library's: it expands the function
   * gradient, or differentiates the functions that the node calls. Comes with
   * TFEXT_CLIENT_GRADIENT. */
  TFEXT_CLIENT_BRIDGED = 16,
  /* ... and stands in for one that TensorFlow has. Comes with
   * TFEXT_CLIENT_BRIDGED. TFEXT_KEEP_TENSORFLOW_GRADIENTS=1 in the environment,
   * when this library is loaded, keeps TensorFlow's. */
  TFEXT_CLIENT_STANDS_IN = 32,
  /* The function registry's gradient is for the function runtime alone: it
   * calls gradients of functions by SymbolicGradient, or asks less of the graph
   * around the node than clients can. Comes with TFEXT_FUNCTION_GRADIENT. */
  TFEXT_FUNCTION_RUNTIME_ALONE = 64,
  /* The definition that TfExt_GradientPlan gives was registered through this
   * library; else it is TensorFlow's. The function registry has the same one,
   * unless TFEXT_KEEP_TENSORFLOW_GRADIENTS=1 keeps TensorFlow's there. */
  TFEXT_FUNCTION_OWN = 128,
  /* ... and is in the function registry in the place of one that TensorFlow
   * has. Comes with TFEXT_FUNCTION_OWN. */
  TFEXT_FUNCTION_STANDS_IN = 256,
  /* It was registered with TFEXT_GRADIENT_INSTEAD: it takes the place of every
   * other, Python's too. Comes with TFEXT_FUNCTION_OWN. */
  TFEXT_GRADIENT_ASKED_FOR = 512,
};

/* The bits above for `op`; 0 for an op that no registry knows. */
TFEXT_EXPORT uint32_t TfExt_GradientRegistries(const char* op);

/* Hands to the client registry the function gradient of every op that has one
 * there and none in the client registry, and the word of libraries that were
 * loaded after this one that an op has none (REGISTER_OP_NO_GRADIENT). Done
 * once when this library is loaded; call it again after another op library was
 * loaded. Returns how many ops have a gradient there now that had none. Other
 * threads may differentiate meanwhile, but not load a library: TensorFlow's
 * registries have no lock that would keep two writers apart. */
TFEXT_EXPORT int64_t TfExt_RegisterGradients(void);

/* Writes the gradient of one op with the attributes of `node_def` (as above)
 * into `function_def`, as a serialized tensorflow.FunctionDef: its arguments
 * are the op's inputs and one upstream gradient per output, its results one
 * gradient per input. Called from any thread, once for each set of attributes
 * that a client meets. Must not let a C++ exception out. */
typedef void (*TfExt_GradientCreator)(const void* node_def,
                                      size_t node_def_length, void* data,
                                      TF_Buffer* function_def,
                                      TF_Status* status);

/* Makes `creator` the gradient of `op` for every client: in the function
 * registry and the client registry, and in Python, where
 * tensorflow_ext.load_op_library loads the library that calls this (else at the
 * next tensorflow_ext.gradients.register_all()). `op` may be registered later.
 * `data` is handed to each call of the creator and is to live as long as the
 * process. Other threads may differentiate meanwhile, by the old gradient or by
 * the new one, but not load a library: TensorFlow's registries have no lock
 * that would keep two writers apart.
 *
 * Errors: ALREADY_EXISTS, a registry has a gradient of the op, or says that it
 * has none, and `precedence` is TFEXT_GRADIENT_NEW; INVALID_ARGUMENT, no op or
 * no creator; FAILED_PRECONDITION, this is the second copy of this library in
 * the process, which registers nothing. */
TFEXT_EXPORT void TfExt_RegisterGradient(const char* op,
                                         TfExt_GradientCreator creator,
                                         void* data,
                                         TfExt_Precedence precedence,
                                         TF_Status* status);

/* The same for libraries that register while they are loaded and have nobody to
 * give a status to: an error is written to TensorFlow's log, and kept for
 * TfExt_TakeRegistrationErrors. Returns whether it was registered (1 or 0). */
TFEXT_EXPORT int TfExt_RegisterGradientAtLoad(const char* op,
                                              TfExt_GradientCreator creator,
                                              void* data,
                                              TfExt_Precedence precedence);

/* Writes into `errors` what went wrong in TfExt_RegisterGradientAtLoad and
 * TfExt_RegisterFormula since this was last asked, one a line. Whoever loads a
 * library asks after it. */
TFEXT_EXPORT void TfExt_TakeRegistrationErrors(TF_Buffer* errors,
                                               TF_Status* status);

/* Writes into `names` the ops whose gradient the function registry holds, one a
 * line, sorted, without those that only TensorFlow's runtime adds (their names
 * begin with '_'). The caller owns `names` (TF_NewBuffer, TF_DeleteBuffer). */
TFEXT_EXPORT void TfExt_ListOps(TF_Buffer* names, TF_Status* status);

/* Writes into `function_def` the gradient of an op with these attributes as a
 * serialized tensorflow.FunctionDef, as its author wrote it, after checking it
 * against the op: its arguments are the op's inputs and one upstream gradient
 * per output, its results one gradient per input. */
TFEXT_EXPORT void TfExt_GradientFunctionDef(const void* node_def,
                                            size_t node_def_length,
                                            TF_Buffer* function_def,
                                            TF_Status* status);

/* Writes into `plan` what a client has to run for that gradient, as a
 * serialized tensorflow.GraphDef: the body with all attributes filled in, in an
 * order in which every node follows its inputs, without the nodes that feed no
 * wanted gradient, and with the outputs of the forward op in place of nodes
 * that would compute it again.
 *
 * With I inputs and O outputs of the op (list arguments counted one by one):
 *   - a node of type _Arg with attribute index = k stands for input k (k < I),
 *     upstream gradient k - I (k < I + O) or output k - I - O of the forward
 *     op. Only those that are used appear;
 *   - a node of type _Retval with attribute index = k says that its input is
 *     the gradient of input k. Where there is none, input k has no gradient:
 *     its type cannot have one, the definition says so (TfExt>NoGradient), or
 *     it was not wanted.
 * Node inputs are "name:index" (index among all outputs of that node) or
 * "^name". An upstream gradient that is missing is zeros of that output's
 * shape: the client makes them.
 *
 * `wanted`: for each of the I inputs, whether its gradient is asked for (0 or
 * 1); NULL asks for all. */
TFEXT_EXPORT void TfExt_GradientPlan(const void* node_def,
                                     size_t node_def_length,
                                     const uint8_t* wanted,
                                     size_t wanted_length, TF_Buffer* plan,
                                     TF_Status* status);

/* Checks the gradient of the op that `node_def` names for all types that the op
 * admits. Attributes that it gives keep their values; of the others, types take
 * all that the OpDef allows (some of each kind, where it allows all), the rest
 * their defaults. A definition may refuse some types by UNIMPLEMENTED, not all.
 * Errors: those above; the message begins with the types. INVALID_ARGUMENT also
 * where an attribute has to be given because it has no default. */
TFEXT_EXPORT void TfExt_CheckDefinition(const void* node_def,
                                        size_t node_def_length,
                                        TF_Status* status);

/* The debug switch. A gradient has the shape of its input; where both shapes
 * are known when it is added to a graph, another one is an error then. With
 * `check` 1 a node in the graph (TfExt>CheckGradientShape) checks the others
 * when they are computed; with 0 none does; -1 changes nothing. Says so for
 * gradients that are added from now on, in all clients. Returns what was
 * before: at first 1 if TFEXT_CHECK_GRADIENTS is set in the environment (to
 * anything but 0), else 0. */
TFEXT_EXPORT int TfExt_CheckGradientShapes(int check);

/* What TfExt_AddGradients gives for an x of which no y depends. */
typedef enum TfExt_Unconnected {
  /* No tensor: an operation of NULL. */
  TFEXT_UNCONNECTED_NONE = 0,
  /* Zeros of the shape of x; of the variable, if x is its handle. */
  TFEXT_UNCONNECTED_ZEROS = 1,
} TfExt_Unconnected;

/* TF_AddGradientsWithPrefix with its arguments, and more than that:
 *   - an x from which no path leads to y is no error: see `unconnected`;
 *   - the gradients are right where one y lies on the way to another, where
 *     TF_AddGradients may lose an upstream gradient;
 *   - what ends the process there is an error here: loops of TensorFlow 1 in an
 *     imported graph, and loops of TF_NewWhile of which some outputs have no
 *     gradient.
 * y: `ny` tensors, at least one. x: `nx` tensors. dx: NULL (ones) or `ny`
 * upstream gradients, of the type and shape of y. dy receives `nx` gradients,
 * of the type and shape of x (of the variable, where x is its handle). `prefix`
 * of the names of the nodes, or NULL.
 * Errors: INVALID_ARGUMENT, a tensor is NULL or has an index that its operation
 * has not, or zeros are asked for of a handle whose variable's type is not
 * known; UNIMPLEMENTED, a loop, or a call that may not run again (then
 * TfExt_InlineCalls helps); else those of the gradients. After an error dy is
 * as it was. */
TFEXT_EXPORT void TfExt_AddGradients(TF_Graph* graph, const char* prefix,
                                     TF_Output* y, int ny, TF_Output* x, int nx,
                                     TF_Output* dx, TF_Status* status,
                                     TF_Output* dy,
                                     TfExt_Unconnected unconnected);

/* Adds to the graph what computes `outputs` without calls of functions, and
 * writes into `inlined` the `n` tensors that take the place of `outputs`.
 *
 * What lies between a call and `outputs` is copied, the call's body in its
 * place as plain nodes, and so on with the calls therein. Nothing that exists
 * is changed, so a session may have run already (TF_LoadSessionFromSavedModel).
 * An output that no call leads to stays as it is.
 *
 * The gradient of a call (TF_AddGradients through PartitionedCall or
 * StatefulPartitionedCall) runs the function a second time. The gradient of
 * `inlined` does not: it is cheaper by a forward pass, and right for what may
 * not run again, as random numbers (dropout) or updates of what is read (batch
 * normalization in training). Run `inlined` in place of `outputs`, not both:
 * the two draw numbers of their own. What the calls do beside computing their
 * results happens whenever one of `inlined` is computed.
 *
 * Errors: INVALID_ARGUMENT, as above; NOT_FOUND, a function is not in the
 * graph; UNIMPLEMENTED, a function calls itself. `inlined` is then as it was.
 */
TFEXT_EXPORT void TfExt_InlineCalls(TF_Graph* graph, const TF_Output* outputs,
                                    int n, TF_Output* inlined,
                                    TF_Status* status);

/* The same for a graph that is a serialized tensorflow.GraphDef, its library
 * included. `outputs`: tensors as "node:index", one a line. Writes into `nodes`
 * the nodes to add, as a serialized GraphDef whose inputs are of these nodes or
 * of the graph, and into `inlined` the tensors, one a line. */
TFEXT_EXPORT void TfExt_InlineCallsOfGraphDef(
    const void* graph_def, size_t graph_def_length, const char* outputs,
    TF_Buffer* nodes, TF_Buffer* inlined, TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENSORFLOW_EXT_GRADIENT_C_API_H_ */
