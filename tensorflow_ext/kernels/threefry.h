// Random numbers that are a function of a key and a counter: Threefry-2x32 with 20 rounds, by J.
// Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. The key gives direct
// access to any number of the sequence, so results depend neither on the number of threads nor on
// which thread computes them. Sums, rotations and exclusive ors give the same bits on every device.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/elementwise.h"

namespace tensorflow_ext {

TENSORFLOW_EXT_HOST_DEVICE uint32_t RotateLeft(uint32_t x, int bits) {
  return (x << bits) | (x >> (32 - bits));
}

namespace internal {

template <typename Word>
TENSORFLOW_EXT_HOST_DEVICE void Mix(Word& first, Word& second, int bits) {
  first = first + second;
  second = RotateLeft(second, bits) ^ first;
}

template <int kA, int kB, int kC, int kD, typename Word>
TENSORFLOW_EXT_HOST_DEVICE void MixFourTimes(Word& first, Word& second) {
  Mix(first, second, kA);
  Mix(first, second, kB);
  Mix(first, second, kC);
  Mix(first, second, kD);
}

}  // namespace internal

// 64 random bits; for each key this is a permutation of the counters. Word is uint32_t or, in XLA
// lowerings, a 32-bit XlaOp, which has its own RotateLeft.
template <typename Word>
TENSORFLOW_EXT_HOST_DEVICE Pair<Word> Threefry(const Pair<Word>& key, const Pair<Word>& counter) {
  const Word k0 = key.first, k1 = key.second;
  const Word k2 = (k0 ^ k1) ^ 0x1bd11bda;  // The parity of Skein's key schedule.
  Word x0 = counter.first + k0, x1 = counter.second + k1;
  internal::MixFourTimes<13, 15, 26, 6>(x0, x1);
  x0 = x0 + k1;
  x1 = x1 + (k2 + 1);
  internal::MixFourTimes<17, 29, 16, 24>(x0, x1);
  x0 = x0 + k2;
  x1 = x1 + (k0 + 2);
  internal::MixFourTimes<13, 15, 26, 6>(x0, x1);
  x0 = x0 + k0;
  x1 = x1 + (k1 + 3);
  internal::MixFourTimes<17, 29, 16, 24>(x0, x1);
  x0 = x0 + k1;
  x1 = x1 + (k2 + 4);
  internal::MixFourTimes<13, 15, 26, 6>(x0, x1);
  return {x0 + k2, x1 + (k0 + 5)};
}

}  // namespace tensorflow_ext
