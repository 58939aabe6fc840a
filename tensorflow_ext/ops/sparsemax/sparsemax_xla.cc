#include <limits>
#include <vector>

#include "tensorflow_ext/kernels/rows_checks.h"
#include "tensorflow_ext/ops/sparsemax/sparsemax.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using xla::State;
using xla::XlaOp;

// Input `i`, named `name`, as a matrix in the compute type.
absl::Status RowsOf(LoweringContext* context, int i, const char* name,
                    tensorflow::TensorShape* shape, RowDims* dims, XlaOp* matrix) {
  TF_RETURN_IF_ERROR(context->InputBounds(i, shape));
  // A matrix needs no reshaping.
  if (shape->dims() != 2) TF_RETURN_IF_ERROR(context->CheckStatic(i, 0));
  TF_RETURN_IF_ERROR(ReadRows(context->op(), name, *shape, dims));
  *matrix = xla::Reshape(context->ComputeInput(i), {dims->rows, dims->size});
  return absl::OkStatus();
}

// Repeats a vector [rows] for every column.
XlaOp EveryColumn(XlaOp vector, const RowDims& dims) {
  return xla::BroadcastInDim(vector, {dims.rows, dims.size}, {0});
}

// DoubleWord::Excess of the rows of a matrix. Comparisons with NaN are false.
XlaOp Excess(XlaOp x, const DoubleWord<XlaOp>& threshold, const RowDims& dims) {
  const XlaOp excess = (x - EveryColumn(threshold.high, dims)) - EveryColumn(threshold.low, dims);
  return xla::Select(excess <= 0, 0, excess);
}

// ThresholdSearch for all rows at once. A row whose search has ended waits for the others.
class ThresholdsSearch {
 public:
  explicit ThresholdsSearch(const RowDims& dims) : dims_(dims) {}

  // State: x, its threshold, the residual, whether the search continues.
  std::vector<XlaOp> Start(XlaOp x) const {
    const XlaOp most = xla::ReduceMax(x, {1});
    DoubleWord<XlaOp> threshold{most, xla::ZerosLike(most)};
    threshold.Add(xla::FullLike(most, -1));
    const XlaOp residual = xla::FullLike(most, std::numeric_limits<double>::infinity());
    return {x, threshold.high, threshold.low, residual, residual == residual};
  }

  static XlaOp GoesOn(State state) {
    return xla::ReduceMaxAll(xla::ConvertElementType(state[kSearches], xla::S32), 0) > 0;
  }

  std::vector<XlaOp> Step(State state) const {
    const XlaOp x = state[kX];
    const xla::PrimitiveType type = xla::ElementType(x);
    const DoubleWord<XlaOp> before = Found(state);
    const XlaOp excess = Excess(x, before, dims_);
    XlaOp too_much = Sum(excess) - 1;
    const XlaOp count = Sum(xla::ConvertElementType(excess != 0, type));
    const XlaOp residual = xla::Abs(too_much);
    const bool is_double = type == xla::F64;
    const double small =
        is_double ? ThresholdSearch<double>::kSmall : ThresholdSearch<float>::kSmall;
    const double error =
        is_double ? ThresholdSearch<double>::kError : ThresholdSearch<float>::kError;
    const XlaOp shortfall = xla::Select(count * error < 0.25, 0, xla::FullLike(count, error));
    const XlaOp goes_on =
        state[kSearches] & (residual < state[kResidual]) & (residual > small + 2 * shortfall);
    too_much = xla::Select(goes_on, too_much - shortfall * (too_much + 1), too_much);
    DoubleWord<XlaOp> threshold = before;
    threshold.Add(too_much / count);
    return {x, xla::Select(state[kSearches], threshold.high, before.high),
            xla::Select(state[kSearches], threshold.low, before.low), residual, goes_on};
  }

  static DoubleWord<XlaOp> Found(State state) { return {state[kHigh], state[kLow]}; }

 private:
  // The sum of each row. XLA may add up the elements one after the other, so long rows are summed
  // in double.
  XlaOp Sum(XlaOp matrix) const {
    const xla::PrimitiveType type = xla::ElementType(matrix);
    if (dims_.size <= kLongRow) return xla::ReduceSum(matrix, {1});
    const XlaOp wide = xla::ConvertElementType(matrix, xla::F64);
    return xla::ConvertElementType(xla::ReduceSum(wide, {1}), type);
  }

  static constexpr int64_t kLongRow = 1024;
  enum { kX, kHigh, kLow, kResidual, kSearches };

  const RowDims dims_;
};

class SparsemaxLowering final : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    tensorflow::TensorShape shape;
    RowDims dims;
    XlaOp x;
    const absl::Status status = RowsOf(context, 0, "logits", &shape, &dims, &x);
    if (!status.ok()) return status;
    if (shape.num_elements() == 0) {
      context->SetOutput(0, context->Input(0));
      return absl::OkStatus();
    }
    const ThresholdsSearch search(dims);
    const auto state = xla::WhileLoop(
        "Sparsemax", ThresholdsSearch::GoesOn, [&](State state) { return search.Step(state); },
        search.Start(x));
    if (!state.ok()) return state.status();
    const XlaOp y = Excess(x, ThresholdsSearch::Found(*state), dims);
    context->SetOutput(0, xla::Reshape(y, shape.dim_sizes()));
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>Sparsemax"), SparsemaxLowering);

class SparsemaxGradLowering final : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    tensorflow::TensorShape shape;
    RowDims dims;
    XlaOp gradients;
    absl::Status status = RowsOf(context, 0, "gradients", &shape, &dims, &gradients);
    if (!status.ok()) return status;
    status = context->CheckSameShape(2);
    if (!status.ok()) return status;
    const XlaOp y = xla::Reshape(context->ComputeInput(1), {dims.rows, dims.size});
    const XlaOp in_support = y > 0;
    // CountInSupport and BeyondSupport.
    const XlaOp ones = xla::FullLike(y, 1), zeros = xla::ZerosLike(y);
    const XlaOp count =
        xla::ReduceSum(xla::Select(in_support, ones, xla::Select(y == y, zeros, y)), {1});
    const XlaOp sum = xla::ReduceSum(xla::Select(in_support, gradients, zeros), {1});
    const XlaOp beyond = xla::Select(count == count, xla::ZerosLike(count), count);
    const XlaOp backprops = xla::Select(in_support, gradients - EveryColumn(sum / count, dims),
                                        EveryColumn(beyond, dims));
    context->SetOutput(0, xla::Reshape(backprops, shape.dim_sizes()));
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>SparsemaxGrad"), SparsemaxGradLowering);

}  // namespace
}  // namespace tensorflow_ext
