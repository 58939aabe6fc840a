/* Turns the loops of TensorFlow 1 into While ops, which have a gradient. In the style of
 * gradient/c_api.h.
 *
 * A graph of TensorFlow 1, or of tf.compat.v1 without control flow v2, writes a loop as nodes with
 * a cycle: Enter, Merge, Switch, NextIteration and Exit. Nothing differentiates such a loop after
 * the graph was saved.
 */
#pragma once

#include <stddef.h>

#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/c_api.h" /* TFEXT_EXPORT */

#ifdef __cplusplus
extern "C" {
#endif

/* Writes into `functional` the graph without loops of TensorFlow 1, as a serialized
 * tensorflow.GraphDef, its library included. `graph_def`: such a graph, for example a frozen one.
 * The functions of its library are converted too. A graph without such loops is not changed.
 *
 * Each loop becomes a While (StatelessWhile if nothing in it has side effects), and each branch in
 * a loop an If; branches outside loops stay. TensorArrays become lists (TensorListReserve and so
 * on), so a loop may write them. The values of all tensors stay the same, and so do the names of
 * nodes outside loops: an Exit, the result of a loop, becomes an Identity with its name. Nodes in a
 * loop are in functions afterwards, and cannot be fetched or fed.
 *
 * `outputs`: tensors as "node:index" and nodes as "node", one per line, or NULL. Only nodes that
 * lead to them are kept, control inputs included; with NULL, all nodes. Name them for a graph that
 * has gradients from Python (TensorArrayGradV3), which are not converted.
 *
 * Errors: INVALID_ARGUMENT, the bytes are not a GraphDef, its graph is invalid or has no such
 * output, or a loop has no condition or no exit; NOT_FOUND, an op is not registered; UNIMPLEMENTED,
 * the outputs need a gradient from Python, a TensorArray is used in an unknown way, or a loop has a
 * form that tf.while_loop does not make. The caller owns `functional`. */
TFEXT_EXPORT void TfExt_FunctionalizeGraphDef(const void* graph_def, size_t graph_def_length,
                                              const char* outputs, TF_Buffer* functional,
                                              TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif
