// Gradients of audio features for the sound. They compute intermediate values of the kernels
// (tensorflow/core/kernels/spectrogram.cc, mfcc*.cc) again.

#include <cmath>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// 0, ..., count - 1.
Value Numbers(Gradient& g, Value count, DataType type) {
  return Cast(Range(g.Int(0), count, g.Int(1)), type);
}

Value Column(Value vector) { return ExpandDims(vector, vector.gradient()->Int(1)); }

// The discrete Fourier transform z_k = sum_t w_t x_t exp(-2 pi i k t / n) of each window of the
// sound; the result is its magnitude. dx_t = w_t Re sum_k dz_k exp(2 pi i k t / n). w is the Hann
// window, and n is its size rounded up to a power of two.
void AudioSpectrogramGrad(Gradient& g) {
  const Value x = g.Input(0);  // [time, channel]
  const int64_t size = g.Attr<int64_t>("window_size");
  int64_t n = 1;
  while (n < size) n *= 2;
  const Value step = g.Int(g.Attr<int64_t>("stride"));
  const Value shape = Shape(g.Output());  // [channel, window, frequency]
  const Value samples = Element(Shape(x), 0);
  // A window is padded with zeros up to n, where its weights are zero.
  const Value offsets = Numbers(g, g.Int(n), DT_INT32);
  const Value times =
      Minimum(Column(Numbers(g, Element(shape, 1), DT_INT32) * step) + offsets, samples - 1);
  const Value hann = 0.5 - 0.5 * Cos(Cast(offsets, DT_FLOAT) * (2 * M_PI / size));
  const Value weights = Where(Less(offsets, size), hann, 0);

  const Value windows = Transpose(Gather(x, times), g.Ints({2, 0, 1}));
  const Value z = Call("RFFT", {windows * weights, g.Ints({n})});
  Value dy = g.Upstream();
  dy = g.Attr<bool>("magnitude_squared") ? 2 * dy : DivNoNan(dy, g.Output());
  const Value dz = Complex(dy * Real(z), dy * Imag(z));
  const Value others =
      Zeros(Concat({SliceVector(shape, 0, 2), g.Ints({n - n / 2 - 1})}, g.Int(0)), DT_COMPLEX64);
  const Value sums = Real(Call("IFFT", {Concat({dz, others}, g.Int(2))})) * n;
  const Value d_windows = Transpose(sums * weights, g.Ints({1, 2, 0}));
  g.Return({Call("UnsortedSegmentSum", {d_windows, times, samples})});
}
REGISTER_GRADIENT("AudioSpectrogram", AudioSpectrogramGrad);

double Mel(double frequency) { return 1127 * std::log1p(frequency / 700); }

// Mel-frequency cepstral coefficients: y = C log(max(M sqrt(x), 1e-12)). The rows of M are
// triangles in the mel scale, from the previous center to the next center. C is the discrete cosine
// transform.
void MfccGrad(Gradient& g) {
  const Value x = g.Input(0);  // [channel, time, frequency]
  const double lower = g.Attr<float>("lower_frequency_limit");
  const double upper = g.Attr<float>("upper_frequency_limit");
  const int64_t triangles = g.Attr<int64_t>("filterbank_channel_count");
  const int64_t results = g.Attr<int64_t>("dct_coefficient_count");
  const double spacing = (Mel(upper) - Mel(lower)) / (triangles + 1);

  const Value count = Element(Shape(x), 2);
  const Value rate = Cast(g.Input(1), DT_DOUBLE);
  const Value width = 0.5 * rate / Cast(count - 1, DT_DOUBLE);
  const Value bins = Numbers(g, count, DT_DOUBLE);
  const Value is_used = LogicalAnd(GreaterEqual(bins, Floor(1.5 + lower / width)),
                                   LessEqual(bins, Floor(upper / width)));
  const Value mels = 1127 * Log1p(bins * width / 700);
  const Value centers = Numbers(g, g.Int(triangles), DT_DOUBLE) + 1;
  const Value distances = Abs(Column((mels - Mel(lower)) / spacing) - centers);
  const Value m = Cast(Where(Column(is_used), Maximum(1 - distances, 0), 0), DT_FLOAT);
  const Value c = Cos(Column(Numbers(g, g.Int(results), DT_FLOAT)) *
                      ((Numbers(g, g.Int(triangles), DT_FLOAT) + 0.5) * (M_PI / triangles))) *
                  std::sqrt(2.0 / triangles);

  const Value roots = Sqrt(Where(is_used, x, 1));
  const Value sums = MatMul(roots, m);
  const Value is_heard = Greater(sums, 1e-12);
  const Value d_sums = Where(is_heard, MatMul(g.Upstream(), c) / Where(is_heard, sums, 1), 0);
  const Value d_roots = MatMul(d_sums, m, false, true);
  g.Return({Where(is_used, 0.5 * d_roots / roots, 0), Value()});
}
REGISTER_GRADIENT("Mfcc", MfccGrad);

}  // namespace
}  // namespace tensorflow_ext
