// Threefry-2x32 against the known answers of Random123, its authors' library, and the numbers that
// Rrelu makes from its bits.

#include "tensorflow_ext/kernels/threefry.h"

#include <cstdint>

#include "tensorflow_ext/ops/rrelu/rrelu.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

bool Same(const Pair<uint32_t>& a, const Pair<uint32_t>& b) {
  return a.first == b.first && a.second == b.second;
}

// tests/kat_vectors of Random123 1.14, "threefry2x32 20".
void TestKnownAnswers() {
  struct Answer {
    Pair<uint32_t> counter, key, block;
  };
  constexpr Answer kAnswers[] = {
      {{0, 0}, {0, 0}, {0x6b200159, 0x99ba4efe}},
      {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x1cb996fc, 0xbb002be7}},
      {{0x243f6a88, 0x85a308d3}, {0x13198a2e, 0x03707344}, {0xc4923a9c, 0x483df7a0}},
  };
  for (const Answer& answer : kAnswers) {
    Check(Same(Threefry(answer.key, answer.counter), answer.block), "a known answer");
  }
}

// Both halves of both numbers of a seed matter, for negative numbers too.
void TestKeys() {
  const int64_t numbers[] = {0, 1, -1, int64_t{1} << 32, -(int64_t{1} << 32)};
  for (const int64_t a : numbers) {
    for (const int64_t b : numbers) {
      for (const int64_t c : numbers) {
        for (const int64_t d : numbers) {
          Check(Same(SlopeKey(a, b), SlopeKey(c, d)) == (a == c && b == d),
                "one key for each seed");
        }
      }
    }
  }
  Check(Same(SlopeKey(int32_t{-7}, int32_t{9}), SlopeKey(-7, 9)), "a short seed is a long one");
}

// Beyond 2^32 pairs; no test has the memory for so many elements.
void TestCounters() {
  Check(Same(CounterOfPair(5), {5, 0}), "counter of pair 5");
  Check(Same(CounterOfPair((int64_t{3} << 32) + 7), {7, 3}), "counter of pair 3 * 2^32 + 7");
  Check((CounterOfPair(INT64_MAX / 2).second & kMoreBits) == 0,
        "the last counter is none of those for more bits");
}

void TestUniform() {
  Check(Fraction<float, 24>(0xffffffff) == 1 - 0x1p-24f, "largest float");
  Check(Fraction<float, 24>(0xff) == 0, "smallest float");
  const Pair<uint32_t> key = {1, 2};
  for (uint32_t pair = 0; pair < 1000; ++pair) {
    const Pair<uint32_t> counter = {pair, 0};
    const Pair<float> few = UniformPair<float>(key, counter);
    const Pair<double> many = UniformPair<double>(key, counter);
    for (const double more : {many.first - few.first, many.second - few.second}) {
      Check(more >= 0 && more < 0x1p-24, "double begins with float's bits");
      Check(more * 0x1p53 == static_cast<int64_t>(more * 0x1p53), "53 bits");
    }
  }
}

// A slope lies between its bounds, whatever they are, and at both ends.
void TestRange() {
  constexpr float kLargest = 0x1.fffffep127f, kSmallest = 0x1p-149f;
  const Pair<float> bounds[] = {
      {0.125f, 1 / 3.f},
      {0, 1},
      {-1, 0},
      {1, 1 + 0x1p-23f},
      {2, 2},
      {0, kSmallest},
      {0, kLargest},
      {-kLargest / 2, kLargest / 2},
  };
  for (const auto& [lower, upper] : bounds) {
    const SlopeRange<float> few(lower, upper);
    const SlopeRange<double> many(lower, upper);
    for (const float u : {0.f, 0x1p-24f, 0.5f, 1 - 0x1p-24f}) {
      Check(few(u) >= lower && few(u) <= upper, "a slope in float");
      Check(many(double{u}) >= lower && many(double{u}) <= upper, "a slope in double");
    }
    Check(few(0.f) - lower <= (upper - lower) * 1e-6f, "the smallest slope");
  }
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  using namespace tensorflow_ext;
  TestKnownAnswers();
  TestKeys();
  TestCounters();
  TestUniform();
  TestRange();
  return ExitStatus();
}
