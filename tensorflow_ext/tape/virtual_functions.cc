#include "tensorflow_ext/tape/virtual_functions.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tensorflow_ext {

absl::Status CheckEntry(void* const* table, void* const* entry, const char* symbol) {
  std::string found = "no table";
  if (table != nullptr) {
    Dl_info info;
    if (dladdr(*entry, &info) == 0) {
      found = "no function";
    } else if (info.dli_sname == nullptr || info.dli_saddr != *entry) {
      // As if another library, or another copy of this one, sees eager ops.
      found = absl::StrCat("a function of ", info.dli_fname);
    } else if (absl::StrContains(info.dli_sname, symbol)) {
      return absl::OkStatus();
    } else {
      found = info.dli_sname;
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "The tape cannot see eager ops: expected ", symbol,
      " in TensorFlow's table of virtual functions, got ", found,
      ". Build tensorflow_ext for this TensorFlow, or add gradients to a graph instead "
      "(TF_AddGradients)"));
}

absl::Status ReplaceEntry(void** entry, void* function, void** original) {
  const uintptr_t page = sysconf(_SC_PAGESIZE);
  void* const start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(entry) / page * page);
  *original = *entry;
  // The dynamic linker makes the tables read-only (RELRO).
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "The tape cannot see eager ops: mprotect of TensorFlow's table of virtual functions gave ",
        std::strerror(errno), ". Add gradients to a graph instead"));
  }
  // The page stays writable, because it may hold data that others write.
  __atomic_store_n(entry, function, __ATOMIC_RELEASE);
  return absl::OkStatus();
}

}  // namespace tensorflow_ext
