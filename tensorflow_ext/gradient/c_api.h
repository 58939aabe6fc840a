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

#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

#define TFEXT_EXPORT __attribute__((visibility("default")))

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
};

/* The bits above for `op`; 0 for an op that no registry knows. */
TFEXT_EXPORT uint32_t TfExt_GradientRegistries(const char* op);

/* Hands to the client registry the function gradient of every op that has one
 * there and none in the client registry. Done once when this library is loaded;
 * call it again after another op library was loaded. Returns how many ops were
 * added.
 * TensorFlow's client registry has no lock: do not call this while another
 * thread is inside TF_AddGradients or AddSymbolicGradients. */
TFEXT_EXPORT int64_t TfExt_RegisterGradients(void);

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

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENSORFLOW_EXT_GRADIENT_C_API_H_ */
