// Identities whose side effect applies to the value but not to the gradient.

#include <vector>

#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {
namespace {

void WatchedIdentityGrad(Gradient& g) { g.Return({g.Upstream()}); }
REGISTER_GRADIENT("Copy", WatchedIdentityGrad);
REGISTER_GRADIENT("CopyHost", WatchedIdentityGrad);
REGISTER_GRADIENT("DebugGradientIdentity", WatchedIdentityGrad);
REGISTER_GRADIENT("DebugIdentity", WatchedIdentityGrad);
REGISTER_GRADIENT("DebugIdentityV2", WatchedIdentityGrad);
REGISTER_GRADIENT("DebugIdentityV3", WatchedIdentityGrad);

// No definition: a function cannot take a reference.
absl::Status WatchedReferenceGrad(const tensorflow::Scope& /*scope*/,
                                  const tensorflow::Operation& /*op*/,
                                  const std::vector<tensorflow::Output>& upstream,
                                  std::vector<tensorflow::Output>* gradients) {
  *gradients = upstream;
  return absl::OkStatus();
}
[[maybe_unused]] const bool registered_debug_ops =
    RegisterClientGradient("DebugGradientRefIdentity", WatchedReferenceGrad);

}  // namespace
}  // namespace tensorflow_ext
