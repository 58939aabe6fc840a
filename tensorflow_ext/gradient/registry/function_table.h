#pragma once

#include <cstddef>
#include <string>

#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow_ext {

// Other threads may read TensorFlow's function registry meanwhile, which has no lock, and run its
// entries (readable_table.h).

// The number of entries. It changes when a library registers a gradient.
size_t NumFunctionGradients();

// Adds `creator` as the gradient of an op that has no entry. Null means that the op has no
// gradient. Returns true if it did so.
bool AddToFunctionTable(const std::string& op, const GradientCreator& creator);

// Replaces TensorFlow's own gradient of `op`, or its entry that there is none, by `creator`. Keeps
// a gradient that another library registered, and all entries if KeepsTensorFlows(). Returns true
// if it did so.
bool ReplaceInFunctionTable(const std::string& op, const GradientCreator& creator);

// The same for any gradient of the op.
bool PutIntoFunctionTable(const std::string& op, const GradientCreator& creator);

}  // namespace tensorflow_ext
