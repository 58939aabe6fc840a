/* Runs graphs and SavedModels of TensorFlow Addons, which ended in 2024: its ops under their names
 * Addons>Resampler and so on. Plain C, in the style of gradient/c_api.h.
 */
#pragma once

#include <stdint.h>

#include "tensorflow/c/tf_status.h"
#include "tensorflow_ext/gradient/c_api.h" /* TFEXT_EXPORT */

#ifdef __cplusplus
extern "C" {
#endif

/* Registers these ops of TensorFlow Addons, each with the op of its gradient (Addons>ResamplerGrad
 * ...), so that graphs and SavedModels that contain them can be imported, run and differentiated
 * again:
 *
 *   Addons>CorrelationCost   Addons>EmbeddingBag   Addons>Resampler
 *   Addons>Gelu         Addons>Hardshrink     Addons>Lisht
 *   Addons>Mish         Addons>Softshrink     Addons>Tanhshrink
 *
 * They have TensorFlow Addons' arguments, attributes, defaults and layouts. The ops
 * TfExt>CorrelationCost ... of this library compute them: on the CPU, on the GPU where this library
 * has kernels for it, and in XLA. Their gradients, to second order, are in the registries of all
 * clients. Python gets them by `import tensorflow_ext.addons`, which calls this function.
 * docs/tensorflow_addons.md lists results that differ on purpose.
 *
 * An op that is already registered, as by TensorFlow Addons itself, does not change. Loading this
 * library registers none of them.
 *
 * Call this after loading this library and before importing a graph that needs the ops. Returns how
 * many ops were registered now: 18, or 0 when called again. Any thread may call it, and several at
 * once, while others differentiate. No other thread may load a library meanwhile: TensorFlow's
 * registries of gradients have no lock against two writers.
 *
 * FAILED_PRECONDITION: another copy of this library was loaded before this one, and the registered
 * ops are that copy's; call that copy's function. Nothing is registered then. */
TFEXT_EXPORT int64_t TfExt_RegisterAddonsOps(TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif
