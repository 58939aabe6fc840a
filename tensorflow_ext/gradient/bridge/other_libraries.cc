#include "tensorflow_ext/gradient/bridge/other_libraries.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/platform/logging.h"
#include "tensorflow_ext/base/first_copy.h"
#include "tensorflow_ext/gradient/bridge/client_registry.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/gradient/plan/plan.h"

namespace tensorflow_ext {

namespace {

struct Errors {
  std::mutex mutex;
  std::string lines;

  static Errors& Global() {
    static Errors* errors = new Errors;
    return *errors;
  }
};

// Describes the owner of the op's gradient, or of the entry that it has none.
std::string HolderOf(uint32_t registries) {
  if (registries & (TFEXT_CLIENT_NO_GRADIENT | TFEXT_FUNCTION_NO_GRADIENT)) {
    return "the op is registered as one without a gradient";
  }
  if (registries & TFEXT_GRADIENT_ASKED_FOR) {
    return "another library has already replaced it";
  }
  if (registries & (TFEXT_FUNCTION_OWN | TFEXT_CLIENT_BRIDGED)) {
    return "libtensorflow_ext.so, or a library loaded after it, has registered one";
  }
  return "TensorFlow or another library has registered one";
}

constexpr uint32_t kAnyGradient = TFEXT_FUNCTION_GRADIENT | TFEXT_FUNCTION_NO_GRADIENT |
                                  TFEXT_CLIENT_GRADIENT | TFEXT_CLIENT_NO_GRADIENT |
                                  TFEXT_FUNCTION_OWN;

}  // namespace

absl::Status RegisterOtherGradient(const char* op, GradientCreator creator,
                                   TfExt_Precedence precedence) {
  if (op == nullptr || *op == '\0' || !creator) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The gradient of an op is registered with ",
        op == nullptr || *op == '\0' ? "no op" : "no function that writes it", "; give both"));
  }
  if (!IsFirstCopy()) {
    return absl::FailedPreconditionError(
        absl::StrCat("The gradient of ", op, " is registered with a second copy of ",
                     "libtensorflow_ext.so in this process, which registers nothing; load ",
                     "the same file everywhere in the process"));
  }
  // No other thread may register between the check and the registration.
  static std::mutex* mutex = new std::mutex;
  std::lock_guard<std::mutex> lock(*mutex);
  const uint32_t registries = GradientRegistries(op);
  if (precedence == TFEXT_GRADIENT_NEW && (registries & kAnyGradient) != 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("Op ", op, " has a gradient already: ", HolderOf(registries),
                     ". To replace it, use TFEXT_REGISTER_STAND_IN (in C TFEXT_GRADIENT_INSTEAD)"));
  }
  if (precedence == TFEXT_GRADIENT_NEW) {
    RegisterGradient(op, std::move(creator));
  } else {
    RegisterAskedFor(op, std::move(creator));
  }
  DropPlans(op);
  return absl::OkStatus();
}

absl::Status KeepRegistrationError(absl::Status status) {
  if (status.ok()) return status;
  LOG(ERROR) << status.message();
  std::lock_guard<std::mutex> lock(Errors::Global().mutex);
  absl::StrAppend(&Errors::Global().lines, status.message(), "\n");
  return status;
}

std::string TakeRegistrationErrors() {
  std::lock_guard<std::mutex> lock(Errors::Global().mutex);
  return std::exchange(Errors::Global().lines, "");
}

}  // namespace tensorflow_ext
