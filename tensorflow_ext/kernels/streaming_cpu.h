// SPDX-License-Identifier: Apache-2.0
//
// Results that are larger than the caches. An ordinary store first reads its
// line from memory; whole lines written past the caches are not read, which of
// an elementwise loop with one operand is a third of what it moves.

#ifndef TENSORFLOW_EXT_KERNELS_STREAMING_CPU_H_
#define TENSORFLOW_EXT_KERNELS_STREAMING_CPU_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensorflow_ext/kernels/numeric.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tensorflow_ext {

// Whether of a result of so many bytes nothing that was written first is left
// in the caches when the last of it has been written. What the system says of
// the last cache is of no use: it may be several, or shared with others.
inline bool ExceedsCaches(int64_t bytes) { return bytes > int64_t{32} << 20; }

// Whether an elementwise op is to write its results, `bytes` in all, past the
// caches. Of a first result that is one of the inputs, the lines are in them.
inline bool StreamsResults(const void* const* inputs, int arity,
                           const void* first, int64_t bytes) {
  const bool is_apart =
      std::find(inputs, inputs + arity, first) == inputs + arity;
  return is_apart && ExceedsCaches(bytes);
}

namespace internal {

constexpr int64_t kLineBytes = 64;

// How many bytes lie before the next line.
TENSORFLOW_EXT_INLINE int64_t BytesToLine(const void* address) {
  return -reinterpret_cast<uintptr_t>(address) & (kLineBytes - 1);
}

// Copies past the caches what is whole lines of `to`. FinishStreaming() comes
// before anyone may read it. Few lines at a time: what is read and computed
// between two copies goes on beside the first.
TENSORFLOW_EXT_INLINE void CopyStreaming(const void* from, void* to,
                                         int64_t bytes) {
#if defined(__x86_64__)
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  const int64_t head = std::min(bytes, BytesToLine(to));
  if (head > 0) std::memcpy(target, source, head);
  int64_t i = head;
  for (; i + kLineBytes <= bytes; i += kLineBytes) {
    for (int64_t part = i; part < i + kLineBytes; part += 16) {
      _mm_stream_si128(
          reinterpret_cast<__m128i*>(target + part),
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

#endif  // TENSORFLOW_EXT_KERNELS_STREAMING_CPU_H_
