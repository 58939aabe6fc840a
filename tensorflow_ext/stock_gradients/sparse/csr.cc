// CSR sparse matrices in variants, single or in a batch. The gradient of such a matrix is a CSR
// matrix too, with elements only in the matrix's pattern, that is, where it has elements; elsewhere
// the gradient is 0.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/sparse/sparse.h"

namespace tensorflow_ext {
namespace {

bool IsMatrixType(DataType type) {
  return type == DT_FLOAT || type == DT_DOUBLE || type == DT_COMPLEX64 || type == DT_COMPLEX128;
}

// ---- Coordinates, the form that gives access to elements.

struct Coordinates {
  Value indices, values, shape;
};

Coordinates ToCoordinates(Value matrix, DataType type) {
  const Values parts = CallAll("CSRSparseMatrixToSparseTensor", {matrix}, {{"type", type}});
  return {parts[0], parts[1], parts[2]};
}

Value ToMatrix(Value indices, Value values, Value shape) {
  return Call("SparseTensorToCSRSparseMatrix", {indices, values, shape});
}
Value ToMatrix(const Coordinates& x) { return ToMatrix(x.indices, x.values, x.shape); }

// The values of `matrix` at `indices`.
Value MatrixValuesAt(Value indices, Value matrix, DataType type) {
  const Coordinates all = ToCoordinates(matrix, type);
  return ValuesAt(indices, all.indices, all.values);
}

// `matrix` with the pattern of `like`.
Value WithPatternOf(Value like, Value matrix, DataType type) {
  const Coordinates pattern = ToCoordinates(like, type);
  return ToMatrix(pattern.indices, MatrixValuesAt(pattern.indices, matrix, type), pattern.shape);
}

void SparseTensorToCSRSparseMatrixGrad(Gradient& g) {
  const Value values = g.Input(1);
  g.Return({Value(), MatrixValuesAt(g.Input(0), g.Upstream(), values.type()), Value()});
}
REGISTER_GRADIENT("SparseTensorToCSRSparseMatrix", SparseTensorToCSRSparseMatrixGrad);

void CSRSparseMatrixToSparseTensorGrad(Gradient& g) {
  g.Return({ToMatrix(g.Output(0), g.Upstream(1), g.Output(2))});
}
REGISTER_GRADIENT("CSRSparseMatrixToSparseTensor", CSRSparseMatrixToSparseTensorGrad);

// The values of one matrix of a batch; the values of all are concatenated. The gradient has zeros
// for the other matrices' values.
void CSRSparseMatrixComponentsGrad(Gradient& g) {
  const Value dy = g.Upstream(2);
  const Coordinates all = ToCoordinates(g.Input(0), dy.type());
  const Value is_batch = Cast(Greater(Size(all.shape), 2), DT_INT32);
  const Value matrix_of_each = Gather(all.indices, g.Int(0), 1);
  const Value is_before = Less(matrix_of_each, Cast(g.Input(1), matrix_of_each.type()));
  const Value before = SumAll(Cast(is_before, DT_INT32)) * is_batch;
  const Value behind = Size(all.values) - Size(dy) - before;
  const Value values = Call("Pad", {dy, ExpandDims(Pack({before, behind}), g.Int(0))});
  g.Return({ToMatrix(all.indices, values, all.shape), Value()});
}
REGISTER_GRADIENT("CSRSparseMatrixComponents", CSRSparseMatrixComponentsGrad);

void DenseToCSRSparseMatrixGrad(Gradient& g) {
  g.Return(
      {Call("CSRSparseMatrixToDense", {g.Upstream()}, {{"type", g.Input(0).type()}}), Value()});
}
REGISTER_GRADIENT("DenseToCSRSparseMatrix", DenseToCSRSparseMatrixGrad);

void CSRSparseMatrixToDenseGrad(Gradient& g) {
  const Value dy = g.Upstream();
  const Value indices = ToCoordinates(g.Input(0), dy.type()).indices;
  g.Return({ToMatrix(indices, GatherNd(dy, indices), Shape(dy, DT_INT64))});
}
REGISTER_GRADIENT("CSRSparseMatrixToDense", CSRSparseMatrixToDenseGrad);

// ---- Elementwise.

// C = alpha A + beta B.
void SparseMatrixAddGrad(Gradient& g) {
  const Value alpha = g.Input(2), beta = g.Input(3);
  const DataType type = alpha.type();
  const Coordinates a = ToCoordinates(g.Input(0), type);
  const Coordinates b = ToCoordinates(g.Input(1), type);
  const Coordinates dc = ToCoordinates(g.Upstream(), type);
  const Values at = CallAll("SparseAddGrad", {dc.values, a.indices, b.indices, dc.indices});
  const Value axis = g.Int(0);
  g.Return({ToMatrix(a.indices, at[0] * Conj(alpha), a.shape),
            ToMatrix(b.indices, at[1] * Conj(beta), b.shape), Sum(at[0] * Conj(a.values), axis),
            Sum(at[1] * Conj(b.values), axis)});
}
REGISTER_GRADIENT("SparseMatrixAdd", SparseMatrixAddGrad);

// C = A b for a scalar b, or a scalar for each matrix of a batch.
void SparseMatrixMulGrad(Gradient& g) {
  const Value b = g.Input(1), dc = g.Upstream();
  if (!IsMatrixType(b.type())) return ReturnNone(g);
  const Coordinates a = ToCoordinates(g.Input(0), b.type());
  const Value at_a = MatrixValuesAt(a.indices, dc, b.type());
  g.Return({Call("SparseMatrixMul", {dc, Conj(b)}),
            BroadcastDense(b, a.indices, Shape(a.shape)).Scatter(at_a * Conj(a.values))});
}
REGISTER_GRADIENT("SparseMatrixMul", SparseMatrixMulGrad);

void SparseMatrixTransposeGrad(Gradient& g) {
  g.Return({Call("SparseMatrixTranspose", {g.Upstream()}, g.AttrsOfOp({"conjugate", "type"}))});
}
REGISTER_GRADIENT("SparseMatrixTranspose", SparseMatrixTransposeGrad);

// ---- Softmax of each row over the elements that exist.

void SparseMatrixSoftmaxGrad(Gradient& g) {
  g.Return({Call("SparseMatrixSoftmaxGrad", {g.Output(), g.Upstream()}, g.AttrsOfOp({"type"}))});
}
REGISTER_GRADIENT("SparseMatrixSoftmax", SparseMatrixSoftmaxGrad);

// The op is f(y, w) = y (w - sum(y w)) for each row. With the upstream gradient u, dw = f(y, u) and
// dy = u (w - sum(y w)) - w sum(y u).
void SparseMatrixSoftmaxGradGrad(Gradient& g) {
  const DataType type = g.Attr<DataType>("type");
  const Coordinates y = ToCoordinates(g.Input(0), type);
  const Value w = MatrixValuesAt(y.indices, g.Input(1), type);
  const Value u = MatrixValuesAt(y.indices, g.Upstream(), type);
  const auto sums = [&](Value values) { return RowSums(y.indices, y.values * values, y.shape); };
  g.Return({ToMatrix(y.indices, u * (w - sums(w)) - w * sums(u), y.shape),
            Call("SparseMatrixSoftmaxGrad", {g.Input(0), g.Upstream()}, g.AttrsOfOp({"type"}))});
}
REGISTER_GRADIENT("SparseMatrixSoftmaxGrad", SparseMatrixSoftmaxGradGrad);

// ---- Products of A' = op(A) and B' = op(B), where op is the identity, the
// transpose or the adjoint.

enum class Op { kNone, kTranspose, kAdjoint };

Op OpOf(Gradient& g, const char* transpose, const char* adjoint) {
  return g.Attr<bool>(transpose) ? Op::kTranspose
         : g.Attr<bool>(adjoint) ? Op::kAdjoint
                                 : Op::kNone;
}

Value Apply(Op op, Value x) {
  return op == Op::kNone ? x : op == Op::kTranspose ? MatrixTranspose(x) : Adjoint(x);
}

// C = A' B' with dense B and C; C may then be transposed and conjugated. With both undone in dC:
// dB' = A'^H dC; dA' is dC B'^H in the pattern of A'.
void SparseMatrixMatMulGrad(Gradient& g) {
  const Value b = g.Input(1);
  if (!IsMatrixType(b.type())) return ReturnNone(g);
  const Op op_a = OpOf(g, "transpose_a", "adjoint_a");
  const Op op_b = OpOf(g, "transpose_b", "adjoint_b");
  Value dc = g.Upstream();
  if (g.Attr<bool>("transpose_output")) dc = MatrixTranspose(dc);
  if (g.Attr<bool>("conjugate_output")) dc = Conj(dc);

  // If A' is the transpose of A, A'^H dC = conj(A) dC = conj(A conj(dC)).
  const Value d_right =
      op_a == Op::kTranspose
          ? Conj(Call("SparseMatrixMatMul", {g.Input(0), Conj(dc)}))
          : Call("SparseMatrixMatMul", {g.Input(0), dc}, {{"adjoint_a", op_a == Op::kNone}});

  const Coordinates a = ToCoordinates(g.Input(0), b.type());
  const Value rows = IndexColumns(a.indices, 0, -1);
  const Value columns =
      Concat({IndexColumns(a.indices, 0, -2), IndexColumns(a.indices, -1, kToTheEnd)}, g.Int(1));
  const bool is_turned = op_a != Op::kNone;
  const Value da = Sum(GatherNd(dc, is_turned ? columns : rows) *
                           Conj(GatherNd(Apply(op_b, b), is_turned ? rows : columns)),
                       g.Int(1));
  g.Return(
      {ToMatrix(a.indices, op_a == Op::kAdjoint ? Conj(da) : da, a.shape), Apply(op_b, d_right)});
}
REGISTER_GRADIENT("SparseMatrixMatMul", SparseMatrixMatMulGrad);

// A sparse matrix under an op, as a factor of a sparse product.
struct Factor {
  Value matrix;
  Op op;
};

Value Conjugate(Value matrix, DataType type) {
  const bool is_complex = type == DT_COMPLEX64 || type == DT_COMPLEX128;
  return is_complex ? Call("Conj", {matrix}) : matrix;
}

Factor AdjointOf(const Factor& x, DataType type) {
  switch (x.op) {
    case Op::kNone:
      return {x.matrix, Op::kAdjoint};
    case Op::kTranspose:
      return {Conjugate(x.matrix, type), Op::kNone};
    default:
      return {x.matrix, Op::kNone};
  }
}

Factor ConjugateOf(const Factor& x, DataType type) {
  switch (x.op) {
    case Op::kNone:
      return {Conjugate(x.matrix, type), Op::kNone};
    case Op::kTranspose:
      return {x.matrix, Op::kAdjoint};
    default:
      return {x.matrix, Op::kTranspose};
  }
}

Value SparseMatMul(const Factor& a, const Factor& b, DataType type) {
  return Call("SparseMatrixSparseMatMul", {a.matrix, b.matrix},
              {{"type", type},
               {"transpose_a", a.op == Op::kTranspose},
               {"transpose_b", b.op == Op::kTranspose},
               {"adjoint_a", a.op == Op::kAdjoint},
               {"adjoint_b", b.op == Op::kAdjoint}});
}

// C = A' B', all of them sparse. dA' = dC B'^H, so dA is that, its transpose conj(B') dC^T or its
// adjoint B' dC^H; dB' = A'^H dC likewise. These products may have more or fewer elements; the
// gradients take the patterns of A and B. Each takes its own copy of dC: the next order would need
// the sum of two gradients, which on the CPU exists for values but not for matrices.
void SparseMatrixSparseMatMulGrad(Gradient& g) {
  const DataType type = g.Attr<DataType>("type");
  const Factor a = {g.Input(0), OpOf(g, "transpose_a", "adjoint_a")};
  const Factor b = {g.Input(1), OpOf(g, "transpose_b", "adjoint_b")};
  const Coordinates coordinates = ToCoordinates(g.Upstream(), type);
  const auto d_left = [&] {
    const Value dc = ToMatrix(coordinates);
    switch (a.op) {
      case Op::kNone:
        return SparseMatMul({dc, Op::kNone}, AdjointOf(b, type), type);
      case Op::kTranspose:
        return SparseMatMul(ConjugateOf(b, type), {dc, Op::kTranspose}, type);
      default:
        return SparseMatMul(b, {dc, Op::kAdjoint}, type);
    }
  };
  const auto d_right = [&] {
    const Value dc = ToMatrix(coordinates);
    switch (b.op) {
      case Op::kNone:
        return SparseMatMul(AdjointOf(a, type), {dc, Op::kNone}, type);
      case Op::kTranspose:
        return SparseMatMul({dc, Op::kTranspose}, ConjugateOf(a, type), type);
      default:
        return SparseMatMul({dc, Op::kAdjoint}, a, type);
    }
  };
  g.Return({WithPatternOf(a.matrix, d_left(), type), WithPatternOf(b.matrix, d_right(), type)});
}
REGISTER_GRADIENT("SparseMatrixSparseMatMul", SparseMatrixSparseMatMulGrad);

}  // namespace
}  // namespace tensorflow_ext
