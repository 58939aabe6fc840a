// CPU kernels of ops on CSR sparse matrices that have only GPU kernels in TensorFlow. With them,
// gradients can be tested without a GPU. They run element by element, for small matrices.

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/kernels/sparse/sparse_matrix.h"

namespace {

using tensorflow::CSRSparseMatrix;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::Variant;

// Batch, row, column.
using Place = std::array<int, 3>;
template <typename T>
using Elements = std::map<Place, T>;

const CSRSparseMatrix& MatrixInput(OpKernelContext* ctx, int i) {
  const auto* matrix = ctx->input(i).scalar<Variant>()().get<CSRSparseMatrix>();
  CHECK(matrix != nullptr);  // Crash OK: a test
  return *matrix;
}

template <typename T>
Elements<T> ElementsOf(OpKernelContext* ctx, int i) {
  const CSRSparseMatrix& matrix = MatrixInput(ctx, i);
  Elements<T> elements;
  const auto values = matrix.values().vec<T>();
  const auto columns = matrix.col_indices().vec<int32_t>();
  const auto starts = matrix.batch_pointers().vec<int32_t>();
  const auto rows = matrix.row_pointers().vec<int32_t>();
  const auto shape = matrix.dense_shape().vec<int64_t>();
  const int num_rows = shape(shape.size() - 2);
  for (int b = 0; b < matrix.batch_size(); ++b) {
    for (int r = 0; r < num_rows; ++r) {
      const int row = b * (num_rows + 1) + r;
      for (int i = rows(row); i < rows(row + 1); ++i) {
        elements[{b, r, columns(starts(b) + i)}] = values(starts(b) + i);
      }
    }
  }
  return elements;
}

template <typename T>
Tensor Vector(const std::vector<T>& values) {
  Tensor tensor(tensorflow::DataTypeToEnum<T>::value,
                TensorShape({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.flat<T>().data());
  return tensor;
}

// Returns `elements` as the output, a matrix with the shape of `like`.
template <typename T>
void Return(OpKernelContext* ctx, const CSRSparseMatrix& like, const Elements<T>& elements) {
  const auto shape = like.dense_shape().vec<int64_t>();
  const int num_rows = shape(shape.size() - 2);
  std::vector<int32_t> starts = {0}, rows, columns;
  std::vector<T> values;
  auto next = elements.begin();
  for (int b = 0; b < like.batch_size(); ++b) {
    rows.push_back(0);
    for (int r = 0; r < num_rows; ++r) {
      for (; next != elements.end() && next->first < Place{b, r + 1, 0}; ++next) {
        columns.push_back(next->first[2]);
        values.push_back(next->second);
      }
      rows.push_back(values.size() - starts.back());
    }
    starts.push_back(values.size());
  }
  CSRSparseMatrix matrix;
  OP_REQUIRES_OK(ctx, CSRSparseMatrix::CreateCSRSparseMatrix(
                          tensorflow::DataTypeToEnum<T>::value, like.dense_shape(), Vector(starts),
                          Vector(rows), Vector(columns), Vector(values), &matrix));
  Tensor output(tensorflow::DT_VARIANT, TensorShape({}));
  output.scalar<Variant>()() = std::move(matrix);
  ctx->set_output(0, output);
}

// An op whose result has the shape of its first input and these elements.
template <typename T, Elements<T> (*kResult)(OpKernelContext*)>
class MatrixOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override { Return(ctx, MatrixInput(ctx, 0), kResult(ctx)); }
};

template <typename T>
Elements<T> Add(OpKernelContext* ctx) {
  Elements<T> sum;
  for (int i : {0, 1}) {
    const T factor = ctx->input(2 + i).scalar<T>()();
    for (const auto& [place, x] : ElementsOf<T>(ctx, i)) {
      sum[place] += factor * x;
    }
  }
  return sum;
}

template <typename T>
Elements<T> Mul(OpKernelContext* ctx) {
  Elements<T> product = ElementsOf<T>(ctx, 0);
  const auto factors = ctx->input(1).flat<T>();
  for (auto& [place, x] : product) {
    x *= factors(factors.size() == 1 ? 0 : place[0]);
  }
  return product;
}

Place RowOf(const Place& place) { return {place[0], place[1], 0}; }

template <typename T>
Elements<T> Softmax(OpKernelContext* ctx) {
  Elements<T> softmax = ElementsOf<T>(ctx, 0), sums;
  for (auto& [place, x] : softmax) sums[RowOf(place)] += x = std::exp(x);
  for (auto& [place, x] : softmax) x /= sums[RowOf(place)];
  return softmax;
}

template <typename T>
Elements<T> SoftmaxGrad(OpKernelContext* ctx) {
  Elements<T> result = ElementsOf<T>(ctx, 0), sums;
  Elements<T> upstream = ElementsOf<T>(ctx, 1);
  for (const auto& [place, y] : result) {
    sums[RowOf(place)] += y * upstream[place];
  }
  for (auto& [place, y] : result) y *= upstream[place] - sums[RowOf(place)];
  return result;
}

#define REGISTER(op, Result, attribute, T)                                                      \
  REGISTER_KERNEL_BUILDER(Name(op).Device(tensorflow::DEVICE_CPU).TypeConstraint<T>(attribute), \
                          MatrixOp<T, Result<T>>)
REGISTER("SparseMatrixAdd", Add, "T", float);
REGISTER("SparseMatrixAdd", Add, "T", double);
REGISTER("SparseMatrixAdd", Add, "T", std::complex<double>);
REGISTER("SparseMatrixMul", Mul, "T", float);
REGISTER("SparseMatrixMul", Mul, "T", double);
REGISTER("SparseMatrixMul", Mul, "T", std::complex<double>);
REGISTER("SparseMatrixSoftmax", Softmax, "type", float);
REGISTER("SparseMatrixSoftmax", Softmax, "type", double);
REGISTER("SparseMatrixSoftmaxGrad", SoftmaxGrad, "type", float);
REGISTER("SparseMatrixSoftmaxGrad", SoftmaxGrad, "type", double);
#undef REGISTER

}  // namespace
