// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/tape/virtual_functions.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace tensorflow_ext {

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
