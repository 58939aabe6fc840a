// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/function_registry.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"

namespace tensorflow_ext {

using tensorflow::OpDef;

namespace {

// The creators that take the place of those in TensorFlow's registry.
class Replacements {
 public:
  static Replacements& Global() {
    static Replacements* replacements = new Replacements;
    return *replacements;
  }

  void Set(const std::string& op, GradientCreator creator) {
    std::lock_guard<std::mutex> lock(mutex_);
    creators_[op] = std::move(creator);
  }

  GradientCreator Find(const std::string& op) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = creators_.find(op);
    return found == creators_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, GradientCreator> creators_;
};

}  // namespace

FunctionGradient FindFunctionGradient(const std::string& op) {
  GradientCreator creator;
  if (!tensorflow::gradient::GetOpGradientCreator(op, &creator).ok()) {
    return FunctionGradient::kUnknown;
  }
  return creator ? FunctionGradient::kDefined : FunctionGradient::kNone;
}

std::vector<std::string> OpsWithFunctionGradient() {
  std::vector<OpDef> op_defs;
  tensorflow::OpRegistry::Global()->GetRegisteredOps(&op_defs);
  std::vector<std::string> ops;
  for (const OpDef& op_def : op_defs) {
    const std::string& op = op_def.name();
    const bool is_internal = op[0] == '_';
    if (!is_internal &&
        FindFunctionGradient(op) == FunctionGradient::kDefined) {
      ops.push_back(op);
    }
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

bool AddToFunctionRegistry(const std::string& op, GradientCreator creator) {
  if (FindFunctionGradient(op) == FunctionGradient::kUnknown) {
    return tensorflow::gradient::RegisterOp(op, std::move(creator));
  }
  Replacements::Global().Set(op, std::move(creator));
  return false;
}

GradientCreator FindCreator(const std::string& op) {
  GradientCreator creator = Replacements::Global().Find(op);
  if (creator) return creator;
  if (!tensorflow::gradient::GetOpGradientCreator(op, &creator).ok()) {
    return nullptr;
  }
  return creator;
}

}  // namespace tensorflow_ext
