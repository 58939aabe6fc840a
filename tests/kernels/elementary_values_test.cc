// The functions of C that functors have (kernels/elementary.h, trigonometric.h) against the C
// library's in a wider type. float is tested at every 1009th number, or at each with
//
//   bazel run //tests/kernels:elementary_values_test 1
//
// double is tested at random numbers. Further tests: limits, arguments outside the domain, and the
// same bits from loops of every instruction set and length.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/cc/check.h"
#include "tests/kernels/elementary_checks.h"
#include "tests/kernels/elementary_functors.h"

namespace tensorflow_ext {
namespace {

// 1 / std::sqrt, with its limits.
template <typename T>
T ReciprocalRoot(T x) {
  return 1 / std::sqrt(x);
}

// The function, its counterpart in C, and the greatest distance in units in the last place, of
// float and of double. kernels/README.md lists them too.
#define TENSORFLOW_EXT_FUNCTIONS_OF_C(FUNCTION) \
  FUNCTION(Atan, std::atan, 2, 1.9)             \
  FUNCTION(Cos, std::cos, 1.7, 1.7)             \
  FUNCTION(Erf, std::erf, 1.4, 1.5)             \
  FUNCTION(Erfc, std::erfc, 7, 8)               \
  FUNCTION(Exp, std::exp, 1.1, 1.1)             \
  FUNCTION(Expm1, std::expm1, 1.4, 1.4)         \
  FUNCTION(Log, std::log, 0.9, 0.9)             \
  FUNCTION(Log1p, std::log1p, 0.9, 0.9)         \
  FUNCTION(Log2, std::log2, 0.9, 0.9)           \
  FUNCTION(Rsqrt, ReciprocalRoot, 1.5, 1.5)     \
  FUNCTION(Sin, std::sin, 1.7, 1.7)             \
  FUNCTION(Sqrt, std::sqrt, 0.501, 0.501)
constexpr double kPowUnits = 1.8;

// The largest distance between results and expected values.
template <typename T>
class Distance {
 public:
  explicit Distance(const char* name) : name_(name) {}

  // `expected` has many more digits than T.
  template <typename Wide>
  void Add(T x, T y, T result, Wide expected) {
    const T rounded = static_cast<T>(expected);
    const Wide smallest = std::numeric_limits<T>::min();
    const Wide magnitude = std::fabs(expected);
    if (rounded != rounded || result != result) {
      if (rounded == rounded || result == result) Fail(x, y, result, rounded);
      return;
    }
    if (result == 0 && magnitude < smallest) {
      if (std::signbit(result) != std::signbit(rounded)) {
        Fail(x, y, result, rounded);
      }
      return;
    }
    if (std::isinf(result) || std::isinf(rounded)) {
      // The number next to infinity may replace it, and vice versa.
      const T largest = std::numeric_limits<T>::max();
      const bool is_next = std::fabs(result) >= largest && std::fabs(rounded) >= largest &&
                           std::signbit(result) == std::signbit(rounded);
      if (!is_next) Fail(x, y, result, rounded);
      return;
    }
    if (std::signbit(result) != std::signbit(rounded)) {
      Fail(x, y, result, rounded);
      return;
    }
    const Wide unit = std::ldexp(Wide{1}, std::ilogb(magnitude < smallest ? smallest : magnitude)) *
                      std::numeric_limits<T>::epsilon();
    const double units = static_cast<double>(std::fabs(result - expected) / unit);
    if (units > worst_) {
      worst_ = units;
      x_ = x;
      y_ = y;
    }
  }

  void Check(double most) const {
    std::printf("%s of %zu bytes: %.3f units at %.17g, %.17g\n", name_, sizeof(T), worst_,
                static_cast<double>(x_), static_cast<double>(y_));
    if (!(worst_ <= most)) ++failures;
  }

 private:
  void Fail(T x, T y, T result, T expected) {
    ++failures;
    if (++shown_ > 5) return;
    std::printf("%s of %.17g, %.17g: got %.17g, expected %.17g\n", name_, static_cast<double>(x),
                static_cast<double>(y), static_cast<double>(result), static_cast<double>(expected));
  }

  const char* const name_;
  double worst_ = 0;
  T x_ = 0, y_ = 0;
  int shown_ = 0;
};

// Zeros, infinities, NaN, and the limits of the domains and of the numbers.
template <typename T>
std::vector<T> SpecialNumbers() {
  using Limits = std::numeric_limits<T>;
  constexpr double kEpsilon = Limits::epsilon();
  constexpr double kIntegers = 2 / kEpsilon;  // there are no others from here on
  std::vector<T> values = {Limits::quiet_NaN()};
  const auto add = [&values](std::initializer_list<double> numbers) {
    for (const double number : numbers) {
      values.push_back(static_cast<T>(number));
      values.push_back(static_cast<T>(-number));
    }
  };
  add({0, 1, 2, 3, 4, 0.5, 1.5, 0.1, 100, 1e30, 1e-30, 0x1p64, 0x1p67});
  add({kIntegers, kIntegers / 2 + 1, kIntegers - 1, kIntegers * 3});
  add({1 + kEpsilon, 1 - kEpsilon / 2, Limits::infinity()});
  add({Limits::min(), Limits::min() / 4, Limits::denorm_min(), Limits::max(), Limits::max() / 2});
  add({Limits::max_exponent, -Limits::min_exponent});
  return values;
}

template <typename T>
T FromBits(uint64_t bits) {
  return internal::BitCast<T>(static_cast<BitsOf<T>>(bits));
}

// Every stride-th float.
template <typename Functor>
void CheckFloats(const char* name, double (*expected)(double), double most, uint64_t stride) {
  Distance<float> distance(name);
  constexpr uint64_t kBlock = 1 << 16;
  std::vector<float> x;
  for (uint64_t bits = 0; bits >> 32 == 0; bits += stride) {
    x.push_back(FromBits<float>(bits));
    if (x.size() < kBlock && (bits + stride) >> 32 == 0) continue;
    const std::vector<float> results = Run<Functor>(x, x);
    for (size_t i = 0; i < x.size(); ++i) {
      distance.Add(x[i], 0.f, results[i], expected(x[i]));
    }
    x.clear();
  }
  distance.Check(most);
}

// Numbers of all magnitudes, and numbers where the functions differ.
template <typename T>
std::vector<T> RandomNumbers() {
  std::mt19937_64 random(7);
  std::vector<T> values = SpecialNumbers<T>();
  for (int i = 0; i < 60000; ++i) {
    values.push_back(FromBits<T>(random()));
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    for (const double most : {0.5, 1.5, 8., 50., 800.}) {
      values.push_back(static_cast<T>((2 * share - 1) * most));
    }
    values.push_back(static_cast<T>(1 + (share - 0.5) * 0x1p-6));
  }
  return values;
}

template <typename Functor>
void CheckDoubles(const char* name, Real (*expected)(Real), double most) {
  Distance<double> distance(name);
  const std::vector<double> x = RandomNumbers<double>();
  const std::vector<double> results = Run<Functor>(x, x);
  for (size_t i = 0; i < x.size(); ++i) {
    distance.Add(x[i], 0., results[i], expected(x[i]));
  }
  distance.Check(most);
}

// All pairs of special numbers, and random pairs whose power is finite.
template <typename T>
void CheckPow() {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, Real>;
  using Limits = std::numeric_limits<T>;
  std::vector<T> x, y;
  for (const T base : SpecialNumbers<T>()) {
    for (const T exponent : SpecialNumbers<T>()) {
      x.push_back(base);
      y.push_back(exponent);
    }
  }
  std::mt19937_64 random(11);
  const auto share = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 100000; ++i) {
    const T near = static_cast<T>(1 + (share() - 0.5) * std::exp2(-52 * share()));
    for (const T base :
         {std::fabs(FromBits<T>(random())), near, static_cast<T>(0.5 + 1.5 * share())}) {
      const double bits =
          Limits::min_exponent - 20 + (Limits::max_exponent - Limits::min_exponent + 40) * share();
      x.push_back(base);
      y.push_back(static_cast<T>(bits / std::log2(static_cast<double>(base))));
    }
    x.push_back(static_cast<T>(-20 * share()));
    y.push_back(static_cast<T>(static_cast<int>(random() % 41) - 20));
  }
  const std::vector<T> results = Run<PowFunctor>(x, y);
  Distance<T> distance("Pow");
  for (size_t i = 0; i < x.size(); ++i) {
    distance.Add(x[i], y[i], results[i],
                 std::pow(static_cast<Wide>(x[i]), static_cast<Wide>(y[i])));
  }
  distance.Check(kPowUnits);
}

template <typename Functor, typename T>
void CheckRandomBits(const char* name) {
  std::vector<T> x = RandomNumbers<T>();
  x.resize(20011);
  CheckBits<Functor, T>(name, x, {x.rbegin(), x.rend()});
}

}  // namespace
}  // namespace tensorflow_ext

int main(int argc, char** argv) {
  using namespace tensorflow_ext;  // NOLINT
  const uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1009;
#define CHECK_ACCURACY(Name, function, float_units, double_units)         \
  CheckFloats<Name##Functor>(                                             \
      #Name, [](double x) -> double { return function(x); }, float_units, \
      stride > 0 ? stride : 1009);                                        \
  CheckDoubles<Name##Functor>(#Name, [](Real x) -> Real { return function(x); }, double_units);
  TENSORFLOW_EXT_FUNCTIONS_OF_C(CHECK_ACCURACY)
  CheckPow<float>();
  CheckPow<double>();
#define CHECK_BITS(Name, expression)            \
  CheckRandomBits<Name##Functor, float>(#Name); \
  CheckRandomBits<Name##Functor, double>(#Name);
  TENSORFLOW_EXT_ANGLE_FUNCTIONS(CHECK_BITS)
  TENSORFLOW_EXT_UNARY_FUNCTIONS(CHECK_BITS)
  TENSORFLOW_EXT_BINARY_FUNCTIONS(CHECK_BITS)
  return ExitStatus();
}
