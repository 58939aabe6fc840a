// Replaces virtual functions of TensorFlow's classes, for all objects of a class, where no
// interface tells what they do. x86-64, by the C++ ABI of Itanium: a class has a table of its
// virtual functions, and a pointer to a virtual member function holds the place in it.

#pragma once

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"

namespace tensorflow_ext {

// The entry of the virtual function `member` in a table, as the linker names it (_ZTV...).
template <typename Member>
void** VirtualEntry(void** table, Member member) {
  uintptr_t offset;  // in bytes, plus one
  static_assert(sizeof member >= sizeof offset);
  std::memcpy(&offset, &member, sizeof offset);
  // The first two words of a table are no functions.
  return table + 2 + (offset - 1) / sizeof(void*);
}

// Fails with kFailedPrecondition unless the entry holds the function whose mangled name contains
// `symbol`. `table`: null if TensorFlow's libraries do not export it.
absl::Status CheckEntry(void* const* table, void* const* entry, const char* symbol);

// Stores `function`, which takes the object as its first argument, in the entry, and what was there
// in `original` before. Other threads may be calling. kFailedPrecondition if the system does not
// allow it.
absl::Status ReplaceEntry(void** entry, void* function, void** original);

}  // namespace tensorflow_ext
