#include "tensorflow_ext/addons/register_ops.h"

#include <mutex>

#include "absl/status/status.h"
#include "tensorflow_ext/addons/addons_ops.h"
#include "tensorflow_ext/base/first_copy.h"
#include "tensorflow_ext/gradient/c_api/c_api_internal.h"

namespace tensorflow_ext {
namespace {

absl::Status RegisterAddonsOps(int64_t* count) {
  if (!IsFirstCopy()) {
    return absl::FailedPreconditionError(
        "TfExt_RegisterAddonsOps: another copy of libtensorflow_ext.so was "
        "loaded before this one; call the function of that copy");
  }
  static std::mutex* mutex = new std::mutex;
  std::lock_guard<std::mutex> lock(*mutex);
  for (const auto* ops : {&AddonsActivations(), &AddonsEmbeddings(), &AddonsImages()}) {
    for (const CompositeOp& op : *ops) *count += RegisterComposite(op);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tensorflow_ext

extern "C" int64_t TfExt_RegisterAddonsOps(TF_Status* status) {
  int64_t count = 0;
  tensorflow_ext::Guarded(status, [&] { return tensorflow_ext::RegisterAddonsOps(&count); });
  return count;
}
