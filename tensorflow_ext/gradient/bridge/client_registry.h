// Gives gradients to TensorFlow's client registry, which C++ AddSymbolicGradients, C
// TF_AddGradients and the languages above it read. Cheap to include, because registering a gradient
// needs no graph.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow {
class Operation;
class Output;
class Scope;
}  // namespace tensorflow

namespace tensorflow_ext {

// Adds the gradient of one node to a client's graph; the same type as tensorflow::ops::GradFunc.
using ClientGradient = absl::Status (*)(const tensorflow::Scope&, const tensorflow::Operation&,
                                        const std::vector<tensorflow::Output>&,
                                        std::vector<tensorflow::Output>*);

// Registers the gradient of `op` in the function registry, in place of TensorFlow's if there is one
// (AddToFunctionRegistry), and in the client registry if that has no entry for `op`: TensorFlow
// aborts the process on a duplicate. Does nothing in a second copy of this library. Returns true if
// the function registry took it.
bool RegisterGradient(const char* op, GradientCreator creator);

// The same only for the function registry: AddToFunctionRuntime.
bool RegisterFunctionRuntimeGradient(const char* op, GradientCreator creator);

// Makes `creator` the gradient of `op` in both registries and replaces any other.
// RegisterOtherGradient (other_libraries.h) has checked for conflicts.
void RegisterAskedFor(const std::string& op, GradientCreator creator);

// Adds to the client registry a gradient that no definition can express, because it depends on more
// of the graph than the op's attributes. Does nothing in a second copy of this library, or if the
// registry has an entry. Returns true if the registry took it.
bool RegisterClientGradient(const char* op, ClientGradient gradient);

// Replaces TensorFlow's gradient of `op` in the client registry by `gradient`, or without one by
// the expansion of the definition that RegisterGradient was given. For an op whose gradient in
// TensorFlow is wrong, fails, has no gradient itself, or adds needless nodes. The new one must be
// right wherever TensorFlow's is. Keeps an entry that is not TensorFlow's, and every entry if
// TFEXT_KEEP_TENSORFLOW_GRADIENTS is set in the environment (to anything but 0). Call it only while
// this library is loaded. Returns true if it replaced the entry.
bool StandIn(const char* op);
bool StandIn(const char* op, ClientGradient gradient);

// See TfExt_RegisterGradients in c_api.h.
int64_t RegisterGradients();

// The same if the function registry has grown since the last call.
void HandOverNew();

// The bits of TfExt_GradientRegistries in c_api.h.
uint32_t GradientRegistries(const std::string& op);

}  // namespace tensorflow_ext
