#include "tensorflow_ext/gradient/registry/named_gradient.h"

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow_ext/base/environment.h"

namespace tensorflow_ext {

namespace {

std::atomic<int>& Allowed() {
  static std::atomic<int> allowed(IsOnInEnvironment("TFEXT_ALLOW_MISSING_GRADIENTS") ? 1 : 0);
  return allowed;
}

constexpr char kHandOver[] =
    "The graph does not say which function that is, but the model may. Hand the model over before "
    "you add gradients: run the op TfExt>SavedModelGradients with its folder and import the "
    "GraphDef that it returns (in C also TfExt_UseModelGradients or "
    "TfExt_UseSavedModelGradients, in C++ tensorflow_ext::UseModelGradients), or write the "
    "gradients into the model once: python -m tensorflow_ext prepare MODEL";

}  // namespace

std::string NamedGradient(const tensorflow::AttrSlice& attrs) {
  const auto* value = attrs.Find(kGradientOpType);
  if (value == nullptr || absl::StartsWith(value->s(), "PartitionedCall-")) return "";
  return value->s();
}

absl::Status CheckNamesNoGradient(absl::string_view node, const tensorflow::AttrSlice& attrs) {
  const std::string gradient = NamedGradient(attrs);
  if (gradient.empty() || AllowsMissingGradients()) return absl::OkStatus();
  const auto* problem = attrs.Find(kNamedGradientProblem);
  return absl::FailedPreconditionError(
      absl::StrCat(node, " names the gradient '", gradient, "' (tf.custom_gradient). ",
                   problem == nullptr ? kHandOver : problem->s(),
                   ". To use the op's own gradient instead, which differs, set "
                   "TFEXT_ALLOW_MISSING_GRADIENTS=1"));
}

bool AllowsMissingGradients() { return Allowed().load(std::memory_order_relaxed) != 0; }

int AllowMissingGradients(int allow) {
  return allow < 0 ? Allowed().load() : Allowed().exchange(allow != 0 ? 1 : 0);
}

}  // namespace tensorflow_ext
