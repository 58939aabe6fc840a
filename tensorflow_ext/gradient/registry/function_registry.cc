#include "tensorflow_ext/gradient/registry/function_registry.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/gradient/registry/function_table.h"

namespace tensorflow_ext {

using tensorflow::OpDef;

namespace {

// The gradients that were registered through this library.
class OwnDefinitions {
 public:
  struct Definition {
    GradientCreator creator;
    bool for_function_runtime;
    bool stands_in;  // replaces a gradient of TensorFlow's
    bool asked_for = false;
  };

  static OwnDefinitions& Global() {
    static OwnDefinitions* definitions = new OwnDefinitions;
    return *definitions;
  }

  void Set(const std::string& op, Definition definition) {
    std::lock_guard<std::mutex> lock(mutex_);
    by_op_[op] = std::move(definition);
  }

  std::optional<Definition> Find(const std::string& op) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_op_.find(op);
    if (found == by_op_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Definition> by_op_;
};

bool Add(const std::string& op, GradientCreator creator, bool for_function_runtime) {
  const FunctionGradient before = FindFunctionGradient(op);
  const bool registered = before == FunctionGradient::kUnknown
                              ? AddToFunctionTable(op, creator)
                              : ReplaceInFunctionTable(op, creator);
  OwnDefinitions::Global().Set(op, {std::move(creator), for_function_runtime,
                                    registered && before == FunctionGradient::kDefined});
  return registered;
}

}  // namespace

FunctionGradient FindFunctionGradient(const std::string& op) {
  GradientCreator creator;
  if (!tensorflow::gradient::GetOpGradientCreator(op, &creator).ok()) {
    return FunctionGradient::kUnknown;
  }
  return creator ? FunctionGradient::kDefined : FunctionGradient::kNone;
}

OpsByFunctionGradient OpsOfFunctionRegistry() {
  std::vector<OpDef> op_defs;
  tensorflow::OpRegistry::Global()->GetRegisteredOps(&op_defs);
  OpsByFunctionGradient ops;
  for (const OpDef& op_def : op_defs) {
    const std::string& op = op_def.name();
    if (op[0] == '_') continue;
    const FunctionGradient gradient = FindFunctionGradient(op);
    if (gradient == FunctionGradient::kDefined) ops.defined.push_back(op);
    if (gradient == FunctionGradient::kNone) ops.none.push_back(op);
  }
  std::sort(ops.defined.begin(), ops.defined.end());
  std::sort(ops.none.begin(), ops.none.end());
  return ops;
}

bool AddToFunctionRegistry(const std::string& op, GradientCreator creator) {
  return Add(op, std::move(creator), /*for_function_runtime=*/false);
}

bool AddToFunctionRuntime(const std::string& op, GradientCreator creator) {
  return Add(op, std::move(creator), /*for_function_runtime=*/true);
}

void AddToFunctionRegistryInstead(const std::string& op, GradientCreator creator) {
  const FunctionGradient before = FindFunctionGradient(op);
  const bool registered = before == FunctionGradient::kUnknown ? AddToFunctionTable(op, creator)
                                                               : PutIntoFunctionTable(op, creator);
  const bool stands_in = registered && before == FunctionGradient::kDefined;
  OwnDefinitions::Global().Set(op, {std::move(creator), /*for_function_runtime=*/false, stands_in,
                                    /*asked_for=*/true});
}

bool IsAskedFor(const std::string& op) {
  const auto definition = OwnDefinitions::Global().Find(op);
  return definition && definition->asked_for;
}

bool HasOwnDefinition(const std::string& op) {
  const auto definition = OwnDefinitions::Global().Find(op);
  return definition && definition->creator;
}

bool StandsInFunctionRegistry(const std::string& op) {
  const auto definition = OwnDefinitions::Global().Find(op);
  return definition && definition->stands_in;
}

bool IsForFunctionRuntime(const std::string& op) {
  const auto definition = OwnDefinitions::Global().Find(op);
  return definition && definition->for_function_runtime;
}

GradientCreator FindCreator(const std::string& op) {
  const auto own = OwnDefinitions::Global().Find(op);
  if (own && own->creator) return own->creator;
  GradientCreator creator;
  if (!tensorflow::gradient::GetOpGradientCreator(op, &creator).ok()) {
    return nullptr;
  }
  return creator;
}

}  // namespace tensorflow_ext
