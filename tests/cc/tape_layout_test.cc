// Tapes refuse a TensorFlow whose classes have another layout, and change nothing in it.

#include "absl/strings/match.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"
#include "tensorflow_ext/gradient_tape.h"
#include "tensorflow_ext/tape/virtual_functions.h"
#include "tests/cc/check.h"
#include "tests/cc/eager.h"

extern "C" void* _ZTVN10tensorflow14EagerOperationE[];

namespace tensorflow_ext {
namespace {

constexpr char kExecute[] = "14EagerOperation7ExecuteE";

void CheckRefused(const absl::Status& status, const char* found) {
  Check(absl::IsFailedPrecondition(status), status.ToString());
  for (const char* part : {"expected 14EagerOperation7ExecuteE in TensorFlow's table", found,
                           "Build tensorflow_ext for this TensorFlow"}) {
    Check(absl::StrContains(status.message(), part), status.ToString());
  }
}

void Run() {
  void** const table = _ZTVN10tensorflow14EagerOperationE;
  void** const entry = VirtualEntry(table, &tensorflow::EagerOperation::Execute);
  CheckOk(CheckEntry(table, entry, kExecute));
  CheckRefused(CheckEntry(nullptr, nullptr, kExecute), "got no table");
  void* const ours = reinterpret_cast<void*>(&Run);
  CheckRefused(CheckEntry(table, &ours, kExecute), "got a function of ");
  void* const nowhere = nullptr;
  CheckRefused(CheckEntry(table, &nowhere, kExecute), "got no function");

  const Eager eager;
  void *execute, *unused;
  CheckOk(ReplaceEntry(entry, entry[1], &execute));
  const absl::Status refused = GradientTape::New(eager.context()).status();
  CheckOk(ReplaceEntry(entry, execute, &unused));
  CheckRefused(refused, "got _ZN");
  Check(eager.ValueOf(eager.Product(eager.Scalar(2), eager.Scalar(3))) == 6, "ops run as before");
  CheckRefused(GradientTape::New(eager.context()).status(), "got _ZN");
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  tensorflow_ext::Run();
  return tensorflow_ext::ExitStatus();
}
