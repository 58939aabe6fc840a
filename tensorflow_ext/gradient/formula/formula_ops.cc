// SPDX-License-Identifier: Apache-2.0

#include "tensorflow_ext/gradient/formula/formula_ops.h"

#include "tensorflow_ext/gradient/plan.h"

namespace tensorflow_ext {

namespace {

Gradient* OwnerOf(const std::vector<Argument>& inputs) {
  for (const Argument& input : inputs) {
    for (const Value& value : input.values()) {
      if (value.exists()) return value.gradient();
    }
  }
  return nullptr;
}

Value StridedSlice1D(Value x, int64_t begin, int64_t end, int64_t begin_mask,
                     int64_t end_mask, int64_t shrink_axis_mask) {
  Gradient* g = x.gradient();
  return g->Call("StridedSlice",
                 {x, g->Ints({begin}), g->Ints({end}), g->Ints({1})},
                 {{"begin_mask", begin_mask},
                  {"end_mask", end_mask},
                  {"shrink_axis_mask", shrink_axis_mask}});
}

Value Reduce(const char* op, Value x, Value axes, bool keep_dims) {
  return Call(op, {x, axes}, {{"keep_dims", keep_dims}});
}

}  // namespace

Values CallAll(const std::string& op, const std::vector<Argument>& inputs,
               const Attributes& attributes) {
  // A call without any existing value has no definition to fail; the values it
  // returns make the next call fail there.
  Gradient* g = OwnerOf(inputs);
  return g == nullptr ? Values(16) : g->CallAll(op, inputs, attributes);
}

Value Call(const std::string& op, const std::vector<Argument>& inputs,
           const Attributes& attributes) {
  return CallAll(op, inputs, attributes)[0];
}

Value CallBinary(const std::string& op, const Operand& x, const Operand& y) {
  const Value known = x.is_number() ? y.value() : x.value();
  if (!known.exists()) return Value();
  Gradient* g = known.gradient();
  return g->Call(op, {x.In(g, known.type()), y.In(g, known.type())});
}

Value operator+(const Operand& x, const Operand& y) {
  return CallBinary("AddV2", x, y);
}
Value operator-(const Operand& x, const Operand& y) {
  return CallBinary("Sub", x, y);
}
Value operator*(const Operand& x, const Operand& y) {
  return CallBinary("Mul", x, y);
}
Value operator/(const Operand& x, const Operand& y) {
  const Value known = x.is_number() ? y.value() : x.value();
  const bool is_real_division = IsInexact(known);
  return CallBinary(is_real_division ? "RealDiv" : "Div", x, y);
}
Value operator-(Value x) { return Neg(x); }

Value Where(Value condition, const Operand& x, const Operand& y) {
  const Value known = x.is_number() ? y.value() : x.value();
  if (!known.exists()) return Value();
  Gradient* g = known.gradient();
  return g->Call("SelectV2",
                 {condition, x.In(g, known.type()), y.In(g, known.type())});
}

bool IsComplex(Value x) {
  return x.type() == DT_COMPLEX64 || x.type() == DT_COMPLEX128;
}

bool IsFloating(Value x) {
  return x.type() == DT_HALF || x.type() == DT_BFLOAT16 ||
         x.type() == DT_FLOAT || x.type() == DT_DOUBLE;
}

bool IsInexact(Value x) { return IsFloating(x) || IsComplex(x); }

bool IsDifferentiable(Value x) { return IsDifferentiable(x.type()); }

void ReturnNone(Gradient& g) { g.Return(Values(g.num_inputs())); }

Value Conj(Value x) { return IsComplex(x) ? Call("Conj", {x}) : x; }

Value Cast(Value x, DataType type) {
  return x.type() == type ? x : Call("Cast", {x}, {{"DstT", type}});
}

Value Complex(Value re, Value im) {
  const DataType type = re.type() == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64;
  return Call("Complex", {re, im}, {{"Tout", type}});
}

DataType PartType(Value x) {
  return x.type() == DT_COMPLEX128 ? DT_DOUBLE : DT_FLOAT;
}
Value Real(Value x) { return Cast(x, PartType(x)); }
Value Imag(Value x) {
  Gradient* g = x.gradient();
  const DataType type = PartType(x);
  return Real(x * Complex(g->Scalar(0, type), g->Scalar(-1, type)));
}

Value AddN(const Values& values) {
  return values.size() == 1 ? values[0] : Call("AddN", {values});
}

Value StopGradient(Value x) { return Call("StopGradient", {x}); }

Value Shape(Value x, DataType type) {
  return Call("Shape", {x}, {{"out_type", type}});
}
Value Rank(Value x) { return Call("Rank", {x}); }
Value Size(Value x, DataType type) {
  return Call("Size", {x}, {{"out_type", type}});
}
Value Reshape(Value x, Value shape) { return Call("Reshape", {x, shape}); }
Value ReshapeLike(Value x, Value like) { return Reshape(x, Shape(like)); }
Value ExpandDims(Value x, Value axis) { return Call("ExpandDims", {x, axis}); }
Value BroadcastTo(Value x, Value shape) {
  return Call("BroadcastTo", {x, shape});
}
Value Fill(Value shape, Value scalar) { return Call("Fill", {shape, scalar}); }
Value Zeros(Value shape, DataType type) {
  return Fill(shape, shape.gradient()->Scalar(0, type));
}
Value Range(Value start, Value limit, Value delta) {
  return Call("Range", {start, limit, delta});
}
Value Concat(const Values& values, Value axis) {
  return Call("ConcatV2", {values, axis});
}
Value Pack(const Values& values, int64_t axis) {
  return Call("Pack", {values}, {{"axis", axis}});
}
Values Unpack(Value x, int64_t count, int64_t axis) {
  return CallAll("Unpack", {x}, {{"num", count}, {"axis", axis}});
}
Value Slice(Value x, Value begin, Value size) {
  return Call("Slice", {x, begin, size});
}
Value SliceVector(Value x, int64_t begin, int64_t end) {
  const bool to_the_end = end == kToTheEnd;
  return StridedSlice1D(x, begin, to_the_end ? 0 : end, 0, to_the_end, 0);
}
Value Element(Value x, int64_t i) {
  // The end of -1 .. 0 would be empty: let the mask say "to the end".
  return StridedSlice1D(x, i, i + 1, 0, i == -1, 1);
}
Value Gather(Value params, Value indices, int64_t axis) {
  return Call("GatherV2", {params, indices, params.gradient()->Int(axis)});
}
Value GatherNd(Value params, Value indices) {
  return Call("GatherNd", {params, indices});
}
Value ScatterNd(Value indices, Value updates, Value shape) {
  return Call("ScatterNd", {indices, updates, shape});
}
Value Transpose(Value x, Value permutation) {
  return Call("Transpose", {x, permutation});
}
Value InvertPermutation(Value permutation) {
  return Call("InvertPermutation", {permutation});
}

Value Sum(Value x, Value axes, bool keep_dims) {
  return Reduce("Sum", x, axes, keep_dims);
}
Value Mean(Value x, Value axes, bool keep_dims) {
  return Reduce("Mean", x, axes, keep_dims);
}
Value Prod(Value x, Value axes, bool keep_dims) {
  return Reduce("Prod", x, axes, keep_dims);
}
Value Max(Value x, Value axes, bool keep_dims) {
  return Reduce("Max", x, axes, keep_dims);
}
Value SumAll(Value x) {
  Gradient* g = x.gradient();
  return Sum(x, Range(g->Int(0), Rank(x), g->Int(1)));
}

Value ReducedShape(Value shape, Value axes) {
  Gradient* g = shape.gradient();
  const Value rank = Size(shape);
  axes = FloorMod(Cast(axes, DT_INT32), rank);
  return g->Call("DynamicStitch",
                 {Values{Range(g->Int(0), rank, g->Int(1)), axes},
                  Values{shape, Fill(Shape(axes), g->Int(1))}});
}

std::pair<Value, Value> Unbroadcast(Value x, Value dx, Value y, Value dy) {
  const Value x_shape = Shape(x), y_shape = Shape(y);
  const Values axes = CallAll("BroadcastGradientArgs", {x_shape, y_shape});
  if (dx.exists()) dx = Reshape(Sum(dx, axes[0]), x_shape);
  if (dy.exists()) dy = Reshape(Sum(dy, axes[1]), y_shape);
  return {dx, dy};
}

Value SumTo(Value x, Value dx, Value shape) {
  const Value x_shape = Shape(x, shape.type());
  return Reshape(Sum(dx, CallAll("BroadcastGradientArgs", {x_shape, shape})[0]),
                 x_shape);
}

Value MatMul(Value a, Value b, bool adjoint_a, bool adjoint_b) {
  return Call("BatchMatMulV2", {a, b},
              {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}
Value MatrixTranspose(Value x) { return Einsum("...ij->...ji", {x}); }
Value Adjoint(Value x) { return Conj(MatrixTranspose(x)); }
Value MatrixDiag(Value diagonal) { return Call("MatrixDiag", {diagonal}); }
Value MatrixDiagPart(Value x) { return Call("MatrixDiagPart", {x}); }
Value MatrixSetDiag(Value x, Value diagonal) {
  return Call("MatrixSetDiag", {x, diagonal});
}
Value MatrixBandPart(Value x, int64_t lower, int64_t upper) {
  Gradient* g = x.gradient();
  return Call("MatrixBandPart", {x, g->Int(lower), g->Int(upper)});
}
Value Einsum(const std::string& equation, const Values& values) {
  return Call("Einsum", {values}, {{"equation", equation}});
}

}  // namespace tensorflow_ext
