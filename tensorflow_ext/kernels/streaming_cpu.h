// Results larger than the caches. An ordinary store first reads its line from memory. Whole lines
// written past the caches are not read; that read is a third of the traffic of an elementwise loop
// with one operand.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensorflow_ext/kernels/numeric.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tensorflow_ext {

// True if, once a result of this size is complete, none of its first part is left in the caches.
// The system's size of the last cache does not help: there may be several, or other processes share
// it.
inline bool ExceedsCaches(int64_t bytes) { return bytes > int64_t{32} << 20; }

// True if an elementwise op should write its results, `bytes` in all, past the caches. If the first
// result is an input, its lines are in the caches.
inline bool StreamsResults(const void* const* inputs, int arity, const void* first, int64_t bytes) {
  const bool is_apart = std::find(inputs, inputs + arity, first) == inputs + arity;
  return is_apart && ExceedsCaches(bytes);
}

namespace internal {

constexpr int64_t kLineBytes = 64;

// The number of bytes before the next line.
TENSORFLOW_EXT_INLINE int64_t BytesToLine(const void* address) {
  return -reinterpret_cast<uintptr_t>(address) & (kLineBytes - 1);
}

// Copies whole lines of `to` past the caches. Call FinishStreaming() before anyone reads them. Copy
// few lines at a time, so the reads and computation between two copies overlap with the first copy.
TENSORFLOW_EXT_INLINE void CopyStreaming(const void* from, void* to, int64_t bytes) {
#if defined(__x86_64__)
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  const int64_t head = std::min(bytes, BytesToLine(to));
  if (head > 0) std::memcpy(target, source, head);
  int64_t i = head;
  for (; i + kLineBytes <= bytes; i += kLineBytes) {
    for (int64_t part = i; part < i + kLineBytes; part += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + part)));
    }
  }
  if (i < bytes) std::memcpy(target + i, source + i, bytes - i);
#else
  std::memcpy(to, from, bytes);
#endif
}

TENSORFLOW_EXT_INLINE void FinishStreaming() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace internal
}  // namespace tensorflow_ext
