/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs and SavedModels of TensorFlow Addons, which ended in 2024: its ops, by
 * the names Addons>Resampler and so on. Plain C, in the manner of
 * gradient/c_api.h.
 */
#ifndef TENSORFLOW_EXT_ADDONS_REGISTER_OPS_H_
#define TENSORFLOW_EXT_ADDONS_REGISTER_OPS_H_

#include <stdint.h>

#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/c_api.h" /* TFEXT_EXPORT */

#ifdef __cplusplus
extern "C" {
#endif

/* Registers these ops of TensorFlow Addons, each beside the op of its gradient
 * (Addons>ResamplerGrad ...), so that graphs and SavedModels that hold them are
 * imported, run and differentiated again:
 *
 *   Addons>CorrelationCost   Addons>EmbeddingBag   Addons>Resampler
 *   Addons>Gelu         Addons>Hardshrink     Addons>Lisht
 *   Addons>Mish         Addons>Softshrink     Addons>Tanhshrink
 *
 * They have TensorFlow Addons' arguments, attributes, defaults and layouts, and
 * are computed by the ops TfExt>CorrelationCost ... of this library: on the
 * CPU, on the GPU where this library has kernels for it, and in XLA; their
 * gradients, to second order, are in the registries of all clients. Python
 * learns of these by `import tensorflow_ext.addons`, which calls this function.
 * docs/tensorflow_addons.md says where a result differs on purpose.
 *
 * An op that is registered before, as by TensorFlow Addons itself, stays as it
 * is. Loading this library registers none of them.
 *
 * To be called once this library is loaded and before a graph that needs them
 * is imported. Returns how many ops were registered now: 18, or 0 when called
 * again. Any thread, and several at once, while others differentiate; but
 * TensorFlow's registries of gradients have no lock that would keep writers
 * apart: do not call it while another thread loads a library.
 *
 * FAILED_PRECONDITION: another copy of this library was loaded before this one,
 * and its ops are those that are registered; call that copy's function. Nothing
 * is registered then. */
TFEXT_EXPORT int64_t TfExt_RegisterAddonsOps(TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENSORFLOW_EXT_ADDONS_REGISTER_OPS_H_ */
