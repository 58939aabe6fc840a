/* SPDX-License-Identifier: Apache-2.0
 *
 * Trains a SavedModel further: a classifier whose signature "serving_default"
 * has one float input and gives logits. What goes wrong ends the process with a
 * message.
 */
#ifndef TENSORFLOW_EXT_EXAMPLES_FINE_TUNE_FINE_TUNE_H_
#define TENSORFLOW_EXT_EXAMPLES_FINE_TUNE_FINE_TUNE_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct FineTune FineTune;

/* Loads the model in folder `model` and adds to its graph a step of gradient
 * descent with learning rate `rate`: the mean cross-entropy of the logits and
 * labels, its gradients by the trainable variables, their updates. `inlined`:
 * with the bodies of the functions that the signature calls in place of the
 * calls, so that a step computes them once. */
FineTune* FineTune_Load(const char* model, float rate, bool inlined);

/* One step: `batch` examples, one after another, and their labels. Returns the
 * loss before it. */
float FineTune_Step(FineTune* training, const float* x, const int32_t* labels,
                    int64_t batch);

/* How many floats an example has. */
int64_t FineTune_Features(const FineTune* training);

/* Writes the variables into the folder of a SavedModel, that from which they
 * came or a copy of it, by the model's own saver. */
void FineTune_Save(FineTune* training, const char* model);

void FineTune_Delete(FineTune* training);

#endif /* TENSORFLOW_EXT_EXAMPLES_FINE_TUNE_FINE_TUNE_H_ */
