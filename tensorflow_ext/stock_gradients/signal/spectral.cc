// Gradients of Fourier transforms. A transform is linear, so its gradient is
// its adjoint, which is the inverse transform up to scale. Real transforms keep
// half of a Hermitian spectrum: frequency k of the last axis stands for k and
// -k, except for k = 0 and, if the length L is even, k = L / 2.

#include <string>

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// "FFT", "FFT2D", "FFT3D" and so on.
std::string OpName(const char* name, int rank) {
  return rank == 1 ? name : name + std::to_string(rank) + "D";
}

// ---- Complex transforms. F^H = N F^-1, where N is the number of frequencies.

Value Frequencies(Value x, int rank) {
  return Cast(Prod(SliceVector(Shape(x), -rank, kToTheEnd), x.gradient()->Ints({0})), x.type());
}

template <int rank>
void FftGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({Call(OpName("IFFT", rank), {dy}) * Frequencies(dy, rank)});
}
REGISTER_GRADIENT("FFT", FftGrad<1>);
REGISTER_GRADIENT("BatchFFT", FftGrad<1>);
REGISTER_GRADIENT("FFT2D", FftGrad<2>);
REGISTER_GRADIENT("BatchFFT2D", FftGrad<2>);
REGISTER_GRADIENT("FFT3D", FftGrad<3>);
REGISTER_GRADIENT("BatchFFT3D", FftGrad<3>);

template <int rank>
void IfftGrad(Gradient& g) {
  const Value dy = g.Upstream();
  g.Return({Call(OpName("FFT", rank), {dy}) / Frequencies(dy, rank)});
}
REGISTER_GRADIENT("IFFT", IfftGrad<1>);
REGISTER_GRADIENT("BatchIFFT", IfftGrad<1>);
REGISTER_GRADIENT("IFFT2D", IfftGrad<2>);
REGISTER_GRADIENT("BatchIFFT2D", IfftGrad<2>);
REGISTER_GRADIENT("IFFT3D", IfftGrad<3>);
REGISTER_GRADIENT("BatchIFFT3D", IfftGrad<3>);

// ---- Real transforms.

// A factor for each of the first `count` frequencies of the last axis: 1 where the frequency stands
// for itself, `pair` where it stands for k and -k.
Value PairWeights(Value count, Value length, double pair, DataType type) {
  Gradient* g = count.gradient();
  const Value frequency = Range(g->Int(0), count, g->Int(1));
  const Value is_single = LogicalOr(Equal(frequency, 0), Equal(2 * frequency, Element(length, -1)));
  return Where(is_single, g->Scalar(1, type), pair);
}

// x, zero-padded at the end to `shape`: the adjoint of the crop to the transform's lengths, with
// which it begins.
Value PadTo(Value x, Value shape) {
  const Value behind = shape - Shape(x);
  return Call("Pad", {x, Pack({ZerosLike(behind), behind}, 1)});
}

Value Product(Value lengths, DataType type) {
  return Cast(Prod(lengths, lengths.gradient()->Ints({0})), type);
}

// dx = Re sum_k dy_k exp(2 pi i k n / L) over the frequencies kept. The inverse counts pairs twice
// and divides by N.
template <int rank>
void RfftGrad(Gradient& g) {
  const Value x = g.Input(0), length = g.Input(1), dy = g.Upstream();
  const Value cropped =
      Call(OpName("IRFFT", rank),
           {dy * PairWeights(Element(Shape(dy), -1), length, 0.5, dy.type()), length},
           {{"Treal", x.type()}});
  const Value dx = cropped * Product(length, x.type());
  g.Return({PadTo(dx, Shape(x)), Value()});
}
REGISTER_GRADIENT("RFFT", RfftGrad<1>);
REGISTER_GRADIENT("RFFT2D", RfftGrad<2>);
REGISTER_GRADIENT("RFFT3D", RfftGrad<3>);

// The reverse.
template <int rank>
void IrfftGrad(Gradient& g) {
  const Value x = g.Input(0), length = g.Input(1), dy = g.Upstream();
  const Value spectrum = Call(OpName("RFFT", rank), {dy, length}, {{"Tcomplex", x.type()}});
  const Value dx = spectrum *
                   PairWeights(Element(Shape(spectrum), -1), length, 2, spectrum.type()) /
                   Product(length, x.type());
  g.Return({PadTo(dx, Shape(x)), Value()});
}
REGISTER_GRADIENT("IRFFT", IrfftGrad<1>);
REGISTER_GRADIENT("IRFFT2D", IrfftGrad<2>);
REGISTER_GRADIENT("IRFFT3D", IrfftGrad<3>);

// ---- Transforms over any axes. They first crop the input to the transform's
// lengths, or zero-pad it at the end.

// The adjoint of that, back to `shape`.
Value CropOrPadTo(Value x, Value shape) {
  const Value kept = Minimum(Shape(x), shape);
  return PadTo(Slice(x, ZerosLike(kept), kept), shape);
}

// FFTND, IFFTND and so on of `x`, with the op's lengths and axes. Their shape functions wrongly say
// that x keeps its shape, so hide it.
Value TransformedND(Gradient& g, const char* name, Value x, const Attributes& attributes = {}) {
  const Value y = Call(name, {x, g.Input(1), g.Input(2)}, attributes);
  return Call("PlaceholderWithDefault", {y}, {{"shape", AnyShape()}});
}

void FftNDGrad(Gradient& g) {
  const Value x = g.Input(0);
  const Value dx = TransformedND(g, "IFFTND", g.Upstream()) * Product(g.Input(1), x.type());
  g.ReturnFirst(CropOrPadTo(dx, Shape(x)));
}
REGISTER_GRADIENT("FFTND", FftNDGrad);

void IfftNDGrad(Gradient& g) {
  const Value x = g.Input(0);
  const Value dx = TransformedND(g, "FFTND", g.Upstream()) / Product(g.Input(1), x.type());
  g.ReturnFirst(CropOrPadTo(dx, Shape(x)));
}
REGISTER_GRADIENT("IFFTND", IfftNDGrad);

// The weights of pairs along the last of the op's axes.
Value PairWeightsND(Gradient& g, double pair, DataType type) {
  const Value length = g.Input(1), rank = Rank(g.Input(0));
  const Value axis = FloorMod(Element(g.Input(2), -1), rank);
  const Value count = FloorDiv(Element(length, -1), 2) + 1;
  const Value is_axis = Equal(Range(g.Int(0), rank, g.Int(1)), axis);
  return Reshape(PairWeights(count, length, pair, type), Where(is_axis, count, 1));
}

void RfftNDGrad(Gradient& g) {
  const Value x = g.Input(0), length = g.Input(1);
  const Value dy = g.Upstream();
  const Value halved = dy * PairWeightsND(g, 0.5, dy.type());
  const Value dx =
      TransformedND(g, "IRFFTND", halved, {{"Treal", x.type()}}) * Product(length, x.type());
  g.ReturnFirst(CropOrPadTo(dx, Shape(x)));
}
REGISTER_GRADIENT("RFFTND", RfftNDGrad);

void IrfftNDGrad(Gradient& g) {
  const Value x = g.Input(0), length = g.Input(1);
  const Value spectrum = TransformedND(g, "RFFTND", g.Upstream(), {{"Tcomplex", x.type()}});
  const Value dx = spectrum * PairWeightsND(g, 2, x.type()) / Product(length, x.type());
  g.ReturnFirst(CropOrPadTo(dx, Shape(x)));
}
REGISTER_GRADIENT("IRFFTND", IrfftNDGrad);

}  // namespace
}  // namespace tensorflow_ext
