// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORFLOW_EXT_GRADIENT_REGISTRY_FUNCTION_TABLE_H_
#define TENSORFLOW_EXT_GRADIENT_REGISTRY_FUNCTION_TABLE_H_

#include <string>

#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow_ext {

// Other threads may read TensorFlow's function registry meanwhile, which has no
// lock, and run what they find there (readable_table.h).

// Puts `creator` there as the gradient of an op that has no entry. Null says
// that the op has no gradient. Returns whether it did so.
bool AddToFunctionTable(const std::string& op, const GradientCreator& creator);

// Puts `creator` there in place of TensorFlow's own gradient of `op`, or of its
// word that there is none. Leaves a gradient that another library registered,
// and everything where KeepsTensorFlows(). Returns whether it did so.
bool ReplaceInFunctionTable(const std::string& op,
                            const GradientCreator& creator);

// The same in place of whatever gradient the op has there.
bool PutIntoFunctionTable(const std::string& op,
                          const GradientCreator& creator);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_REGISTRY_FUNCTION_TABLE_H_
