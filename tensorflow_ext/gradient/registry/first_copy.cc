#include "tensorflow_ext/base/first_copy.h"

#include "tensorflow_ext/gradient/registry/function_registry.h"

namespace tensorflow_ext {

bool IsFirstCopy() {
  // Every registration of this copy asks first, so the first call sees the registry as the other
  // copies left it. Each copy registers a gradient of this op.
  static const bool is_first =
      FindFunctionGradient("TfExt>NoGradient") == FunctionGradient::kUnknown;
  return is_first;
}

}  // namespace tensorflow_ext
