#include "tensorflow_ext/stock_gradients/linalg/linalg.h"

#include <cmath>
#include <limits>

namespace tensorflow_ext {

Value NumRows(Value x) { return Element(Shape(x), -2); }
Value NumColumns(Value x) { return Element(Shape(x), -1); }

namespace {

// A slice of axis -1, or -2 if `axes_after` is 1, with an ellipsis.
Value SliceBehindEllipsis(Value x, Value begin, Value end, int axes_after) {
  const Value zero = x.gradient()->Int(0);
  Values begins = {zero, begin.exists() ? begin : zero};
  Values ends = {zero, end.exists() ? end : zero};
  int begin_mask = begin.exists() ? 0 : 2, end_mask = end.exists() ? 0 : 2;
  std::vector<int64_t> strides = {1, 1};
  if (axes_after == 1) {
    begins.push_back(zero);
    ends.push_back(zero);
    strides.push_back(1);
    begin_mask |= 4;
    end_mask |= 4;
  }
  return Call("StridedSlice", {x, Pack(begins), Pack(ends), x.gradient()->Ints(strides)},
              {{"begin_mask", begin_mask}, {"end_mask", end_mask}, {"ellipsis_mask", 1}});
}

}  // namespace

Value Rows(Value x, Value begin, Value end) { return SliceBehindEllipsis(x, begin, end, 1); }
Value Columns(Value x, Value begin, Value end) { return SliceBehindEllipsis(x, begin, end, 0); }
Value SideBySide(Value x, Value y) { return Concat({x, y}, x.gradient()->Int(-1)); }
Value Stacked(Value x, Value y) { return Concat({x, y}, x.gradient()->Int(-2)); }
Value NewAxis(Value x) { return ExpandDims(x, x.gradient()->Int(-1)); }

Value MatrixNorm(Value x) { return Sqrt(Sum(x * Conj(x), x.gradient()->Ints({-2, -1}), true)); }

Value TriangularSolve(Value a, Value b, bool lower, bool adjoint) {
  return Call("MatrixTriangularSolve", {a, b}, {{"lower", lower}, {"adjoint", adjoint}});
}

// TensorFlow's gradients of Real, Imag and Complex fail in double precision.
Value RealPart(Value x) { return IsComplex(x) ? 0.5 * (x + Conj(x)) : x; }
Value ImaginaryPart(Value x) { return IsComplex(x) ? 0.5 * (x - Conj(x)) : ZerosLike(x); }

std::pair<Value, Value> UnbroadcastBatch(Value a, Value da, Value b, Value db) {
  const Value a_shape = Shape(a), b_shape = Shape(b);
  const Values axes =
      CallAll("BroadcastGradientArgs", {SliceVector(a_shape, 0, -2), SliceVector(b_shape, 0, -2)});
  return {Reshape(Sum(da, axes[0]), a_shape), Reshape(Sum(db, axes[1]), b_shape)};
}

DataType RealType(Value x) { return IsComplex(x) ? PartType(x) : x.type(); }

double SqrtEpsilon(Value x) {
  const bool is_double = RealType(x) == DT_DOUBLE;
  return std::sqrt(is_double ? std::numeric_limits<double>::epsilon()
                             : std::numeric_limits<float>::epsilon());
}

}  // namespace tensorflow_ext
