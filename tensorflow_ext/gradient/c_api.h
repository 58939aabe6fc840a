/* This library's gradients for clients that do not link C++: plain C, no exceptions, the buffers
 * and statuses of TensorFlow's C API. Every function may be called from many threads.
 *
 * A client that only differentiates graphs needs none of this: loading the library (TF_LoadLibrary)
 * is enough for TF_AddGradients.
 *
 * The attributes of an op are passed as a serialized tensorflow.NodeDef: `op` is the op type and
 * `attr` holds its attributes. Attributes with a default may be missing. The name, inputs and
 * device are ignored. NULL with length 0 means no attributes.
 *
 * Errors of all functions that take an op: NOT_FOUND, the op or its gradient is not registered;
 * INVALID_ARGUMENT, the NodeDef does not parse or an attribute is missing or wrong;
 * FAILED_PRECONDITION, the gradient's definition is wrong (the message names the op, the node and
 * what differs).
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

/* The registries that know a gradient of an op: bits of TfExt_GradientRegistries(). */
enum {
  /* The function registry has a gradient (REGISTER_OP_GRADIENT). */
  TFEXT_FUNCTION_GRADIENT = 1,
  /* The function registry says the op has none (REGISTER_OP_NO_GRADIENT). */
  TFEXT_FUNCTION_NO_GRADIENT = 2,
  /* The client registry (C++ AddSymbolicGradients, C TF_AddGradients) has a gradient. */
  TFEXT_CLIENT_GRADIENT = 4,
  /* The client registry says the op has none. */
  TFEXT_CLIENT_NO_GRADIENT = 8,
  /* The client registry's entry is this library's: it expands the function gradient or
   * differentiates the functions that the node calls. Comes with TFEXT_CLIENT_GRADIENT. */
  TFEXT_CLIENT_BRIDGED = 16,
  /* This library's entry replaces a gradient of TensorFlow's. Comes with TFEXT_CLIENT_BRIDGED.
   * TFEXT_KEEP_TENSORFLOW_GRADIENTS=1 in the environment, when this library is loaded, keeps
   * TensorFlow's. */
  TFEXT_CLIENT_STANDS_IN = 32,
  /* Only the function runtime can use the function registry's gradient: it calls gradients of
   * functions by SymbolicGradient, or it ignores parts of the graph around the node that clients
   * can use. Comes with TFEXT_FUNCTION_GRADIENT. */
  TFEXT_FUNCTION_RUNTIME_ALONE = 64,
  /* The definition that TfExt_GradientPlan gives was registered through this library; otherwise it
   * is TensorFlow's. The function registry has the same one, unless
   * TFEXT_KEEP_TENSORFLOW_GRADIENTS=1 keeps TensorFlow's there. */
  TFEXT_FUNCTION_OWN = 128,
  /* This library's definition replaces TensorFlow's in the function registry. Comes with
   * TFEXT_FUNCTION_OWN. */
  TFEXT_FUNCTION_STANDS_IN = 256,
  /* The gradient was registered with TFEXT_GRADIENT_INSTEAD: it replaces every other, including
   * Python's. Comes with TFEXT_FUNCTION_OWN. */
  TFEXT_GRADIENT_ASKED_FOR = 512,
};

/* Returns the bits above for `op`; 0 if no registry knows the op. */
TFEXT_EXPORT uint32_t TfExt_GradientRegistries(const char* op);

/* Copies every function gradient to the client registry, for ops that have no gradient there, and
 * every REGISTER_OP_NO_GRADIENT of libraries loaded after this one. This happens by itself: when
 * this library is loaded, and when TensorFlow looks up an op after another library was loaded, as
 * it does for each new node. A call is needed only to learn how many ops gain a gradient, which it
 * returns. Other threads may differentiate meanwhile, but must not load a library: TensorFlow's
 * registries have no lock against two writers. */
TFEXT_EXPORT int64_t TfExt_RegisterGradients(void);

/* Writes the gradient of one op with the attributes of `node_def` (as above) into `function_def`,
 * as a serialized tensorflow.FunctionDef. Its arguments are the op's inputs and one upstream
 * gradient per output; its results are one gradient per input. Called from any thread, once for
 * each set of attributes that a client meets. A C++ exception must not leave it. */
typedef void (*TfExt_GradientCreator)(const void* node_def, size_t node_def_length, void* data,
                                      TF_Buffer* function_def, TF_Status* status);

/* Makes `creator` the gradient of `op` for every client: in the function registry, in the client
 * registry, and in Python. Python sees it when tensorflow_ext.load_op_library loads the library
 * that calls this function, otherwise at the next tensorflow_ext.gradients.register_all(). `op` may
 * be registered later. Each call of the creator receives `data`, which must live as long as the
 * process. Other threads may differentiate meanwhile, and get the old or the new gradient, but must
 * not load a library: TensorFlow's registries have no lock against two writers.
 *
 * Errors: ALREADY_EXISTS, a registry has a gradient of the op, or says that it has none, and
 * `precedence` is TFEXT_GRADIENT_NEW; INVALID_ARGUMENT, no op or no creator; FAILED_PRECONDITION,
 * this is the second copy of this library in the process, which registers nothing. */
TFEXT_EXPORT void TfExt_RegisterGradient(const char* op, TfExt_GradientCreator creator, void* data,
                                         TfExt_Precedence precedence, TF_Status* status);

/* The same for libraries that register while they are loaded, where no caller takes a status. An
 * error goes to TensorFlow's log and is kept for TfExt_TakeRegistrationErrors. Returns 1 if the
 * gradient was registered, else 0. */
TFEXT_EXPORT int TfExt_RegisterGradientAtLoad(const char* op, TfExt_GradientCreator creator,
                                              void* data, TfExt_Precedence precedence);

/* Writes into `errors` the errors of TfExt_RegisterGradientAtLoad and TfExt_RegisterFormula since
 * the last call, one per line. The program that loads a library should call it. */
TFEXT_EXPORT void TfExt_TakeRegistrationErrors(TF_Buffer* errors, TF_Status* status);

/* Writes into `names` the ops that have a gradient in the function registry, one per line, sorted.
 * Ops that only TensorFlow's runtime adds (their names begin with '_') are not listed. The caller
 * owns `names` (TF_NewBuffer, TF_DeleteBuffer). */
TFEXT_EXPORT void TfExt_ListOps(TF_Buffer* names, TF_Status* status);

/* Writes into `function_def` the gradient of an op with these attributes as a serialized
 * tensorflow.FunctionDef, as its author wrote it, after checking it against the op. Its arguments
 * are the op's inputs and one upstream gradient per output; its results are one gradient per
 * input. */
TFEXT_EXPORT void TfExt_GradientFunctionDef(const void* node_def, size_t node_def_length,
                                            TF_Buffer* function_def, TF_Status* status);

/* Writes into `plan` the nodes that a client must run for that gradient, as a serialized
 * tensorflow.GraphDef. It is the body with all attributes filled in; every node comes after its
 * inputs. Nodes that feed no wanted gradient are left out, and outputs of the forward op replace
 * nodes that would compute it again.
 *
 * With I inputs and O outputs of the op (list arguments counted one by one):
 *   - A node of type _Arg with attribute index = k is input k (k < I), upstream
 *     gradient k - I (k < I + O) or output k - I - O of the forward op. Only
 *     those that are used appear.
 *   - A node of type _Retval with attribute index = k marks its input as the
 *     gradient of input k. Without such a node, input k has no gradient: its
 *     type cannot have one, the definition says so (TfExt>NoGradient), or it
 *     was not wanted.
 * Node inputs are "name:index" (an index among all outputs of that node) or
 * "^name". A missing upstream gradient means zeros of that output's shape,
 * which the client makes.
 *
 * `wanted` holds 1 for each of the I inputs whose gradient is wanted, else 0; NULL asks for all. */
TFEXT_EXPORT void TfExt_GradientPlan(const void* node_def, size_t node_def_length,
                                     const uint8_t* wanted, size_t wanted_length, TF_Buffer* plan,
                                     TF_Status* status);

/* Checks the gradient of the op that `node_def` names for all types that the op admits. Attributes
 * that it gives keep their values. Types that it does not give take every value that the OpDef
 * allows (some of each kind if it allows all); other attributes take their defaults. A definition
 * may refuse some types by UNIMPLEMENTED, but not all. Errors: those above, with the types at the
 * start of the message; INVALID_ARGUMENT also if a required attribute has no default. */
TFEXT_EXPORT void TfExt_CheckDefinition(const void* node_def, size_t node_def_length,
                                        TF_Status* status);

/* The debug switch. A gradient has the shape of its input. If both shapes are known when it is
 * added to a graph, a mismatch is an error at once. With `check` 1, a node in the graph
 * (TfExt>CheckGradientShape) checks the other gradients when they are computed; 0 turns this off
 * and -1 changes nothing. The setting applies to gradients that are added from now on, in all
 * clients. Returns the previous setting; at first it is 1 if TFEXT_CHECK_GRADIENTS is set in the
 * environment (to anything but 0), else 0. */
TFEXT_EXPORT int TfExt_CheckGradientShapes(int check);

/* Allows wrong gradients. A node may name another gradient than that of its op (the attribute
 * _gradient_op_type, which tf.custom_gradient writes). If the graph does not have that gradient,
 * the gradients through the node are an error (FAILED_PRECONDITION), which says how to hand the
 * model over (saved_model/use_model_gradients.h). With `allow` 1 the op's own gradient is used
 * instead, which differs; 0 turns this off and -1 changes nothing. Returns the previous
 * setting; at first it is 1 if TFEXT_ALLOW_MISSING_GRADIENTS is set in the environment (to anything
 * but 0), else 0. */
TFEXT_EXPORT int TfExt_AllowMissingGradients(int allow);

/* The gradient that TfExt_AddGradients gives for an x that no y depends on. */
typedef enum TfExt_Unconnected {
  /* No tensor: its operation is NULL. */
  TFEXT_UNCONNECTED_NONE = 0,
  /* Zeros of the shape of x; of the variable, if x is its handle. */
  TFEXT_UNCONNECTED_ZEROS = 1,
} TfExt_Unconnected;

/* TF_AddGradientsWithPrefix with these differences:
 *   - An x from which no path leads to y is no error: see `unconnected`.
 *   - The gradients are right if one y lies on the way to another;
 *     TF_AddGradients may lose an upstream gradient there.
 *   - Graphs that end the process there give an error here: loops of TensorFlow
 *     1 in an imported graph (functionalize/functionalize_graph_def.h turns them
 *     into While ops), and loops of TF_NewWhile with some outputs that have no
 *     gradient.
 * y: `ny` tensors, at least one. x: `nx` tensors. dx: NULL (ones) or `ny`
 * upstream gradients, of the type and shape of y. dy receives `nx` gradients,
 * of the type and shape of x (of the variable, if x is its handle). `prefix`:
 * starts the names of the nodes; may be NULL.
 *
 * Errors: INVALID_ARGUMENT, a tensor is NULL or has an index that its operation does not have, or
 * zeros are wanted for a handle whose variable's type is unknown; FAILED_PRECONDITION, a call,
 * branch or loop must also return values of its forward pass, such as random draws, and a session
 * has its node (then TfExt_InlineCalls helps); UNIMPLEMENTED, a loop of TensorFlow 1; otherwise the
 * errors of the gradients. An error leaves dy unchanged. */
TFEXT_EXPORT void TfExt_AddGradients(TF_Graph* graph, const char* prefix, TF_Output* y, int ny,
                                     TF_Output* x, int nx, TF_Output* dx, TF_Status* status,
                                     TF_Output* dy, TfExt_Unconnected unconnected);

/* Adds nodes to the graph that compute `outputs` without function calls, and writes into `inlined`
 * the `n` tensors that replace `outputs`.
 *
 * Copies the nodes between a call and `outputs`, with the call's body in its place as plain nodes;
 * calls in the body are replaced too. Existing nodes do not change, so a session may already have
 * run (TF_LoadSessionFromSavedModel). A call that XLA compiles stays a call. An output to which no
 * call leads, nor a branch or loop that draws random numbers or updates variables, stays as it is;
 * such branches and loops are copied.
 *
 * The gradient of a call (TF_AddGradients through PartitionedCall or StatefulPartitionedCall) runs
 * the function a second time. The gradient of `inlined` does not, which saves a forward pass. It
 * also differentiates what a session already has and what may not run again, such as random numbers
 * (dropout) or updates of variables (batch normalization in training). Run `inlined` in
 * place of `outputs`, not both: each draws its own random numbers. The side effects of the calls
 * happen whenever any tensor of `inlined` is computed.
 *
 * Errors: INVALID_ARGUMENT, as above; NOT_FOUND, a function is not in the graph; UNIMPLEMENTED, a
 * function calls itself. An error leaves `inlined` unchanged. */
TFEXT_EXPORT void TfExt_InlineCalls(TF_Graph* graph, const TF_Output* outputs, int n,
                                    TF_Output* inlined, TF_Status* status);

/* The same for a graph given as a serialized tensorflow.GraphDef, its library included. `outputs`:
 * tensors as "node:index", one per line. Writes into `nodes` the nodes to add, as a serialized
 * GraphDef whose inputs come from these nodes or from the graph, and into `inlined` the tensors,
 * one per line. */
TFEXT_EXPORT void TfExt_InlineCallsOfGraphDef(const void* graph_def, size_t graph_def_length,
                                              const char* outputs, TF_Buffer* nodes,
                                              TF_Buffer* inlined, TF_Status* status);

/* A gradient by a table from which rows were gathered: row k of `values` belongs to row indices[k]
 * of the table, and all other rows are zero. Python calls this IndexedSlices. */
typedef struct TfExt_Slices {
  /* [n, ...], of the type of the gradient. */
  TF_Output values;
  /* [n], int32 or int64. */
  TF_Output indices;
  /* The shape of the table, a vector of the type of `indices`. */
  TF_Output shape;
} TfExt_Slices;

/* The treatment of a row that was gathered more than once. */
typedef enum TfExt_RepeatedIndices {
  /* Its index is repeated, with a part of the gradient each time. ResourceScatterSub and
   * ResourceScatterAdd add these up. */
  TFEXT_REPEATED_STAY = 0,
  /* Its parts are summed, so no two indices are equal. ResourceSparseApplyAdam, -Adagrad, -Momentum
   * and the like need this, and Python's optimizers do it too. */
  TFEXT_REPEATED_SUMMED = 1,
} TfExt_RepeatedIndices;

/* Turns gradients that TF_AddGradients or TfExt_AddGradients added into slices. A step that uses
 * the slices then computes only rows that were gathered, not the whole table.
 *
 * `gradients`: `n` tensors; pass all gradients of a step at once. One whose operation is NULL stays
 * so. For gradient k either slices[k] receives the slices and dense[k] becomes NULL, or dense[k]
 * receives the gradient, slices[k] becomes NULLs, and line k of `reasons` (may be NULL, otherwise
 * an empty buffer) names the node that made it dense. Run these tensors in place of `gradients`:
 * the functions that return slices replace those that return the same gradients. `dense` may be
 * `gradients`.
 *
 * A gradient becomes slices if it is a sum of gradients of Gather, GatherV2 along axis 0,
 * ResourceGather (both without batch dimensions) and SparseSegmentSum, -Mean and -SqrtN, with which
 * tf.nn.embedding_lookup_sparse reads a table. These may be in called functions (PartitionedCall,
 * StatefulPartitionedCall) and branches (If, Case), and what they read may be the table cast,
 * negated or multiplied by a constant scalar. The gradient is dense as a whole if another op uses
 * the table too, or a loop (While). The order of the indices is that of the sum.
 *
 * Existing nodes do not change, so a session may already have run.
 *
 * Errors: INVALID_ARGUMENT, as above; NOT_FOUND, a function is not in the graph. An error leaves
 * `dense` and `slices` unchanged. */
TFEXT_EXPORT void TfExt_SliceGradients(TF_Graph* graph, const TF_Output* gradients, int n,
                                       TfExt_RepeatedIndices repeated, TF_Output* dense,
                                       TfExt_Slices* slices, TF_Buffer* reasons, TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENSORFLOW_EXT_GRADIENT_C_API_H_ */
