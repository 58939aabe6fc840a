// TF_LoadLibrary returns the list of ops that the library registered, and bindings make their
// wrappers from it. A second copy of this library registers none, because the first one did. It
// still reports these ops to TensorFlow, so that both copies give the same list.
//
// TensorFlow sets a registration watcher, a private member, while it loads a library. If this file
// does not compile, TensorFlow's OpRegistry has changed.

#include <vector>

#include "absl/strings/match.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow_ext/base/first_copy.h"
#include "tensorflow_ext/base/private_member.h"

namespace tensorflow_ext {

using tensorflow::OpDef;
using tensorflow::OpRegistry;

struct WatcherTag {
  using Member = OpRegistry::Watcher OpRegistry::*;
  friend Member Find(WatcherTag);
};
template struct PrivateMember<WatcherTag, &OpRegistry::watcher_>;

namespace {

bool ReportOps() {
  OpRegistry* registry = OpRegistry::Global();
  std::vector<OpDef> op_defs;
  registry->GetRegisteredOps(&op_defs);
  const OpRegistry::Watcher& watcher = registry->*Find(WatcherTag());
  if (!watcher) return false;  // linked, or opened by dlopen
  for (const OpDef& op_def : op_defs) {
    if (!absl::StartsWith(op_def.name(), "TfExt>")) continue;
    if (!watcher(absl::OkStatus(), op_def).ok()) return false;
  }
  return true;
}

[[maybe_unused]] const bool reported = !IsFirstCopy() && ReportOps();

}  // namespace
}  // namespace tensorflow_ext
