// SPDX-License-Identifier: Apache-2.0
//
// gradient::RegisterOp() ends the process where an op has a gradient already,
// and a third of TensorFlow's own are wrong or fail
// (docs/known_differences.md): the function runtime would go on giving these.

#include "tensorflow_ext/gradient/function_table.h"

#include <unordered_map>

#include "tensorflow/core/framework/function.h"
#include "tensorflow_ext/gradient/precedence.h"

namespace tensorflow::gradient {

// The table behind RegisterOp(), which TensorFlow exports and has in no header.
// Weak: null in a TensorFlow that does not, which then keeps its gradients.
[[gnu::weak]] std::unordered_map<std::string, Creator>* GetOpGradFactory();

}  // namespace tensorflow::gradient

namespace tensorflow_ext {

using tensorflow::AttrSlice;
using tensorflow::FunctionDef;
using tensorflow::gradient::GetOpGradFactory;

bool ReplaceInFunctionTable(const std::string& op,
                            const GradientCreator& creator) {
  if (GetOpGradFactory == nullptr || KeepsTensorFlows()) return false;
  const auto entry = GetOpGradFactory()->find(op);
  if (entry == GetOpGradFactory()->end()) return false;
  if (entry->second) {
    const auto* function =
        entry->second
            .target<absl::Status (*)(const AttrSlice&, FunctionDef*)>();
    if (function == nullptr ||
        !IsTensorFlows(reinterpret_cast<const void*>(*function))) {
      return false;
    }
  }
  entry->second = creator;
  return true;
}

bool PutIntoFunctionTable(const std::string& op,
                          const GradientCreator& creator) {
  if (GetOpGradFactory == nullptr) return false;
  (*GetOpGradFactory())[op] = creator;
  return true;
}

}  // namespace tensorflow_ext
