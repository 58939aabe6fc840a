/* Trains a SavedModel further: a classifier whose signature "train", or "serving_default" if there
 * is none, has one float input and returns logits. An error ends the process with a message.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct FineTune FineTune;

/* Loads the model in folder `model` and adds a step of gradient descent with
 * learning rate `rate` to its graph: the mean cross-entropy of the logits
 * and labels, its gradients by the trainable variables, and their updates.
 * `inlined` replaces the calls in the signature with the bodies of the
 * functions, so that a step computes them once. */
FineTune* FineTune_Load(const char* model, float rate, bool inlined);

/* Runs one step on `batch` consecutive examples and their labels. Returns
 * the loss before it. */
float FineTune_Step(FineTune* training, const float* x, const int32_t* labels, int64_t batch);

/* The number of floats in an example. */
int64_t FineTune_Features(const FineTune* training);

/* Writes the variables into the folder of a SavedModel, the original or a copy of it, with the
 * model's own saver. */
void FineTune_Save(FineTune* training, const char* model);

void FineTune_Delete(FineTune* training);
