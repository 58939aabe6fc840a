// TensorFlow's function registry, which holds the definitions of gradients (REGISTER_OP_GRADIENT).

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tensorflow {
class AttrSlice;
class FunctionDef;
}  // namespace tensorflow

namespace tensorflow_ext {

// The function registry's entry for an op.
enum class FunctionGradient {
  kUnknown,  // no entry
  kNone,     // REGISTER_OP_NO_GRADIENT
  kDefined,  // REGISTER_OP_GRADIENT
};
FunctionGradient FindFunctionGradient(const std::string& op);

// The ops that have an entry, sorted. Ops that only TensorFlow's runtime adds, whose names begin
// with '_', are left out: no client differentiates them, and the definition of _ArrayToList aborts
// the process.
struct OpsByFunctionGradient {
  std::vector<std::string> defined;  // FunctionGradient::kDefined
  std::vector<std::string> none;     // kNone
};
OpsByFunctionGradient OpsOfFunctionRegistry();

// Writes the gradient of an op with these attributes; the type of tensorflow::gradient::Creator.
// Null means that the op has no gradient.
using GradientCreator =
    std::function<absl::Status(const tensorflow::AttrSlice&, tensorflow::FunctionDef*)>;

// Registers the gradient of `op` and replaces TensorFlow's, because many are wrong (MaxPoolGrad's
// takes 2 arguments, but the op needs 4). If another library registered one, or the environment
// forbids it (ReplaceInFunctionTable), only clients of this library get `creator`. Returns true if
// the registry took it.
bool AddToFunctionRegistry(const std::string& op, GradientCreator creator);

// The same for a gradient that only the function runtime uses: it calls the gradients of functions
// by SymbolicGradient, or clients have a better one that knows the graph around the node.
// RegisterGradients() and Python skip it.
bool AddToFunctionRuntime(const std::string& op, GradientCreator creator);
bool IsForFunctionRuntime(const std::string& op);

// The same for a gradient that replaces any other, at the request of another library.
void AddToFunctionRegistryInstead(const std::string& op, GradientCreator creator);
bool IsAskedFor(const std::string& op);

// True if a gradient of `op` was registered through one of the above.
bool HasOwnDefinition(const std::string& op);

// True if it also replaces TensorFlow's own in TensorFlow's registry.
bool StandsInFunctionRegistry(const std::string& op);

// The creator of the gradient of `op` for clients of this library; null if there is none.
GradientCreator FindCreator(const std::string& op);

}  // namespace tensorflow_ext
