/* Hands a model over, so that the gradients that it brings (tf.custom_gradient) are used. In the
 * style of gradient/c_api.h.
 *
 * A SavedModel has a function for each gradient that tf.custom_gradient defined. The graph of a
 * loaded model has these functions, but only the MetaGraphDef says which node has which gradient.
 * Until the model is handed over, a gradient through such a node is an error.
 *
 * The calls add functions to the graph's library and change nothing else, so a session may already
 * have run. What they add stays in the graph: it survives TF_GraphToGraphDef, import, and
 * TfExt_InlineCalls. A second call with the same model changes nothing. A model that
 * `python -m tensorflow_ext prepare MODEL` has written needs no call.
 */
#pragma once

#include <stddef.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/c_api.h" /* TFEXT_EXPORT */

#ifdef __cplusplus
extern "C" {
#endif

/* Makes `graph` use the gradients of the model that it was loaded from. `meta_graph_def` is the
 * output of TF_LoadSessionFromSavedModel. Call it before gradients are added and before
 * TfExt_InlineCalls.
 *
 * A gradient that the model lacks is an error only when a client differentiates through its node;
 * TfExt_DescribeMetaGraph lists all of them.
 *
 * Errors: INVALID_ARGUMENT, the graph is NULL, or the bytes are not a MetaGraphDef with a graph;
 * NOT_FOUND, a function of the model uses an op that is not registered. */
TFEXT_EXPORT void TfExt_UseModelGradients(TF_Graph* graph, const TF_Buffer* meta_graph_def,
                                          TF_Status* status);

/* The same for the model in a folder, for clients that do not keep the MetaGraphDef. `tags`: the
 * `ntags` tags of the graph that was loaded, such as "serve". Error: NOT_FOUND also if the folder
 * has no model or the model has no such graph. */
TFEXT_EXPORT void TfExt_UseSavedModelGradients(TF_Graph* graph, const char* folder,
                                               const char* const* tags, int ntags,
                                               TF_Status* status);

/* Writes into `graph_def` what these calls add, as a serialized tensorflow.GraphDef that has only a
 * library. A client that imports it hands the model over. */
TFEXT_EXPORT void TfExt_ModelGradients(const TF_Buffer* meta_graph_def, TF_Buffer* graph_def,
                                       TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif
