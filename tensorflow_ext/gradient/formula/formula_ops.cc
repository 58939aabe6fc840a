#include "tensorflow_ext/gradient/formula/formula_ops.h"

namespace tensorflow_ext {

namespace {

// The definition that a node on `inputs` belongs to.
Gradient* OwnerOf(const std::string& op, const std::vector<Argument>& inputs) {
  for (const Argument& input : inputs) {
    for (const Value& value : input.values()) {
      if (value.exists()) return value.gradient();
    }
  }
  internal::FailFormula(op +
                        ": none of its inputs is a Value that was assigned; assign one, or "
                        "use g.Call for an op without inputs");
}

// The operand that gives the other its type.
Value OneWithType(const std::string& op, const Operand& x, const Operand& y) {
  if (x.is_number() && y.is_number()) {
    internal::FailFormula(op + " of two numbers has no known type; make one of " +
                          "them a Value with g.Scalar(number, type)");
  }
  return x.is_number() ? y.value() : x.value();
}

Value StridedSlice1D(Value x, int64_t begin, int64_t end, int64_t begin_mask, int64_t end_mask,
                     int64_t shrink_axis_mask) {
  Gradient* g = x.gradient();
  return g->Call(
      "StridedSlice", {x, g->Ints({begin}), g->Ints({end}), g->Ints({1})},
      {{"begin_mask", begin_mask}, {"end_mask", end_mask}, {"shrink_axis_mask", shrink_axis_mask}});
}

Value Reduce(const char* op, Value x, Value axes, bool keep_dims) {
  return Call(op, {x, axes}, {{"keep_dims", keep_dims}});
}

}  // namespace

Values CallAll(const std::string& op, const std::vector<Argument>& inputs,
               const Attributes& attributes) {
  return OwnerOf(op, inputs)->CallAll(op, inputs, attributes);
}

Value Call(const std::string& op, const std::vector<Argument>& inputs,
           const Attributes& attributes) {
  return OwnerOf(op, inputs)->Call(op, inputs, attributes);
}

Value CallBinary(const std::string& op, const Operand& x, const Operand& y) {
  const Value known = OneWithType(op, x, y);
  Gradient* g = known.gradient();
  return g->Call(op, {x.In(g, known.type()), y.In(g, known.type())});
}

Value CallAt(SourceLine line, const std::string& op, Value x) { return Call(op, {Given(x, line)}); }

Value CallAt(SourceLine line, const std::string& op, Value x, Value y) {
  return Call(op, {Given(x, line), Given(y, line)});
}

Value operator+(const Operand& x, const Operand& y) { return CallBinary("AddV2", x, y); }
Value operator-(const Operand& x, const Operand& y) { return CallBinary("Sub", x, y); }
Value operator*(const Operand& x, const Operand& y) { return CallBinary("Mul", x, y); }
Value operator/(const Operand& x, const Operand& y) {
  const bool is_real_division = IsInexact(OneWithType("RealDiv", x, y));
  return CallBinary(is_real_division ? "RealDiv" : "Div", x, y);
}
Value operator-(Given x) { return Neg(x); }

Value Where(Given condition, const Operand& x, const Operand& y) {
  const Value known = OneWithType("SelectV2", x, y);
  Gradient* g = known.gradient();
  return g->Call("SelectV2", {condition, x.In(g, known.type()), y.In(g, known.type())});
}

bool IsComplex(Given x) { return x.type() == DT_COMPLEX64 || x.type() == DT_COMPLEX128; }

bool IsFloating(Given x) {
  return x.type() == DT_HALF || x.type() == DT_BFLOAT16 || x.type() == DT_FLOAT ||
         x.type() == DT_DOUBLE;
}

bool IsInexact(Given x) { return IsFloating(x) || IsComplex(x); }

bool IsDifferentiable(Given x) {
  return IsInexact(x) || x.type() == DT_RESOURCE || x.type() == DT_VARIANT;
}

void ReturnNone(Gradient& g) { g.Return(Values(g.num_inputs())); }

Value Conj(Given x) { return IsComplex(x) ? Call("Conj", {x}) : x.value(); }

Value Cast(Given x, DataType type) {
  return x.type() == type ? x.value() : Call("Cast", {x}, {{"DstT", type}});
}

Value Complex(Given re, Given im) {
  const DataType type = re.type() == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64;
  return Call("Complex", {re, im}, {{"Tout", type}});
}

DataType PartType(Given x) { return x.type() == DT_COMPLEX128 ? DT_DOUBLE : DT_FLOAT; }
Value Real(Given x) { return Cast(x, PartType(x)); }
Value Imag(Given x) {
  Gradient* g = x.gradient();
  const DataType type = PartType(x);
  return Real(x * Complex(g->Scalar(0, type), g->Scalar(-1, type)));
}

Value AddN(const Values& values) { return values.size() == 1 ? values[0] : Call("AddN", {values}); }

Value StopGradient(Given x) { return Call("StopGradient", {x}); }

Value Shape(Given x, DataType type) { return Call("Shape", {x}, {{"out_type", type}}); }
Value Rank(Given x) { return Call("Rank", {x}); }
Value Size(Given x, DataType type) { return Call("Size", {x}, {{"out_type", type}}); }
Value Reshape(Given x, Given shape) { return Call("Reshape", {x, shape}); }
Value ReshapeLike(Given x, Given like) { return Reshape(x, Shape(like)); }
Value ExpandDims(Given x, Given axis) { return Call("ExpandDims", {x, axis}); }
Value BroadcastTo(Given x, Given shape) { return Call("BroadcastTo", {x, shape}); }
Value Fill(Given shape, Given scalar) { return Call("Fill", {shape, scalar}); }
Value Zeros(Given shape, DataType type) { return Fill(shape, shape.gradient()->Scalar(0, type)); }
Value Range(Given start, Given limit, Given delta) { return Call("Range", {start, limit, delta}); }
Value Concat(const Values& values, Given axis) { return Call("ConcatV2", {values, axis}); }
Value Pack(const Values& values, int64_t axis) { return Call("Pack", {values}, {{"axis", axis}}); }
Values Unpack(Given x, int64_t count, int64_t axis) {
  return CallAll("Unpack", {x}, {{"num", count}, {"axis", axis}});
}
Value Slice(Given x, Given begin, Given size) { return Call("Slice", {x, begin, size}); }
Value SliceVector(Given x, int64_t begin, int64_t end) {
  const bool to_the_end = end == kToTheEnd;
  return StridedSlice1D(x, begin, to_the_end ? 0 : end, 0, to_the_end, 0);
}
Value Element(Given x, int64_t i) {
  // The end of -1 .. 0 would be empty, so the mask says "to the end".
  return StridedSlice1D(x, i, i + 1, 0, i == -1, 1);
}
Value Gather(Given params, Given indices, int64_t axis) {
  return Call("GatherV2", {params, indices, params.gradient()->Int(axis)});
}
Value GatherNd(Given params, Given indices) { return Call("GatherNd", {params, indices}); }
Value ScatterNd(Given indices, Given updates, Given shape) {
  return Call("ScatterNd", {indices, updates, shape});
}
Value Transpose(Given x, Given permutation) { return Call("Transpose", {x, permutation}); }
Value InvertPermutation(Given permutation) { return Call("InvertPermutation", {permutation}); }

Value Sum(Given x, Given axes, bool keep_dims) { return Reduce("Sum", x, axes, keep_dims); }
Value Mean(Given x, Given axes, bool keep_dims) { return Reduce("Mean", x, axes, keep_dims); }
Value Prod(Given x, Given axes, bool keep_dims) { return Reduce("Prod", x, axes, keep_dims); }
Value Max(Given x, Given axes, bool keep_dims) { return Reduce("Max", x, axes, keep_dims); }
Value SumAll(Given x) {
  Gradient* g = x.gradient();
  return Sum(x, Range(g->Int(0), Rank(x), g->Int(1)));
}

Value ReducedShape(Given shape, Given axes) {
  Gradient* g = shape.gradient();
  const Value rank = Size(shape);
  axes = FloorMod(Cast(axes, DT_INT32), rank);
  return g->Call("DynamicStitch", {Values{Range(g->Int(0), rank, g->Int(1)), axes},
                                   Values{shape, Fill(Shape(axes), g->Int(1))}});
}

std::pair<Value, Value> Unbroadcast(Given x, Given dx, Given y, Given dy) {
  const Value x_shape = Shape(x), y_shape = Shape(y);
  const Values axes = CallAll("BroadcastGradientArgs", {x_shape, y_shape});
  if (dx.exists()) dx = Reshape(Sum(dx, axes[0]), x_shape);
  if (dy.exists()) dy = Reshape(Sum(dy, axes[1]), y_shape);
  return {dx, dy};
}

Value SumTo(Given x, Given dx, Given shape) {
  const Value x_shape = Shape(x, shape.type());
  return Reshape(Sum(dx, CallAll("BroadcastGradientArgs", {x_shape, shape})[0]), x_shape);
}

Value MatMul(Given a, Given b, bool adjoint_a, bool adjoint_b) {
  return Call("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}
Value MatrixTranspose(Given x) { return Einsum("...ij->...ji", {x}); }
Value Adjoint(Given x) { return Conj(MatrixTranspose(x)); }
Value MatrixDiag(Given diagonal) { return Call("MatrixDiag", {diagonal}); }
Value MatrixDiagPart(Given x) { return Call("MatrixDiagPart", {x}); }
Value MatrixSetDiag(Given x, Given diagonal) { return Call("MatrixSetDiag", {x, diagonal}); }
Value MatrixBandPart(Given x, int64_t lower, int64_t upper) {
  Gradient* g = x.gradient();
  return Call("MatrixBandPart", {x, g->Int(lower), g->Int(upper)});
}
Value Einsum(const std::string& equation, const Values& values) {
  return Call("Einsum", {values}, {{"equation", equation}});
}

}  // namespace tensorflow_ext
