/* Gradients in eager mode, for clients of the eager C API (TFE_*): a tape records the ops that run
 * on the tensors that it watches, and differentiates them.
 *
 *   TfExt_Tape* tape = TfExt_NewTape(context, 0, status);
 *   TfExt_TapeWatch(tape, x, status);
 *   ... TFE_Execute ops that lead from x to y, as always ...
 *   TfExt_TapeGradient(tape, &y, 1, &x, 1, NULL, TFEXT_UNCONNECTED_NONE, status, &dx);
 *   TfExt_DeleteTape(tape);
 *
 * A tape sees every op of its context, whoever runs it (TFE_Execute, or the wrappers of a
 * language), and copies by TFE_TensorHandleCopyToDevice. Tensors and devices stay as they are. An
 * op is recorded if a tape watches one of its inputs; then the tape also watches its outputs.
 * Several tapes may record at once. A gradient runs ops too, so a second tape that watches x while
 * the first one's gradient is computed gives the second order.
 *
 * x is a tensor, or the handle of a variable (DT_RESOURCE), whose gradient is that of its value. A
 * tape identifies a tensor by its TFE_TensorHandle: a second handle that the program makes from the
 * same memory is another tensor.
 *
 * Threads: every function may be called from any thread. A tape may be shared: it records what any
 * thread runs on tensors that it watches.
 * Memory: a tape keeps what the gradients of recorded ops need, and frees it when no tensor that
 * the program still has depends on it. Delete the tapes of a context before the context.
 *
 * Errors of all functions: INVALID_ARGUMENT, a NULL or a wrong argument. An error leaves the
 * results unchanged.
 */
#pragma once

#include <stdint.h>

#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TfExt_Tape TfExt_Tape;

/* Bits of the options of TfExt_NewTape. */
enum {
  /* The tape gives more than one gradient. Without it, a tape is used up by its first gradient,
   * which frees tensors while it is computed. */
  TFEXT_TAPE_PERSISTENT = 1,
  /* The tape watches only what TfExt_TapeWatch says. Without it, the tape also watches each
   * variable that the thread which made the tape reads. */
  TFEXT_TAPE_WATCH_NO_VARIABLES = 2,
};

/* A tape that records what runs in `context` from now on. FAILED_PRECONDITION: this process does
 * not let the library see eager ops. */
TFEXT_EXPORT TfExt_Tape* TfExt_NewTape(TFE_Context* context, uint32_t options, TF_Status* status);

/* Stops recording and frees what the tape keeps. NULL is allowed. */
TFEXT_EXPORT void TfExt_DeleteTape(TfExt_Tape* tape);

/* Watches `x`, a tensor of half, bfloat16, float, double or a complex type, or the handle of a
 * variable. Ops that ran before are not recorded. */
TFEXT_EXPORT void TfExt_TapeWatch(TfExt_Tape* tape, TFE_TensorHandle* x, TF_Status* status);

/* Stops and resumes recording; what is recorded stays. FAILED_PRECONDITION: the tape is used up. */
TFEXT_EXPORT void TfExt_TapeStop(TfExt_Tape* tape, TF_Status* status);
TFEXT_EXPORT void TfExt_TapeResume(TfExt_Tape* tape, TF_Status* status);

/* Forgets everything that is recorded and watched, and records anew; also a tape that is used up.
 */
TFEXT_EXPORT void TfExt_TapeReset(TfExt_Tape* tape, TF_Status* status);

/* The gradients of the sum of `ny` tensors `y` by `nx` tensors or variables `x`. dy: NULL (ones),
 * or `ny` upstream gradients of the type and shape of y, or NULL for ones. dx receives `nx` new
 * handles of the type and shape of x (of the variable, if x is its handle). For an x that no y
 * depends on, NULL or zeros, as `unconnected` says.
 *
 * Errors: FAILED_PRECONDITION, the tape is used up, or it does not watch an x that is no variable;
 * NOT_FOUND, an op on the way has no gradient (the message names it); otherwise the errors of the
 * gradients and of the ops that they run. */
TFEXT_EXPORT void TfExt_TapeGradient(TfExt_Tape* tape, TFE_TensorHandle* const* y, int ny,
                                     TFE_TensorHandle* const* x, int nx,
                                     TFE_TensorHandle* const* dy, TfExt_Unconnected unconnected,
                                     TF_Status* status, TFE_TensorHandle** dx);

/* A gradient by the rows that were gathered: values[k] is added to row indices[k] of zeros of the
 * shape `shape`. Python calls this IndexedSlices. */
typedef struct TfExt_TapeSlices {
  /* [n, ...], of the type of x. */
  TFE_TensorHandle* values;
  /* [n], int32 or int64. */
  TFE_TensorHandle* indices;
  /* The shape of x, a vector of the type of `indices`. */
  TFE_TensorHandle* shape;
} TfExt_TapeSlices;

/* As TfExt_TapeGradient, but a gradient that is zero in all rows except those that were gathered is
 * given as these rows, and no dense one is computed. For each x, either slices[k] receives three
 * new handles and dense[k] becomes NULL, or dense[k] receives what TfExt_TapeGradient gives,
 * slices[k] becomes NULLs, and line k of `reasons` (may be NULL, otherwise an empty buffer) says
 * why.
 *
 * Slices come from Gather, GatherV2 along axis 0, ResourceGather (without batch dimensions) and
 * SparseSegmentSum, -Mean and -SqrtN, and pass ops whose gradient is the upstream gradient, such as
 * ReadVariableOp and Identity. Those of several such ops follow one another. If another op uses x
 * too, or a function gathers, the gradient is dense as a whole. `repeated`: see
 * TfExt_RepeatedIndices. */
TFEXT_EXPORT void TfExt_TapeGradientSlices(
    TfExt_Tape* tape, TFE_TensorHandle* const* y, int ny, TFE_TensorHandle* const* x, int nx,
    TFE_TensorHandle* const* dy, TfExt_Unconnected unconnected, TfExt_RepeatedIndices repeated,
    TF_Status* status, TFE_TensorHandle** dense, TfExt_TapeSlices* slices, TF_Buffer* reasons);

/* The Jacobians of `y` by each x, of shape [shape of y, shape of x]: a gradient for each element of
 * y, in a loop. The shape of y must be known. Errors as above. */
TFEXT_EXPORT void TfExt_TapeJacobian(TfExt_Tape* tape, TFE_TensorHandle* y,
                                     TFE_TensorHandle* const* x, int nx,
                                     TfExt_Unconnected unconnected, TF_Status* status,
                                     TFE_TensorHandle** dx);

/* Forward mode: the derivative of each y in the direction `tangents` of the x, of the type and
 * shape of y. It differentiates the gradient by its upstream gradient, so each op on the way needs
 * a gradient of second order. For a y that depends on no x, NULL or zeros. Errors as above. */
TFEXT_EXPORT void TfExt_TapeJvp(TfExt_Tape* tape, TFE_TensorHandle* const* y, int ny,
                                TFE_TensorHandle* const* x, int nx,
                                TFE_TensorHandle* const* tangents, TfExt_Unconnected unconnected,
                                TF_Status* status, TFE_TensorHandle** derivatives);

#ifdef __cplusplus
} /* extern "C" */
#endif
