// SPDX-License-Identifier: Apache-2.0
//
// Identities with a side effect on the value that is not one on the gradient.

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

// A function cannot take a reference, so there is no definition of this.
absl::Status WatchedReferenceGrad(
    const tensorflow::Scope& /*scope*/, const tensorflow::Operation& /*op*/,
    const std::vector<tensorflow::Output>& upstream,
    std::vector<tensorflow::Output>* gradients) {
  *gradients = upstream;
  return absl::OkStatus();
}
[[maybe_unused]] const bool registered_debug_ops =
    RegisterClientGradient("DebugGradientRefIdentity", WatchedReferenceGrad);

}  // namespace
}  // namespace tensorflow_ext
