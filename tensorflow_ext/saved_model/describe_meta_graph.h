/* SPDX-License-Identifier: Apache-2.0
 *
 * A SavedModel for C: what its protocol buffers say, as lines of text. In the
 * manner of gradient/c_api.h.
 */
#ifndef TENSORFLOW_EXT_SAVED_MODEL_DESCRIBE_META_GRAPH_H_
#define TENSORFLOW_EXT_SAVED_MODEL_DESCRIBE_META_GRAPH_H_

#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/c_api.h" /* TFEXT_EXPORT */

#ifdef __cplusplus
extern "C" {
#endif

/* Writes into `lines` what a client without Protobuf has to know of a
 * SavedModel that TF_LoadSessionFromSavedModel has loaded: which tensors its
 * signatures are made of, the variables behind them, and how its own saver
 * writes and reads them. `meta_graph_def` is what that function wrote. One
 * thing a line, its fields separated by single tabs (strsep, not strtok: a key
 * may be empty):
 *
 *   signature NAME input KEY TENSOR TYPE SHAPE
 *   signature NAME output KEY TENSOR TYPE SHAPE
 *   signature NAME variable NODE TYPE SHAPE WHETHER
 *   saver filename TENSOR
 *   saver copy NODE
 *   saver save TENSOR
 *   saver restore NODE
 *
 * NODE is a name for TF_GraphOperationByName, TENSOR is NODE:INDEX. TYPE is as
 * in an attribute ("float"), SHAPE "[-1,64]" with -1 for an unknown size, or
 * "unknown". A sparse input or output has a line for each of its tensors, of
 * key KEY/values, KEY/indices, KEY/dense_shape; another composite one KEY/0,
 * KEY/1 and so on. Signatures and keys are sorted; the two by which TensorFlow
 * initializes a model (__saved_model_init_op, __saved_model_train_op) are not
 * listed.
 *
 * The variables of a signature are the VarHandleOp nodes that its outputs
 * depend on, in the order in which the graph names them. WHETHER is "trainable"
 * or "fixed" as Python saved them (the moving averages of a normalization are
 * fixed), "unknown" where the SavedModel does not say.
 *
 * A model without a saver has no such lines. To save, run every `copy`, then
 * feed `filename` a string scalar, a prefix of files
 * (FOLDER/variables/variables), and fetch `save`; to restore, feed it and run
 * `restore`. What Keras exports has each variable twice: its signatures use the
 * one, and Python, which loads the model, reads the other. `copy` gives the
 * second the value of the first; without it Python would not see what was
 * trained.
 *
 * INVALID_ARGUMENT: the bytes are no MetaGraphDef with a graph, a signature
 * names a node that the graph has not, or a name holds a tab or a line end. The
 * caller owns `lines`. */
TFEXT_EXPORT void TfExt_DescribeMetaGraph(const TF_Buffer* meta_graph_def,
                                          TF_Buffer* lines, TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENSORFLOW_EXT_SAVED_MODEL_DESCRIBE_META_GRAPH_H_ */
