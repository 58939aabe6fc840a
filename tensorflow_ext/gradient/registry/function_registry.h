// SPDX-License-Identifier: Apache-2.0
//
// Where definitions of gradients come from: TensorFlow's function registry,
// into which REGISTER_OP_GRADIENT puts them.

#ifndef TENSORFLOW_EXT_GRADIENT_REGISTRY_FUNCTION_REGISTRY_H_
#define TENSORFLOW_EXT_GRADIENT_REGISTRY_FUNCTION_REGISTRY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tensorflow {
class AttrSlice;
class FunctionDef;
}  // namespace tensorflow

namespace tensorflow_ext {

// What the function registry says about an op's gradient.
enum class FunctionGradient {
  kUnknown,  // nobody registered anything
  kNone,     // REGISTER_OP_NO_GRADIENT
  kDefined,  // REGISTER_OP_GRADIENT
};
FunctionGradient FindFunctionGradient(const std::string& op);

// The ops that the registry has something to say of, sorted. Ops that only
// TensorFlow's runtime adds, whose names begin with '_', are left out: no
// client differentiates them, and the definition of _ArrayToList aborts the
// process.
struct OpsByFunctionGradient {
  std::vector<std::string> defined;  // FunctionGradient::kDefined
  std::vector<std::string> none;     // kNone
};
OpsByFunctionGradient OpsOfFunctionRegistry();

// Writes the gradient of an op with these attributes; the type of
// tensorflow::gradient::Creator. Null says that the op has no gradient.
using GradientCreator = std::function<absl::Status(const tensorflow::AttrSlice&,
                                                   tensorflow::FunctionDef*)>;

// Registers the gradient of `op`. TensorFlow's own is replaced, for many are
// wrong (MaxPoolGrad's takes 2 arguments where the op asks for 4). Where that
// cannot be, because another library registered one or the environment says so
// (ReplaceInFunctionTable), clients of this library get `creator` all the same.
// Returns whether the registry took it.
bool AddToFunctionRegistry(const std::string& op, GradientCreator creator);

// The same for a gradient that only the function runtime can run, because it
// calls the gradients of functions by SymbolicGradient, or that clients have a
// better one for, which knows the graph around the node. RegisterGradients()
// and Python leave it alone.
bool AddToFunctionRuntime(const std::string& op, GradientCreator creator);
bool IsForFunctionRuntime(const std::string& op);

// The same for a gradient that takes the place of any other, because another
// library asks for that.
void AddToFunctionRegistryInstead(const std::string& op,
                                  GradientCreator creator);
bool IsAskedFor(const std::string& op);

// Whether a gradient of `op` was registered through one of the above.
bool HasOwnDefinition(const std::string& op);

// ... and TensorFlow's registry has it in the place of TensorFlow's own.
bool StandsInFunctionRegistry(const std::string& op);

// What writes the gradient of `op` for clients of this library; null where
// there is none.
GradientCreator FindCreator(const std::string& op);

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_GRADIENT_REGISTRY_FUNCTION_REGISTRY_H_
