// Rows that a loop passes over several times while they are in cache. For loops of RunBest
// (simd.h).

#pragma once

#include <cstdint>
#include <type_traits>

#include "tensorflow_ext/kernels/simd.h"
#include "tensorflow_ext/kernels/streaming_cpu.h"

namespace tensorflow_ext {

// A row of T, read in its compute type up to kChunk values at a time: in place, or through a
// buffer, which keeps the last chunk.
template <typename Isa, typename T, int64_t kChunk>
class WideRow {
 public:
  using C = ComputeType<T>;

  TENSORFLOW_EXT_INLINE void Start(const T* row) {
    row_ = row;
    held_ = -1;
  }
  TENSORFLOW_EXT_INLINE const C* Chunk(int64_t begin, int64_t size) {
    if constexpr (std::is_same_v<T, C>) {
      return row_ + begin;
    } else {
      if (held_ != begin) Isa::Widen(row_ + begin, buffer_, size);
      held_ = begin;
      return buffer_;
    }
  }

 private:
  const T* row_ = nullptr;
  int64_t held_ = -1;
  C buffer_[std::is_same_v<T, C> ? 1 : kChunk];
};

// The place where a chunk of an output is computed: in place, or in a buffer that Store rounds to
// T. If it streams, Store writes past the caches, and the caller must call FinishStreaming()
// (streaming_cpu.h) after the last row.
template <typename Isa, typename T, int64_t kChunk>
class NarrowRow {
 public:
  using C = ComputeType<T>;

  TENSORFLOW_EXT_INLINE explicit NarrowRow(bool streams = false) : streams_(streams) {}

  TENSORFLOW_EXT_INLINE C* Chunk(T* row) {
    if constexpr (std::is_same_v<T, C>) {
      return streams_ ? buffer_ : row;
    } else {
      return buffer_;
    }
  }
  TENSORFLOW_EXT_INLINE void Store(T* row, int64_t size) {
    const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
    if constexpr (std::is_same_v<T, C>) {
      if (streams_) internal::CopyStreaming(buffer_, row, bytes);
    } else if (streams_) {
      T narrow[kChunk];
      Isa::Narrow(buffer_, narrow, size);
      internal::CopyStreaming(narrow, row, bytes);
    } else {
      Isa::Narrow(buffer_, row, size);
    }
  }

 private:
  const bool streams_;
  C buffer_[kChunk];
};

// Prefetches the lines of a row that is read or written after another row has been summed. Both
// reads and writes wait for a line from memory, and these lines have arrived by then.
template <typename T>
class LinesAhead {
 public:
  // True if a row of `size` values stays in the nearby caches until then.
  TENSORFLOW_EXT_INLINE static bool Fit(int64_t size) {
    return size <= (1 << 16) / static_cast<int64_t>(sizeof(T));
  }

  TENSORFLOW_EXT_INLINE LinesAhead(const T* row, bool asks) : row_(row), asks_(asks) {}

  TENSORFLOW_EXT_INLINE LinesAhead From(int64_t begin) const {
    return LinesAhead(row_ + begin, asks_);
  }
  // Prefetches the line of value i.
  TENSORFLOW_EXT_INLINE void AskToRead(int64_t i) const {
    if (asks_) __builtin_prefetch(row_ + i, /*rw=*/0);
  }
  TENSORFLOW_EXT_INLINE void AskToWrite(int64_t i) const {
    if (asks_) __builtin_prefetch(row_ + i, /*rw=*/1);
  }

 private:
  const T* row_;
  bool asks_;
};

}  // namespace tensorflow_ext
