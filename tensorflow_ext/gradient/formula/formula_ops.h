// The vocabulary of formulas: operators and functions on Values. Each adds one node, or the few
// that its comment names, to the definition of its operands. Names are those of TensorFlow's ops if
// there is one.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorflow_ext/gradient/formula/formula.h"

namespace tensorflow_ext {

// The square root of pi.
inline constexpr double kSqrtPi = 1.7724538509055160273;

// The first output, and all outputs, of a node on values; see Gradient::Call.
Value Call(const std::string& op, const std::vector<Argument>& inputs,
           const Attributes& attributes = {});
Values CallAll(const std::string& op, const std::vector<Argument>& inputs,
               const Attributes& attributes = {});
// A node with two operands; at most one may be a number.
Value CallBinary(const std::string& op, const Operand& x, const Operand& y);

// The same for one and two values, called from `line`.
Value CallAt(SourceLine line, const std::string& op, Value x);
Value CallAt(SourceLine line, const std::string& op, Value x, Value y);

// ---- Elementwise, one operand. Value and not Given, as below for two:
// templates of kernels/elementary.h have the same names and would take any type
// that needs no conversion.
#define TFEXT_UNARY(Name)                                            \
  inline Value Name(Value x, SourceLine line = SourceLine::Here()) { \
    return CallAt(line, #Name, x);                                   \
  }
TFEXT_UNARY(Abs)
TFEXT_UNARY(Cos)
TFEXT_UNARY(Digamma)
TFEXT_UNARY(Erf)
TFEXT_UNARY(Erfc)
TFEXT_UNARY(Exp)
TFEXT_UNARY(Expm1)
TFEXT_UNARY(Floor)
TFEXT_UNARY(Lgamma)
TFEXT_UNARY(Log)
TFEXT_UNARY(Log1p)
TFEXT_UNARY(LogicalNot)
TFEXT_UNARY(Neg)
TFEXT_UNARY(OnesLike)
TFEXT_UNARY(Reciprocal)
TFEXT_UNARY(Rsqrt)
TFEXT_UNARY(Sigmoid)
TFEXT_UNARY(Sign)
TFEXT_UNARY(Sin)
TFEXT_UNARY(Sqrt)
TFEXT_UNARY(Square)
TFEXT_UNARY(Tanh)
TFEXT_UNARY(ZerosLike)
#undef TFEXT_UNARY

// ---- Elementwise with broadcasting, two operands.
#define TFEXT_BINARY(Name)                                                                  \
  inline Value Name(const Operand& x, const Operand& y) { return CallBinary(#Name, x, y); } \
  inline Value Name(Value x, Value y, SourceLine line = SourceLine::Here()) {               \
    return CallAt(line, #Name, x, y);                                                       \
  }
TFEXT_BINARY(DivNoNan)
TFEXT_BINARY(Equal)
TFEXT_BINARY(FloorDiv)
TFEXT_BINARY(FloorMod)
TFEXT_BINARY(Greater)
TFEXT_BINARY(GreaterEqual)
TFEXT_BINARY(Less)
TFEXT_BINARY(LessEqual)
TFEXT_BINARY(LogicalAnd)
TFEXT_BINARY(LogicalOr)
TFEXT_BINARY(Maximum)
TFEXT_BINARY(Minimum)
TFEXT_BINARY(MulNoNan)
TFEXT_BINARY(NotEqual)
TFEXT_BINARY(Pow)
TFEXT_BINARY(SquaredDifference)
TFEXT_BINARY(Xdivy)
TFEXT_BINARY(Xlogy)
TFEXT_BINARY(Xlog1py)
#undef TFEXT_BINARY

// AddV2, Sub, Mul, RealDiv (Div for integers), Neg.
Value operator+(const Operand& x, const Operand& y);
Value operator-(const Operand& x, const Operand& y);
Value operator*(const Operand& x, const Operand& y);
Value operator/(const Operand& x, const Operand& y);
Value operator-(Given x);

// SelectV2 with broadcasting: x if the condition holds, else y.
Value Where(Given condition, const Operand& x, const Operand& y);
// The complex conjugate; x itself if its type is real.
Value Conj(Given x);
bool IsComplex(Given x);
bool IsFloating(Given x);  // real floating types
bool IsInexact(Given x);   // real floating or complex types
// True if a tensor of its type can have a gradient at all; see plan.h.
bool IsDifferentiable(Given x);
// The formula of an op whose inputs have no gradients.
void ReturnNone(Gradient& g);
// x in `type`; x itself if it has that type.
Value Cast(Given x, DataType type);
// The complex number re + i im.
Value Complex(Given re, Given im);
// The real type of a complex number's parts, and the parts. By Cast, because the client gradients
// of ops Real and Imag fail in complex128.
DataType PartType(Given x);
Value Real(Given x);
Value Imag(Given x);
Value AddN(const Values& values);  // a single value stays itself
Value StopGradient(Given x);

// ---- Shapes. Shapes, ranks and sizes are int32 unless `type` says int64.
Value Shape(Given x, DataType type = DT_INT32);
Value Rank(Given x);
Value Size(Given x, DataType type = DT_INT32);
Value Reshape(Given x, Given shape);
Value ReshapeLike(Given x, Given like);  // Shape and Reshape
Value ExpandDims(Given x, Given axis);
Value BroadcastTo(Given x, Given shape);
Value Fill(Given shape, Given scalar);
Value Zeros(Given shape, DataType type);  // Fill
Value Range(Given start, Given limit, Given delta);
Value Concat(const Values& values, Given axis);  // ConcatV2
Value Pack(const Values& values, int64_t axis = 0);
Values Unpack(Given x, int64_t count, int64_t axis = 0);
Value Slice(Given x, Given begin, Given size);
// Elements [begin, end) of a vector such as a shape. Negative ends count from the back; `kToTheEnd`
// as `end` takes all the rest. StridedSlice.
constexpr int64_t kToTheEnd = INT64_MAX;
Value SliceVector(Given x, int64_t begin, int64_t end);
// Element i of a vector, a scalar. StridedSlice.
Value Element(Given x, int64_t i);
Value Gather(Given params, Given indices, int64_t axis = 0);  // GatherV2
Value GatherNd(Given params, Given indices);
Value ScatterNd(Given indices, Given updates, Given shape);
Value Transpose(Given x, Given permutation);
Value InvertPermutation(Given permutation);

// ---- Reductions over `axes` (int32 or int64, negative ones allowed).
Value Sum(Given x, Given axes, bool keep_dims = false);
Value Mean(Given x, Given axes, bool keep_dims = false);
Value Prod(Given x, Given axes, bool keep_dims = false);
Value Max(Given x, Given axes, bool keep_dims = false);
Value SumAll(Given x);  // over all axes: Rank, Range, Sum
// The shape of a reduction with keep_dims of a tensor of shape `shape` (int32) over `axes`.
// FloorMod and DynamicStitch.
Value ReducedShape(Given shape, Given axes);

// ---- Broadcasting, backwards.
// Sums dx and dy, which have the shape of z = f(x, y) with broadcasting, to the
// shapes of x and y. BroadcastGradientArgs, then Sum and Reshape for each that
// exists.
std::pair<Value, Value> Unbroadcast(Given x, Given dx, Given y, Given dy);
// The same for one operand whose gradient has the shape `shape` (a vector).
Value SumTo(Given x, Given dx, Given shape);

// ---- Matrices: the last two axes; the others are a batch.
// op(a) op(b), where op is the adjoint (conjugate transpose) if requested.
// BatchMatMulV2, which broadcasts the batch.
Value MatMul(Given a, Given b, bool adjoint_a = false, bool adjoint_b = false);
// The transpose and the conjugate transpose. Einsum, and Conj if complex.
Value MatrixTranspose(Given x);
Value Adjoint(Given x);
Value MatrixDiag(Given diagonal);
Value MatrixDiagPart(Given x);
Value MatrixSetDiag(Given x, Given diagonal);
// x with zeros outside the band of `lower` sub- and `upper` superdiagonals; -1 keeps all.
Value MatrixBandPart(Given x, int64_t lower, int64_t upper);
Value Einsum(const std::string& equation, const Values& values);

}  // namespace tensorflow_ext
