// The kernels' elementary and trigonometric functions, run through the vectorised loops, against
// the C library's in long double over sweeps of their range. The loops against each other: every
// instruction set and every length give the same bits, whether or not subnormal floats are flushed
// to zero.

#include "tensorflow_ext/kernels/elementary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "tensorflow_ext/kernels/elementwise_cpu.h"
#include "tensorflow_ext/kernels/trigonometric.h"
#include "tests/cc/check.h"
#include "tests/kernels/elementary_checks.h"

namespace tensorflow_ext {
namespace {

// x - tanh(x) without a difference: tanh(x) is the continued fraction
// x / (1 + x^2 / (3 + x^2 / (5 + ...))) (DLMF 4.39.1).
Real XMinusTanh(Real x) {
  if (std::fabs(x) > 2) return x - std::tanh(x);
  Real fraction = 0;
  for (int k = 41; k >= 3; k -= 2) fraction = x * x / (k + fraction);
  return x * fraction / (1 + fraction);
}

Real CumulativeNormal(Real x) { return std::erfc(-x * std::sqrt(0.5L)) / 2; }

Real NormalDensity(Real x) {
  return std::exp(-x * x / 2) * 0.398942280401432677939946059934381868L;
}

// Name, expression of x, the same by the C library, range of x, and the largest error in units in
// the last place of T.
#define DEFINE_FUNCTION(Name, expression, expected, low, high, units) \
  struct Name##Function {                                             \
    static constexpr int kArity = 1;                                  \
    template <typename T>                                             \
    TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {              \
      return expression;                                              \
    }                                                                 \
    static constexpr const char* kName = #Name;                       \
    static constexpr double kLow = low, kHigh = high;                 \
    static constexpr double kUnits = units;                           \
    static Real Expected(Real x) { return expected; }                 \
  };
DEFINE_FUNCTION(Decay, ExpOfMinus(x), std::exp(-x), 0, 720, 1.5)
DEFINE_FUNCTION(SquareDecay, ExpOfMinusSquare(x), std::exp(-x* x), 0, 28, 2)
DEFINE_FUNCTION(HalfSquareDecay, ExpOfMinusHalfSquare(x), std::exp(-x* x / 2), 0, 40, 2)
DEFINE_FUNCTION(Power, Exp2OfMinus(x), std::exp2(-x), 0, 1040, 1.5)
DEFINE_FUNCTION(Tanh, Tanh(x).value, std::tanh(x), -50, 50, 1.5)
DEFINE_FUNCTION(Shrunk, Tanh(x).shrunk, XMinusTanh(x), -50, 50, 3.5)
DEFINE_FUNCTION(TanhSlope, Tanh(x).slope, 1 / std::cosh(x) / std::cosh(x), -360, 360, 3.5)
DEFINE_FUNCTION(Sigmoid, Sigmoid(x).value, 1 / (1 + std::exp(-x)), -720, 720, 2.5)
DEFINE_FUNCTION(SigmoidSlope, Sigmoid(x).slope, 1 / (1 + std::exp(-x)) / (1 + std::exp(x)), -720,
                720, 4)
DEFINE_FUNCTION(Central, Normal(x).cumulative, CumulativeNormal(x), -4, 4, 6.5)
DEFINE_FUNCTION(Cumulative, Normal(x).cumulative, CumulativeNormal(x), -40, 40, 10)
DEFINE_FUNCTION(Density, Normal(x).density, NormalDensity(x), -40, 40, 4)
DEFINE_FUNCTION(Sine, SinCos(x).sine, std::sin(x), -70000, 70000, 1.75)
DEFINE_FUNCTION(Cosine, SinCos(x).cosine, std::cos(x), -70000, 70000, 1.75)
DEFINE_FUNCTION(FarSine, SinCos(x).sine, std::sin(x), -3e38, 3e38, 1.75)
DEFINE_FUNCTION(FarCosine, SinCos(x).cosine, std::cos(x), -3e38, 3e38, 1.75)

// Values evenly over the interval, and of all magnitudes.
template <typename T>
std::vector<T> Sweep(double low, double high) {
  constexpr int kPoints = 200003;
  std::vector<T> values;
  const T smallest = std::numeric_limits<T>::min();
  for (int i = 0; i <= kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;
    values.push_back(static_cast<T>(low + (high - low) * share));
    const T magnitude = static_cast<T>(std::pow(10.0, -30 * share));
    for (const T value : {magnitude * T(8), -magnitude * T(8)}) {
      if (value >= low && value <= high) values.push_back(value);
    }
  }
  for (const T value : {T(0), smallest, smallest / 4}) {
    values.push_back(value);
    if (low < 0) values.push_back(-value);
  }
  return values;
}

// The distance from a number to the next one in T. Below the normal numbers it is the distance at
// the smallest normal number, because smaller results may be 0.
template <typename T>
Real Unit(Real value) {
  const Real smallest = std::numeric_limits<T>::min();
  const Real magnitude = std::max(std::fabs(value), smallest);
  return std::ldexp(Real{1}, std::ilogb(magnitude)) * std::numeric_limits<T>::epsilon();
}

template <typename Function, typename T>
void CheckAccuracy(const std::vector<T>& values) {
  const std::vector<T> results = Run<Function>(values, values);
  const Real smallest = std::numeric_limits<T>::min();
  Real worst = 0;
  T where = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Real expected = Function::Expected(values[i]);
    // A product with a factor below the smallest normal number.
    const bool vanishes = std::fabs(expected) < 4 * smallest && results[i] == 0;
    const Real apart = vanishes ? 0 : std::fabs(results[i] - expected) / Unit<T>(expected);
    if (!(apart <= worst)) {
      worst = apart;
      where = values[i];
    }
  }
  std::printf("%s of %zu bytes: %.2f units at %.9g\n", Function::kName, sizeof(T),
              static_cast<double>(worst), static_cast<double>(where));
  if (!(worst <= Function::kUnits)) ++failures;
}

template <typename Function, typename T>
void CheckLimits() {
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T largest = std::numeric_limits<T>::max();
  std::vector<T> values = {nan};
  // Normal takes a limited range, whose limits are reached.
  const T far = Function::kHigh <= 40 ? T(40) : inf;
  for (const T value : {far, std::min(far, largest)}) {
    values.push_back(value);
    if (Function::kLow < 0) values.push_back(-value);
  }
  const std::vector<T> results = Run<Function>(values, values);
  for (size_t i = 0; i < values.size(); ++i) {
    const T expected = static_cast<T>(Function::Expected(values[i]));
    const bool both_nan = results[i] != results[i] && expected != expected;
    if (both_nan || results[i] == expected) continue;
    // Below the smallest normal number.
    if (results[i] == 0 && std::fabs(expected) < std::numeric_limits<T>::min()) {
      continue;
    }
    ++failures;
    std::printf("%s of %g: got %g, expected %g\n", Function::kName, static_cast<double>(values[i]),
                static_cast<double>(results[i]), static_cast<double>(expected));
  }
}

// Threads of TensorFlow flush subnormal numbers to zero.
template <typename Function, typename T>
void CheckFlushed(const std::vector<T>& values) {
#if defined(__x86_64__)
  // Subnormal numbers are skipped: results differ even if only an argument is subnormal.
  std::vector<T> normal;
  for (const T value : values) {
    if (std::fabs(value) > std::numeric_limits<T>::min() * T(1e6)) {
      normal.push_back(value);
    }
  }
  std::vector<T> unflushed = Run<Function>(normal, normal);
  for (T& value : unflushed) {
    if (std::fabs(value) < std::numeric_limits<T>::min()) value *= 0;
  }
  const unsigned int before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // Flush to zero, denormals are zero.
  const std::vector<T> flushed = Run<Function>(normal, normal);
  _mm_setcsr(before);
  CheckSame(Function::kName, "flushed", unflushed, flushed);
#endif
}

template <typename Function, typename T>
void CheckType() {
  const std::vector<T> values = Sweep<T>(Function::kLow, Function::kHigh);
  CheckAccuracy<Function>(values);
  CheckLimits<Function, T>();
  CheckBits<Function>(Function::kName, values, values);
  CheckFlushed<Function>(values);
}

template <typename... Functions>
void CheckFunctions() {
  (CheckType<Functions, float>(), ...);
  (CheckType<Functions, double>(), ...);
}

// Numbers next to multiples of pi/2, where most of the argument cancels, and numbers of all
// magnitudes.
template <typename T>
void CheckMultiplesOfHalfPi() {
  constexpr Real kHalfPi = 1.57079632679489661923132169163975144L;
  std::vector<T> values;
  for (int n = 1; n <= 100000; ++n) values.push_back(static_cast<T>(n * kHalfPi));
  for (T x = 1; x < std::numeric_limits<T>::max() / 2; x *= T(1.37)) {
    const Real n = std::floor(x / kHalfPi);
    for (int k = 1; k <= 9; ++k) {
      values.push_back(static_cast<T>((n + k) * kHalfPi));
      values.push_back(x * (1 + k * std::numeric_limits<T>::epsilon()));
    }
  }
  // The double nearest to a multiple of pi/2, found by W. Kahan's program.
  if (!kIsFloat<T>) values.push_back(std::ldexp(T(6381956970095103), 797));
  CheckAccuracy<FarSineFunction>(values);
  CheckAccuracy<FarCosineFunction>(values);
}

struct SinCosNearFunction {
  static constexpr int kArity = 2;
  template <typename T>
  TENSORFLOW_EXT_INLINE Pair<T> operator()(T x, T /*unused*/) const {
    const auto [sine, cosine] = SinCosNear(x);
    return {sine, cosine};
  }
};

// Vectorised loops give the bits of scalar code.
template <typename T>
void CheckSinCosNear() {
  const double limit = kTrigonometricLimit;
  std::vector<T> values = Sweep<T>(-limit, limit);
  values.push_back(std::numeric_limits<T>::quiet_NaN());
  std::vector<T> sines(values.size()), cosines(values.size());
  const void* const inputs[] = {values.data(), values.data()};
  void* const outputs[] = {sines.data(), cosines.data()};
  RunLoop<SinCosNearFunction, T>(inputs, outputs, values.size());
  CheckSame("SinCosNear", "sine", Run<SineFunction>(values, values), sines);
  CheckSame("SinCosNear", "cosine", Run<CosineFunction>(values, values), cosines);
}

}  // namespace
}  // namespace tensorflow_ext

int main() {
  using namespace tensorflow_ext;  // NOLINT
  CheckFunctions<DecayFunction, SquareDecayFunction, HalfSquareDecayFunction, PowerFunction,
                 TanhFunction, ShrunkFunction, TanhSlopeFunction, SigmoidFunction,
                 SigmoidSlopeFunction, CentralFunction, CumulativeFunction, DensityFunction,
                 SineFunction, CosineFunction, FarSineFunction, FarCosineFunction>();
  CheckMultiplesOfHalfPi<float>();
  CheckMultiplesOfHalfPi<double>();
  CheckSinCosNear<float>();
  CheckSinCosNear<double>();
  return ExitStatus();
}
