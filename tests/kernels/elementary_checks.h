// Runs loops over an elementary function, and checks that every instruction set and every length
// give the same bits.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {

using Real = long double;

// Runs one type's loop alone, because a loop of each type and instruction set takes long to
// compile.
template <typename Functor, typename T>
void RunLoop(const void* const* inputs, void* const* outputs, int64_t size) {
  const int64_t begin = 0;
  RunBest<internal::ElementwiseLoop<Functor, T>>(Functor{}, inputs, outputs, false, begin, size);
}

template <typename Functor, typename T>
std::vector<T> Run(const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> results(x.size());
  const void* const inputs[] = {x.data(), y.data()};
  void* const outputs[] = {results.data()};
  RunLoop<Functor, T>(inputs, outputs, x.size());
  return results;
}

// The same, without the loops' choice between small and large angles.
template <typename Functor>
struct OneByOne {
  static constexpr int kArity = Functor::kArity;
  template <typename... T>
  TENSORFLOW_EXT_HOST_DEVICE auto operator()(T... x) const {
    return Functor{}(x...);
  }
};

// The same for functions of two numbers.
template <typename Functor>
struct TwoByTwo : OneByOne<Functor> {
  static constexpr bool kTwoAtOnce = true;
};

template <typename T>
void CheckSame(const char* name, const std::string& what, const std::vector<T>& want,
               const std::vector<T>& got) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] != want[i] && got[i] != got[i]) continue;
    if (internal::BitCast<BitsOf<T>>(want[i]) == internal::BitCast<BitsOf<T>>(got[i])) {
      continue;
    }
    ++failures;
    std::printf("%s, %s: %.17g and %.17g\n", name, what.c_str(), static_cast<double>(want[i]),
                static_cast<double>(got[i]));
    return;
  }
}

template <typename Functor, typename T>
void CheckBits(const char* name, const std::vector<T>& x, const std::vector<T>& y) {
  const std::vector<T> want = Run<Functor>(x, y);
  std::vector<T> got(x.size());
  const void* const inputs[] = {x.data(), y.data()};
  void* const outputs[] = {got.data()};
  const void* const* in = inputs;
  void* const* out = outputs;
  using Loop = internal::ElementwiseLoop<Functor, T>;
  const int64_t all = x.size();
  using Single = internal::ElementwiseLoop<OneByOne<Functor>, T>;
  Single::template Run<Baseline>(OneByOne<Functor>{}, in, out, false, int64_t{0}, all);
  CheckSame(name, "number by number", want, got);
  for (bool streams : {false, true}) {
    const std::string how = streams ? ", past the caches" : "";
    got.assign(x.size(), 0);
    for (int64_t begin = 0, size = 1; begin < all;
         begin += size, size = size % 700 + (streams ? 61 : 1)) {
      const int64_t end = std::min(begin + size, all);
      RunBest<Loop>(Functor{}, in, out, streams, begin, end);
    }
    CheckSame(name, "other lengths" + how, want, got);
#if defined(__x86_64__)
    const int64_t begin = 0;
    Loop::template Run<Baseline>(Functor{}, in, out, streams, begin, all);
    CheckSame(name, "baseline" + how, want, got);
    if (BestInstructionSet() != InstructionSet::kBaseline) {
      using Halves = internal::ElementwiseLoop<TwoByTwo<Functor>, T>;
      got.assign(x.size(), 0);
      for (int64_t from = 0, size = 1; from < all; from += size, ++size) {
        const int64_t to = std::min(from + size, all);
        internal::RunAvx2<Halves>(TwoByTwo<Functor>{}, in, out, streams, from, to);
      }
      CheckSame(name, "two at once" + how, want, got);
    }
    if (BestInstructionSet() == InstructionSet::kAvx512) {
      internal::RunAvx2<Loop>(Functor{}, in, out, streams, begin, all);
      CheckSame(name, "AVX2" + how, want, got);
    }
#endif
  }
}

}  // namespace tensorflow_ext
