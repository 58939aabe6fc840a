#include "tensorflow_ext/gradient/bridge/op_look_ups.h"

#include <cstring>

#include "tensorflow/core/framework/op.h"

namespace tensorflow_ext {

using tensorflow::OpRegistrationData;
using tensorflow::OpRegistry;

namespace {

void (*watcher_of_look_ups)(const std::string& op) = nullptr;

// TensorFlow's registry of ops, with another function to look one up.
class WatchedOpRegistry final : public OpRegistry {
 public:
  using OpRegistry::LookUp;

  absl::Status LookUp(const std::string& op, const OpRegistrationData** data) const override {
    const absl::Status found = OpRegistry::LookUp(op, data);
    if (found.ok()) watcher_of_look_ups(op);
    return found;
  }
};

// Clients hold pointers to the registry, so no other object can take its place. Both classes have
// the same members, so the registry becomes a WatchedOpRegistry by its first word, which points to
// the virtual functions of its class.
static_assert(sizeof(WatchedOpRegistry) == sizeof(OpRegistry));

}  // namespace

void WatchOpLookUps(void (*watcher)(const std::string& op)) {
  watcher_of_look_ups = watcher;
  static const auto* const watched = new WatchedOpRegistry;
  void* virtual_functions;
  std::memcpy(&virtual_functions, static_cast<const void*>(watched), sizeof virtual_functions);
  // Other threads may be looking up ops.
  __atomic_store_n(reinterpret_cast<void**>(OpRegistry::Global()), virtual_functions,
                   __ATOMIC_RELEASE);
}

}  // namespace tensorflow_ext
