// Diagonals of matrices. Part, Diag and SetDiag are linear, and the transpose of each consists of
// the others. V1 has only the main diagonal. V2 takes bands `k`, aligned left. V3 takes the
// alignment as an attribute. The padding value gets the gradient of the elements that it pads;
// TensorFlow's Python omits it.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/gradient/formula/formula.h"
#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {
namespace {

// The signature of the ops of one version.
struct Version {
  const char* suffix;
  bool has_bands;
  bool has_align;
};

Attributes Align(Gradient& g, Version version) {
  return version.has_align ? g.AttrsOfOp({"align"}) : Attributes();
}

Value Part(Gradient& g, Version version, Value matrix, Value k, double padding = 0) {
  std::vector<Argument> inputs = {matrix};
  if (version.has_bands) {
    inputs.push_back(k);
    inputs.push_back(g.Scalar(padding, matrix.type()));
  }
  return Call(std::string("MatrixDiagPart") + version.suffix, inputs, Align(g, version));
}

// Hides the shape: the shape function of V2 and V3 mistakes a band for the batch of one diagonal if
// it knows the rank of `diagonal` but not the size of `matrix`.
Value SetDiag(Gradient& g, Version version, Value matrix, Value diagonal, Value k) {
  std::vector<Argument> inputs = {matrix, diagonal};
  if (version.has_bands) {
    inputs[1] = Call("PlaceholderWithDefault", {diagonal}, {{"shape", AnyShape()}});
    inputs.push_back(k);
  }
  return Call(std::string("MatrixSetDiag") + version.suffix, inputs, Align(g, version));
}

// MatrixDiagPart(input, k, padding_value)
void PartGrad(Gradient& g, Version version) {
  const Value k = version.has_bands ? g.Input(1) : Value();
  const Value zeros = ZerosLike(g.Input(0)), dy = g.Upstream();
  Values gradients(g.num_inputs());
  gradients[0] = SetDiag(g, version, zeros, dy, k);
  if (version.has_bands) {
    const Value is_padding = Part(g, version, zeros, k, 1);
    gradients[2] = SumAll(Call("MulNoNan", {dy, is_padding}));
  }
  g.Return(gradients);
}

// MatrixDiag(diagonal, k, num_rows, num_cols, padding_value)
void DiagGrad(Gradient& g, Version version) {
  const Value k = version.has_bands ? g.Input(1) : Value();
  const Value dy = g.Upstream();
  Values gradients(g.num_inputs());
  gradients[0] = Part(g, version, dy, k);
  if (version.has_bands) {
    gradients[4] = SumAll(SetDiag(g, version, dy, ZerosLike(g.Input(0)), k));
  }
  g.Return(gradients);
}

// MatrixSetDiag(input, diagonal, k)
void SetDiagGrad(Gradient& g, Version version) {
  const Value diagonal = g.Input(1), dy = g.Upstream();
  const Value k = version.has_bands ? g.Input(2) : Value();
  Values gradients(g.num_inputs());
  gradients[0] = SetDiag(g, version, dy, ZerosLike(diagonal), k);
  gradients[1] = Part(g, version, dy, k);
  g.Return(gradients);
}

// Sets all elements outside the band to 0. (The names with Batch are older.)
void BandPartGrad(Gradient& g) {
  g.ReturnFirst(Call("MatrixBandPart", {g.Upstream(), g.Input(1), g.Input(2)}));
}
REGISTER_GRADIENT("MatrixBandPart", BandPartGrad);
REGISTER_GRADIENT("BatchMatrixBandPart", BandPartGrad);

// Diag sets the main diagonal of a tensor that has its input's axes twice. DiagPart is its
// transpose.
void TensorDiagGrad(Gradient& g) { g.Return({Call("DiagPart", {g.Upstream()})}); }
REGISTER_GRADIENT("Diag", TensorDiagGrad);
void TensorDiagPartGrad(Gradient& g) { g.Return({Call("Diag", {g.Upstream()})}); }
REGISTER_GRADIENT("DiagPart", TensorDiagPartGrad);

constexpr Version kV1 = {"", false, false};
constexpr Version kV2 = {"V2", true, false};
constexpr Version kV3 = {"V3", true, true};

void PartV1Grad(Gradient& g) { PartGrad(g, kV1); }
void PartV2Grad(Gradient& g) { PartGrad(g, kV2); }
void PartV3Grad(Gradient& g) { PartGrad(g, kV3); }
void DiagV1Grad(Gradient& g) { DiagGrad(g, kV1); }
void DiagV2Grad(Gradient& g) { DiagGrad(g, kV2); }
void DiagV3Grad(Gradient& g) { DiagGrad(g, kV3); }
void SetDiagV1Grad(Gradient& g) { SetDiagGrad(g, kV1); }
void SetDiagV2Grad(Gradient& g) { SetDiagGrad(g, kV2); }
void SetDiagV3Grad(Gradient& g) { SetDiagGrad(g, kV3); }
REGISTER_GRADIENT("MatrixDiag", DiagV1Grad);
REGISTER_GRADIENT("BatchMatrixDiag", DiagV1Grad);
REGISTER_GRADIENT("MatrixDiagPart", PartV1Grad);
REGISTER_GRADIENT("BatchMatrixDiagPart", PartV1Grad);
REGISTER_GRADIENT("MatrixDiagPartV2", PartV2Grad);
REGISTER_GRADIENT("MatrixDiagPartV3", PartV3Grad);
REGISTER_GRADIENT("MatrixDiagV2", DiagV2Grad);
REGISTER_GRADIENT("MatrixDiagV3", DiagV3Grad);
REGISTER_GRADIENT("MatrixSetDiag", SetDiagV1Grad);
REGISTER_GRADIENT("BatchMatrixSetDiag", SetDiagV1Grad);
REGISTER_GRADIENT("MatrixSetDiagV2", SetDiagV2Grad);
REGISTER_GRADIENT("MatrixSetDiagV3", SetDiagV3Grad);

}  // namespace
}  // namespace tensorflow_ext
