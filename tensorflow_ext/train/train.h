/* Variables, checkpoints and optimizers for any graph. The optimizers are those of Keras 3, with
 * its names, hyperparameters, defaults and formulas. A step reads the gradients, then updates the
 * variables. It consists of TensorFlow's own ops, so the graph runs without this library.
 *
 *   TfExt_TrainingStep training;
 *   TfExt_Minimize(graph, loss, variables, n, "{\"class_name\": \"Adam\", \"config\": "
 *                  "{\"learning_rate\": 0.01}}", &training, NULL, status);
 *   // Run training.initialize once, then training.step for each batch.
 *
 * All functions may be called from many threads. A status is never NULL. An error leaves the
 * results unchanged. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"

#ifndef TFEXT_EXPORT
#define TFEXT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TfExt_TrainingStep {
  /* Updates the variables. Run it as a target. */
  TF_Operation* step;
  /* Sets the optimizer's own variables to their initial values. It does not change those that are
   * trained. */
  TF_Operation* initialize;
  /* The handle of the number of steps, an int64. */
  TF_Output iteration;
  /* The handle of the learning rate, a float, which a program may assign. Its operation is NULL if
   * the learning rate follows a schedule. */
  TF_Output learning_rate;
} TfExt_TrainingStep;

/* Adds a training step to `graph`: the gradients of `loss` by `n` variables, and the updates of
 * these by an optimizer.
 *
 * loss: float, double, half or bfloat16; the sum of its elements is minimized. variables: the
 * handles of different variables (VarHandleOp) of the same types, with known shapes. A variable
 * that the loss does not depend on is left alone; one at least must matter.
 *
 * optimizer: what keras.optimizers.serialize(optimizer) gives in Python, as JSON; or a bare name,
 * such as "adam", for all defaults. The names are SGD, RMSprop, Adagrad, Adadelta, Adam, AdamW,
 * Adamax, Nadam, Ftrl and Lion, in any case. Its keys are those of Keras, among them weight_decay,
 * clipnorm, clipvalue, global_clipnorm, use_ema, gradient_accumulation_steps and loss_scale_factor
 * (then multiply the loss by it), and learning_rate, a number or a schedule of
 * keras.optimizers.schedules. LossScaleOptimizer, around one of them, scales the loss itself. Two
 * keys are not in Keras. With "lazy": true, each step updates only the rows of a table that it
 * gathered, and their slots. Without it a table is updated by rows only where this gives the same
 * values as Keras does: SGD without momentum, and Adagrad. With "fused": false, updates take the
 * ops that Keras takes and give its values to the last bits. By default TensorFlow's fused kernels
 * are used (ResourceApplyAdam etc.), which are faster and round differently: a float update of Adam
 * may differ by 5e-5 of itself.
 *
 * state: NULL, or an empty buffer that receives a line "node:0\tname" for each variable of the
 * optimizer: its handle and its name in checkpoints ("adam/_iterations", "adam/_variables/2"),
 * which tf.train.Checkpoint(adam=optimizer) reads and writes.
 *
 * The optimizer's nodes are in a scope, its key "name" (by default "adam" etc.), which becomes
 * unique. Errors: INVALID_ARGUMENT, an argument is wrong, and those of TfExt_AddGradients. */
TFEXT_EXPORT void TfExt_Minimize(TF_Graph* graph, TF_Output loss, const TF_Output* variables, int n,
                                 const char* optimizer, TfExt_TrainingStep* training,
                                 TF_Buffer* state, TF_Status* status);

/* The same with given gradients: gradients[k] has the type and shape of variables[k]; its operation
 * is NULL if there is none. A LossScaleOptimizer needs the float variable "NAME/dynamic_scale" in
 * the graph, by which the loss must have been multiplied. */
TFEXT_EXPORT void TfExt_ApplyGradients(TF_Graph* graph, const TF_Output* gradients,
                                       const TF_Output* variables, int n, const char* optimizer,
                                       TfExt_TrainingStep* training, TF_Buffer* state,
                                       TF_Status* status);

/* Adds a variable to `graph`. `name`: its name, and that of the node which is its handle. `dims`:
 * its shape. `initializer`: what keras.initializers.serialize gives in Python, as JSON, or a name,
 * such as "zeros" or "glorot_uniform": constant, glorot, he and lecun (normal and uniform),
 * identity, ones, orthogonal, random normal and uniform, truncated normal, variance scaling, zeros.
 * With a seed it gives the numbers that Keras gives. `handle` receives the handle, and `initialize`
 * the node that gives the variable its initial value. Errors: INVALID_ARGUMENT, an argument is
 * wrong, or the graph has a node of that name. */
TFEXT_EXPORT void TfExt_NewVariable(TF_Graph* graph, const char* name, TF_DataType dtype,
                                    const int64_t* dims, int num_dims, const char* initializer,
                                    TF_Output* handle, TF_Operation** initialize,
                                    TF_Status* status);

typedef struct TfExt_Saver {
  /* Feed it with the beginning of the paths of a checkpoint's files, a string, []. */
  TF_Output prefix;
  /* Writes a checkpoint. */
  TF_Operation* save;
  /* Reads one and sets the variables. A variable that the file lacks, or has in another shape, is
   * an error of the session's run. */
  TF_Operation* restore;
} TfExt_Saver;

/* Adds nodes that write checkpoints of `n` variables and read them. variables: their handles
 * (VarHandleOp). names: lines of their names in the checkpoint, or NULL for the variables' own.
 *
 * The files are those of tf.train.Checkpoint, which reads them and writes them: the name
 * "dense/kernel" is the variable `kernel` of the object `dense`, and
 * "dense/kernel/.ATTRIBUTES/VARIABLE_VALUE" in tf.train.load_checkpoint. Errors: INVALID_ARGUMENT,
 * an argument is wrong. */
TFEXT_EXPORT void TfExt_AddSaver(TF_Graph* graph, const TF_Output* variables, int n,
                                 const char* names, TfExt_Saver* saver, TF_Status* status);

#ifdef __cplusplus
} /* extern "C" */
#endif
