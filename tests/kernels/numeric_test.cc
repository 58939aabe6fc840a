// The kernels' 16-bit types against Eigen's, value by value and through the vectorised conversions:
// every 16-bit pattern, and the floats around it. Also with subnormal floats flushed to zero, as
// TensorFlow's threads do.

#include "tensorflow_ext/kernels/numeric.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "Eigen/Core"
#include "tensorflow_ext/kernels/simd.h"
#include "tests/cc/check.h"

namespace tensorflow_ext {
namespace {

void Check(bool ok, const char* what, double value, double got, double want) {
  if (ok || ++failures > 20) return;
  std::printf("%s of %.10g: got %.10g, expected %.10g\n", what, value, got, want);
}

// Equal, bit for bit, or both NaN.
template <typename T>
bool Same(T a, T b) {
  if (a != a || b != b) return a != a && b != b;
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <typename Ours, typename Eigens>
Eigens ToEigen(Ours value) {
  return Eigen::numext::bit_cast<Eigens>(value.bits);
}

template <typename Ours, typename Eigens>
void CheckWidening() {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Ours value{static_cast<uint16_t>(bits)};
    const float wide = ToCompute(value);
    const float want = static_cast<float>(ToEigen<Ours, Eigens>(value));
    Check(Same(wide, want), "ToCompute", bits, wide, want);
    const Ours back = FromCompute<Ours>(wide);
    const bool ok = wide != wide ? ToCompute(back) != ToCompute(back) : back.bits == value.bits;
    Check(ok, "round trip", wide, back.bits, value.bits);
  }
}

// For each 16-bit value: itself, the midpoint to its successor, and the floats on both sides of
// each.
template <typename Ours>
std::vector<float> Neighbourhoods() {
  std::vector<float> floats;
  // NaNs whose payload does not reach the upper 16 bits, or fills them.
  for (const uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu}) {
    floats.push_back(Eigen::numext::bit_cast<float>(bits));
  }
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float low = ToCompute(Ours{static_cast<uint16_t>(bits)});
    const float high = ToCompute(Ours{static_cast<uint16_t>(bits + 1)});
    const float inf = std::numeric_limits<float>::infinity();
    for (const float centre : {low, low + (high - low) / 2}) {
      floats.push_back(centre);
      floats.push_back(std::nextafter(centre, -inf));
      floats.push_back(std::nextafter(centre, inf));
    }
  }
  for (const float value : {65519.99f, 65520.f, 1e10f, 3.4e38f, 1e-40f}) {
    floats.push_back(value);
    floats.push_back(-value);
  }
  return floats;
}

template <typename Ours, typename Eigens>
void CheckNarrowing() {
  for (const float value : Neighbourhoods<Ours>()) {
    const Eigens got = ToEigen<Ours, Eigens>(FromCompute<Ours>(value));
    const Eigens want(value);
    const float got_wide = static_cast<float>(got);
    const float want_wide = static_cast<float>(want);
    Check(Same(got_wide, want_wide), "FromCompute", value, got_wide, want_wide);
  }
}

// Converts there and back in an instruction set.
template <typename T>
struct Convert {
  template <typename Isa>
  TENSORFLOW_EXT_INLINE static void Run(const float* floats, T* narrow, float* wide, int64_t size) {
    Isa::Narrow(floats, narrow, size);
    Isa::Widen(narrow, wide, size);
  }
};

// The array conversions give what the scalar ones give.
template <typename T>
void CheckArrays(InstructionSet set, const std::vector<float>& floats) {
  const int64_t size = floats.size();
  std::vector<T> narrow(size);
  std::vector<float> wide(size);
  const float* from = floats.data();
  T* to = narrow.data();
  float* back = wide.data();
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) {
    internal::RunAvx512<Convert<T>>(from, to, back, size);
  } else if (set == InstructionSet::kAvx2) {
    internal::RunAvx2<Convert<T>>(from, to, back, size);
  } else
#endif
  {
    Convert<T>::template Run<Baseline>(from, to, back, size);
  }
  for (int64_t i = 0; i < size; ++i) {
    const float want = ToCompute(FromCompute<T>(floats[i]));
    Check(Same(ToCompute(narrow[i]), want), "Narrow", floats[i], ToCompute(narrow[i]), want);
    Check(Same(wide[i], want), "Widen", floats[i], wide[i], want);
  }
}

template <typename Ours, typename Eigens>
void CheckType() {
  CheckWidening<Ours, Eigens>();
  CheckNarrowing<Ours, Eigens>();
  const std::vector<float> floats = Neighbourhoods<Ours>();
  for (const InstructionSet set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set > BestInstructionSet()) break;
    CheckArrays<Ours>(set, floats);
    for (int size = 0; size < 40; ++size) {
      const auto first = floats.begin() + 9000;
      CheckArrays<Ours>(set, {first, first + size});
    }
  }
}

// If subnormals are flushed to zero, the conversions of half stay exact. Subnormal bfloat16 numbers
// are subnormal floats, and pass as bits.
void CheckFlushed() {
#if defined(__x86_64__)
  std::vector<float> want(0x10000);
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    want[bits] = ToCompute(Half{static_cast<uint16_t>(bits)});
  }
  const unsigned int before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // Flush to zero, denormals are zero.
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Half value{static_cast<uint16_t>(bits)};
    const float wide = ToCompute(value);
    Check(Same(wide, want[bits]), "flushed ToCompute", bits, wide, want[bits]);
    if (wide != wide) continue;
    const Half back = FromCompute<Half>(wide);
    Check(back.bits == value.bits, "flushed round trip", wide, back.bits, value.bits);
  }
  _mm_setcsr(before);
#endif
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  using namespace tensorflow_ext;  // NOLINT
  CheckType<Half, Eigen::half>();
  CheckType<Bfloat16, Eigen::bfloat16>();
  CheckFlushed();
  return ExitStatus();
}
