// SPDX-License-Identifier: Apache-2.0
//
// Hand over: gives function gradients to TensorFlow's client registry, which
// C++ AddSymbolicGradients, C TF_AddGradients and the languages above it read.

#ifndef TENSORFLOW_EXT_GRADIENT_BRIDGE_H_
#define TENSORFLOW_EXT_GRADIENT_BRIDGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow/cc/framework/grad_op_registry.h"
#include "tensorflow_ext/gradient/definition.h"

namespace tensorflow_ext {

// Registers the gradient of `op` in the function registry and hands it to the
// client registry, each where it has no entry for `op`: TensorFlow aborts the
// process on a duplicate. Where the function registry has one, clients of this
// library get `creator` all the same (SetDefinition). Does nothing in a second
// copy of this library. Returns whether the function registry took it.
bool RegisterGradient(const char* op, GradientCreator creator);

// Puts into the client registry a gradient that no definition can express,
// because it depends on more of the graph than the op's attributes. Does
// nothing in a second copy of this library, and where the registry has an
// entry. Returns whether the registry took it.
bool RegisterClientGradient(const char* op, tensorflow::ops::GradFunc function);

// See TfExt_RegisterGradients in c_api.h.
int64_t RegisterGradients();

// The ops whose gradient the function registry holds, sorted.
std::vector<std::string> OpsWithFunctionGradient();

// The bits of TfExt_GradientRegistries in c_api.h.
uint32_t GradientRegistries(const std::string& op);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_BRIDGE_H_
