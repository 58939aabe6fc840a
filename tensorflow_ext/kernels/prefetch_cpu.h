// Prefetches memory that a loop needs later. A processor prefetches sequential reads by itself. For
// scattered reads it sees only the addresses in the instructions that it holds at once.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

// Prefetches `size` elements. The last ones need not exist: nothing is read.
template <typename T>
TENSORFLOW_EXT_INLINE void Prefetch(const T* values, int64_t size) {
  constexpr int64_t kLine = 64;
  const uintptr_t first = reinterpret_cast<uintptr_t>(values);
  for (int64_t i = 0; i < size * static_cast<int64_t>(sizeof(T)); i += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(first + i));
  }
}

}  // namespace tensorflow_ext
