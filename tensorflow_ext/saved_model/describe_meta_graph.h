/* Describes a SavedModel for C: the content of its protocol buffers as lines of text. In the style
 * of gradient/c_api.h.
 */
#pragma once

#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/c_api.h" /* TFEXT_EXPORT */

#ifdef __cplusplus
extern "C" {
#endif

/* Writes into `lines` what a client without Protobuf needs to know about a SavedModel that
 * TF_LoadSessionFromSavedModel has loaded: the tensors of its signatures, the variables behind
 * them, and how its own saver writes and reads them. `meta_graph_def` is the output of that
 * function. Each line has one item, with fields separated by single tabs (strsep, not strtok: a key
 * may be empty):
 *
 *   signature NAME input KEY TENSOR TYPE SHAPE
 *   signature NAME output KEY TENSOR TYPE SHAPE
 *   signature NAME variable NODE TYPE SHAPE WHETHER
 *   saver filename TENSOR
 *   saver copy NODE
 *   saver save TENSOR
 *   saver restore NODE
 *   gradient FUNCTION NODE NAME WHETHER
 *
 * NODE is a name for TF_GraphOperationByName; TENSOR is NODE:INDEX. TYPE is written as in an
 * attribute ("float"). SHAPE is "[-1,64]" with -1 for an unknown size, or "unknown". A sparse input
 * or output has a line for each of its tensors, with the keys KEY/values, KEY/indices and
 * KEY/dense_shape; other composites have KEY/0, KEY/1 and so on. Signatures and keys are sorted.
 * The two signatures with which TensorFlow initializes a model (__saved_model_init_op,
 * __saved_model_train_op) are not listed.
 *
 * The variables of a signature are the VarHandleOp nodes that its outputs depend on, in graph
 * order. WHETHER is "trainable" or "fixed" as Python saved them (fixed are the moving averages of a
 * normalization, and what Keras layers with trainable=False have), or "unknown" if the SavedModel
 * does not tell.
 *
 * A model without a saver has no such lines. To save, run every `copy`, then feed `filename` a
 * string scalar, a prefix of files (FOLDER/variables/variables), and fetch `save`. To restore, feed
 * it and run `restore`. A Keras export has each variable twice: its signatures use one, and Python,
 * when it loads the model, reads the other. `copy` gives the second the value of the first; without
 * it Python would not see the trained values.
 *
 * A `gradient` line stands for each node that names a gradient (tf.custom_gradient). FUNCTION is
 * the function with the node, empty for the graph itself. WHETHER is "present" or "missing":
 * whether the model has that gradient, so that TfExt_UseModelGradients (use_model_gradients.h)
 * makes the graph use it.
 *
 * INVALID_ARGUMENT: the bytes are not a MetaGraphDef with a graph, a signature names a node that is
 * not in the graph, or a name contains a tab or a line end. The caller owns `lines`. */
TFEXT_EXPORT void TfExt_DescribeMetaGraph(const TF_Buffer* meta_graph_def, TF_Buffer* lines,
                                          TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif
