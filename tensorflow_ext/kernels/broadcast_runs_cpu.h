// Splits a broadcast into runs of elements that a loop processes at once: the innermost dimension
// or, where that is short, several rows of it whose operands are gathered first.

#pragma once

#include <algorithm>
#include <cstdint>

#include "tensorflow_ext/kernels/broadcast.h"

namespace tensorflow_ext {
namespace internal {

// The position of the output's element `index`. It is updated from run to run, because decoding it
// anew takes a division for each dimension.
template <int kArity>
struct RunPosition {
  int64_t index[kMaxBroadcastRank];
  int64_t offsets[kArity];

  TENSORFLOW_EXT_INLINE RunPosition(const Broadcast<kArity>& broadcast, int64_t begin) {
    BroadcastOffsets(broadcast, begin, offsets);
    for (int d = broadcast.rank - 1; d >= 0; --d) {
      index[d] = begin % broadcast.sizes[d];
      begin /= broadcast.sizes[d];
    }
  }

  // Advances by `run` elements, at most to the end of the innermost dimension.
  TENSORFLOW_EXT_INLINE void Advance(const Broadcast<kArity>& broadcast, int64_t run) {
    for (int d = broadcast.rank - 1; d >= 0; --d) {
      index[d] += run;
      for (int k = 0; k < kArity; ++k) {
        offsets[k] += run * broadcast.strides[k][d];
      }
      if (d == 0 || index[d] < broadcast.sizes[d]) return;
      for (int k = 0; k < kArity; ++k) {
        offsets[k] -= broadcast.sizes[d] * broadcast.strides[k][d];
      }
      index[d] = 0;
      run = 1;
    }
  }
};

// The elements [begin, end), run after run:
//
//   while (const int64_t size = runs.Next()) use(runs.operands(), size);
//
// operands()[k] points to the first element of operand k. The others follow it if Moves(k);
// otherwise it is the only one.
template <typename T, int kArity>
class BroadcastRuns {
 public:
  BroadcastRuns(const Broadcast<kArity>& broadcast, const void* const* inputs, int64_t begin,
                int64_t end)
      : broadcast_(broadcast),
        inner_(broadcast.rank - 1),
        columns_(broadcast.sizes[inner_]),
        gathers_(broadcast.rank > 1 && columns_ < kFewColumns),
        begin_(begin),
        end_(end),
        position_(broadcast, begin) {
    for (int k = 0; k < kArity; ++k) {
      inputs_[k] = static_cast<const T*>(inputs[k]);
      if (!gathers_) continue;
      operands_[k] = gathered_[k];
      const int64_t* strides = broadcast.strides[k];
      const auto repeats = [](int64_t stride) { return stride == 0; };
      if (std::none_of(strides, strides + broadcast.rank, repeats)) {
        source_[k] = Source::kInput;
      } else if (std::all_of(strides, strides + inner_, repeats)) {
        source_[k] = Source::kPeriod;
      } else {
        source_[k] = Source::kBlock;
        gathers_blocks_ = true;
      }
    }
    if (gathers_) Gather(Source::kPeriod, std::min(Block(), end - begin));
  }
  BroadcastRuns(const BroadcastRuns&) = delete;

  bool Moves(int k) const { return gathers_ || broadcast_.strides[k][inner_] != 0; }
  const T* const* operands() const { return operands_; }

  // The size of the next run; 0 at the end.
  int64_t Next() {
    int64_t size = end_ - begin_;
    if (!gathers_) {
      size = std::min(size, columns_ - position_.index[inner_]);
      for (int k = 0; k < kArity; ++k) {
        operands_[k] = inputs_[k] + position_.offsets[k];
      }
      position_.Advance(broadcast_, size);
    } else {
      size = std::min(size, Block());
      for (int k = 0; k < kArity; ++k) {
        if (source_[k] == Source::kInput) operands_[k] = inputs_[k] + begin_;
      }
      if (gathers_blocks_) position_ = Gather(Source::kBlock, size);
    }
    begin_ += size;
    return size;
  }

 private:
  // With this many columns, gathering would take longer than it saves.
  static constexpr int64_t kFewColumns = 64;
  static constexpr int64_t kMostGathered = 256;

  // Where the elements of an operand come from.
  enum class Source {
    kInput,   // it has the output's shape
    kPeriod,  // it repeats in all dimensions but perhaps the innermost: every
              // block has the same
    kBlock,   // each block has its own
  };

  // A multiple of the row size, so all blocks begin in the same column.
  int64_t Block() const { return kMostGathered - kMostGathered % columns_; }

  // Gathers the operands of the next `size` elements; returns the end position.
  RunPosition<kArity> Gather(Source source, int64_t size) {
    RunPosition<kArity> position = position_;
    for (int64_t i = 0; i < size;) {
      const int64_t run = std::min(size - i, columns_ - position.index[inner_]);
      for (int k = 0; k < kArity; ++k) {
        if (source_[k] != source) continue;
        const int64_t stride = broadcast_.strides[k][inner_];
        const T* from = inputs_[k] + position.offsets[k];
        for (int64_t j = 0; j < run; ++j) {
          gathered_[k][i + j] = from[j * stride];
        }
      }
      position.Advance(broadcast_, run);
      i += run;
    }
    return position;
  }

  const Broadcast<kArity>& broadcast_;
  const int inner_;
  const int64_t columns_;
  const bool gathers_;
  bool gathers_blocks_ = false;
  int64_t begin_, end_;
  RunPosition<kArity> position_;
  const T* inputs_[kArity];
  const T* operands_[kArity];
  Source source_[kArity];
  T gathered_[kArity][kMostGathered];
};

}  // namespace internal
}  // namespace tensorflow_ext
