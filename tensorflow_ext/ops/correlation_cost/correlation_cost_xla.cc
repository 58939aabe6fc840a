#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensorflow_ext/ops/correlation_cost/correlation_cost_checks.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::XlaBuilder;
using xla::XlaOp;

constexpr int64_t kRowAxis = 1, kColumnAxis = 2;  // axes

int64_t RoundedUpQuotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The windows span a part of a, and at each displacement a part of b of the same size. So a
// displacement is one slice of b. A loop processes a few displacements per step, which keeps the
// program's size independent of their number. The op itself processes all displacements along a row
// at once, for one block of a's columns at a time: a matrix product has each pair of columns, and
// the result is its diagonals.
class Spans {
 public:
  Spans(const CorrelationCostDims& dims, xla::PrimitiveType computed)
      : dims_(dims),
        computed_(computed),
        height_((dims.output_height - 1) * dims.stride_1 + dims.kernel_size),
        width_((dims.output_width - 1) * dims.stride_1 + dims.kernel_size),
        blocks_(RoundedUpQuotient(width_, std::clamp<int64_t>(2 * dims.reach(), 16, 64))),
        block_(RoundedUpQuotient(width_, blocks_)) {}

  // Padding takes memory here, and so do the products of pixels between the windows. Neither may be
  // out of proportion.
  absl::Status CheckSize(const std::string& op) const {
    constexpr double kMost = 1e11;
    const double images = static_cast<double>(dims_.images);
    const double padded = images * static_cast<double>(height_ + 2 * dims_.reach()) *
                          static_cast<double>(width_ + 2 * dims_.reach()) *
                          static_cast<double>(dims_.channels);
    const double columns =
        static_cast<double>(std::max(blocks_ * block_, width_ + 4 * dims_.reach()));
    const double products = images * static_cast<double>(height_) * columns *
                            static_cast<double>(dims_.output_channels());
    if (padded <= kMost && products <= kMost && dims_.output_channels() <= INT32_MAX) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": XLA would pad the images to ", height_ + 2 * dims_.reach(), " * ",
        width_ + 2 * dims_.reach(), " pixels, ", padded, " elements in all, and multiply ",
        products, " pairs of pixels, expected at most ", kMost, " of each"));
  }

  // The part of a that the windows span, and the part of b with all displacements. ImageOfA and
  // ImageOfB put such a part back into an image.
  XlaOp OfA(XlaOp a) const { return Part(a, 0); }
  XlaOp OfB(XlaOp b) const { return Part(b, dims_.reach()); }
  XlaOp ImageOfA(XlaOp part) const { return Image(part, 0); }
  XlaOp ImageOfB(XlaOp part) const { return Image(part, dims_.reach()); }

  // 1 at positions inside the image, else 0: [1, rows, columns, 1]. A position outside an image
  // counts as 0, whatever it meets.
  XlaOp InsideA(XlaBuilder* builder) const { return OfA(Ones(builder)); }
  XlaOp InsideB(XlaBuilder* builder) const { return OfB(Ones(builder)); }

  // InsideA without the pixels between the windows. Their coefficient is 0, and 0 times what they
  // meet may be NaN.
  XlaOp InWindows(XlaBuilder* builder) const {
    const XlaOp inside = InsideA(builder);
    if (dims_.kernel_size >= dims_.stride_1) return inside;
    const auto covered = [&](int64_t axis) {
      const XlaOp pixel = xla::Iota(builder, xla::S32, {1, height_, width_, 1}, axis);
      return pixel % dims_.stride_1 < dims_.kernel_size;
    };
    return xla::Select(covered(kRowAxis) & covered(kColumnAxis), inside, 0);
  }

  // Calls `body(i, state)` for i in [0, count). `body` returns the new state. The result is the
  // state's last element.
  static absl::StatusOr<XlaOp> Loop(int64_t count, std::vector<XlaOp> state,
                                    const std::function<XlaOp(XlaOp, xla::State)>& body) {
    state.insert(state.begin(), xla::ConstantR0(state[0].builder(), xla::S32, 0));
    const auto result = xla::WhileLoop(
        "CorrelationCost", [&](xla::State s) { return s[0] < count; },
        [&](xla::State s) {
          std::vector<XlaOp> next(s.begin(), s.end());
          next.back() = body(s[0], s.subspan(1));
          next[0] = s[0] + 1;
          return next;
        },
        state);
    if (!result.ok()) return result.status();
    return result->back();
  }

  // The products of a's part and b's part at all displacements, summed over the channels: [N, rows,
  // columns, D * D].
  absl::StatusOr<XlaOp> Products(XlaOp a, XlaOp b) const {
    XlaBuilder* builder = a.builder();
    TF_ASSIGN_OR_RETURN(
        const XlaOp products,
        // The state is a, b, inside a, inside b, products.
        Loop(dims_.displacements * blocks_,
             {Blocks(a), Blocks(b), Blocks(InsideA(builder)), Blocks(InsideB(builder)),
              xla::Zeros(builder, computed_,
                         {dims_.images, height_, blocks_ * block_, dims_.output_channels()})},
             [&](XlaOp step, xla::State s) {
               const XlaOp row = step / blocks_;
               const XlaOp column = step % blocks_ * block_;
               return xla::DynamicUpdateSlice(s[4],
                                              RowOfDisplacements(s, row * dims_.stride_2, column),
                                              {xla::ScalarLike(step, 0), xla::ScalarLike(step, 0),
                                               column, row * dims_.displacements});
             }));
    return xla::SliceInDim(products, 0, width_, kColumnAxis);
  }

  // The scaled sums over windows: from [N, rows, columns, D * D] of the span to [N, OH, OW, D * D].
  XlaOp SumWindows(XlaOp products) const {
    const int64_t kernel = dims_.kernel_size, stride = dims_.stride_1;
    return xla::ReduceWindowSum(products, {1, kernel, kernel, 1}, {1, stride, stride, 1}) *
           dims_.scale();
  }

  // The transpose of SumWindows, for all displacements: from [N, OH, OW, D * D] to the coefficient
  // of each pair of pixels, [N, rows, columns, D * D].
  XlaOp SpreadWindows(XlaOp gradients) const {
    const int64_t kernel = dims_.kernel_size;
    const xla::Padding spread = {kernel - 1, kernel - 1, dims_.stride_1 - 1};
    return xla::ReduceWindowSum(xla::Pad(gradients, {{}, spread, spread, {}}),
                                {1, kernel, kernel, 1}, {1, 1, 1, 1}) *
           dims_.scale();
  }

  // The gradient with respect to the span of a: the sum over all displacements of their
  // coefficients times the pixels that a's pixels meet.
  absl::StatusOr<XlaOp> GradientOfA(XlaOp spread, XlaOp b) const {
    XlaBuilder* builder = b.builder();
    // The state is coefficients, b, in windows of a, inside b, sums.
    return Loop(dims_.output_channels() / Together(),
                {spread, b, InWindows(builder), InsideB(builder), Zeros(builder, 0)},
                [&](XlaOp step, xla::State s) {
                  XlaOp sum = s[4];
                  for (int64_t k = 0; k < Together(); ++k) {
                    const XlaOp d = step * Together() + k;
                    const XlaOp row = Row(d), column = Column(d);
                    const XlaOp zero = xla::ScalarLike(d, 0);
                    sum = sum + Term(s[0], zero, d, Rows(s[1], row, column, width_),
                                     s[2] * RowsOfAll(s[3], row, column, width_), width_);
                  }
                  return sum;
                });
  }

  // The gradient with respect to all pixels of b that a meets, one row of displacements at a time.
  // Pixel x of b meets pixel x - d of a.
  absl::StatusOr<XlaOp> GradientOfB(XlaOp spread, XlaOp a) const {
    XlaBuilder* builder = a.builder();
    const int64_t reached = 2 * dims_.reach(), width = width_ + reached;
    const auto widen = [&](XlaOp part) { return xla::Pad(part, {{}, {}, {reached, reached}, {}}); };
    // The state is coefficients, a, in windows of a, inside b, sums.
    return Loop(dims_.output_channels() / Together(),
                {widen(spread), widen(a), widen(InWindows(builder)), InsideB(builder),
                 Zeros(builder, dims_.reach())},
                [&](XlaOp step, xla::State s) {
                  const XlaOp row = Row(step * Together());
                  const XlaOp zero = xla::ScalarLike(step, 0);
                  const XlaOp inside_b = RowsOfAll(s[3], row, zero, width);
                  XlaOp sum = Rows(s[4], row, zero, width);
                  for (int64_t k = 0; k < Together(); ++k) {
                    const XlaOp d = step * Together() + k;
                    const XlaOp column = reached - Column(d);
                    sum = sum + Term(s[0], column, d, Rows(s[1], zero, column, width),
                                     RowsOfAll(s[2], zero, column, width) * inside_b, width);
                  }
                  return xla::DynamicUpdateSlice(s[4], sum, {zero, row, zero, zero});
                });
  }

 private:
  // Pads with columns of 0 to a whole number of blocks.
  XlaOp Blocks(XlaOp part) const {
    std::vector<xla::Padding> padding(4);
    padding[kColumnAxis].high = blocks_ * block_ - width_;
    return xla::Pad(part, padding);
  }

  // [N, rows, columns of a block, D]: the products of the block of a that starts at `column` with
  // b, at the displacements in `row` of b.
  XlaOp RowOfDisplacements(xla::State s, XlaOp row, XlaOp column) const {
    const int64_t images = dims_.images, channels = dims_.channels;
    const int64_t reached = block_ + 2 * dims_.reach();  // columns of b
    const XlaOp zero = xla::ScalarLike(row, 0);
    const auto of_a = [&](XlaOp part, int64_t n, int64_t depth) {
      return xla::DynamicSlice(part, {zero, zero, column, zero}, {n, height_, block_, depth});
    };
    const auto of_b = [&](XlaOp part, int64_t n, int64_t depth) {
      return xla::DynamicSlice(part, {zero, row, column, zero}, {n, height_, reached, depth});
    };
    const XlaOp pairs =
        xla::BatchDotTransposed(of_a(s[0], images, channels), of_b(s[1], images, channels));
    // A position outside an image counts as 0, whatever it meets.
    const std::vector<int64_t> shape = {images, height_, block_, reached};
    const XlaOp inside_a = xla::BroadcastInDim(xla::Reshape(of_a(s[2], 1, 1), {height_, block_}),
                                               shape, {kRowAxis, kColumnAxis});
    const XlaOp inside_b = xla::BroadcastInDim(xla::Reshape(of_b(s[3], 1, 1), {height_, reached}),
                                               shape, {kRowAxis, kColumnAxis + 1});
    const XlaOp counted = xla::Select(inside_a * inside_b > 0, pairs, 0);
    // Displacement j of column x is the pair (x, x + j). With one more element in each row, it is
    // in column j.
    const XlaOp rows = xla::Reshape(counted, {images, height_, block_ * reached});
    const XlaOp skewed = xla::Reshape(xla::Pad(rows, {{}, {}, {0, block_, 0}}),
                                      {images, height_, block_, reached + 1});
    return xla::SliceInDim(skewed, 0, 2 * dims_.reach() + 1, 3, dims_.stride_2);
  }

  // The number of displacements of one row that are summed per step. XLA reads and writes once what
  // it computes together.
  int64_t Together() const {
    int64_t together = std::min<int64_t>(dims_.displacements, 16);
    while (dims_.displacements % together != 0) --together;
    return together;
  }

  // The start of displacement `d` in b's part.
  XlaOp Row(XlaOp d) const { return d / dims_.displacements * dims_.stride_2; }
  XlaOp Column(XlaOp d) const { return d % dims_.displacements * dims_.stride_2; }

  // All rows of the span and `width` columns of `images`. RowsOfAll does the same for data that all
  // images and channels share.
  XlaOp Rows(XlaOp images, XlaOp row, XlaOp column, int64_t width) const {
    const XlaOp zero = xla::ScalarLike(row, 0);
    return xla::DynamicSlice(images, {zero, row, column, zero},
                             {dims_.images, height_, width, dims_.channels});
  }
  XlaOp RowsOfAll(XlaOp part, XlaOp row, XlaOp column, int64_t width) const {
    const XlaOp zero = xla::ScalarLike(row, 0);
    return xla::DynamicSlice(part, {zero, row, column, zero}, {1, height_, width, 1});
  }
  // coefficients * values where `inside` is not 0, else 0, for the coefficients of displacement
  // `d`, starting at `column`.
  XlaOp Term(XlaOp spread, XlaOp column, XlaOp d, XlaOp values, XlaOp inside, int64_t width) const {
    const XlaOp zero = xla::ScalarLike(d, 0);
    const std::vector<int64_t> shape = {dims_.images, height_, width, dims_.channels};
    const XlaOp coefficients =
        xla::DynamicSlice(spread, {zero, zero, column, d}, {dims_.images, height_, width, 1});
    const XlaOp coefficient =
        xla::BroadcastInDim(xla::Reshape(coefficients, {dims_.images, height_, width}), shape,
                            {0, kRowAxis, kColumnAxis});
    const XlaOp counts =
        xla::BroadcastInDim(xla::Reshape(inside, {height_, width}), shape, {kRowAxis, kColumnAxis});
    return xla::Select(counts > 0, coefficient * values, 0);
  }

  XlaOp Part(XlaOp images, int64_t reach) const {
    const int64_t first = dims_.first_pixel() - reach;
    const XlaOp rows = Cut(images, kRowAxis, dims_.height, first, height_ + 2 * reach);
    return Cut(rows, kColumnAxis, dims_.width, first, width_ + 2 * reach);
  }
  XlaOp Image(XlaOp part, int64_t reach) const {
    const int64_t first = reach - dims_.first_pixel();
    const XlaOp rows = Cut(part, kRowAxis, height_ + 2 * reach, first, dims_.height);
    return Cut(rows, kColumnAxis, width_ + 2 * reach, first, dims_.width);
  }
  // `wanted` rows or columns of `images`, which has `size` of them, starting at `begin`; 0 outside.
  XlaOp Cut(XlaOp images, int64_t axis, int64_t size, int64_t begin, int64_t wanted) const {
    const int64_t first = std::clamp<int64_t>(begin, 0, size);
    const int64_t last = std::clamp<int64_t>(begin + wanted, first, size);
    const int64_t before = std::clamp<int64_t>(-begin, 0, wanted);
    std::vector<xla::Padding> padding(4);
    padding[axis] = {before, wanted - before - (last - first)};
    return xla::Pad(xla::SliceInDim(images, first, last, axis), padding);
  }
  XlaOp Zeros(XlaBuilder* builder, int64_t reach) const {
    return xla::Zeros(builder, computed_,
                      {dims_.images, height_ + 2 * reach, width_ + 2 * reach, dims_.channels});
  }
  XlaOp Ones(XlaBuilder* builder) const {
    return xla::Full(builder, computed_, {1, dims_.height, dims_.width, 1}, 1);
  }
  const CorrelationCostDims dims_;
  const xla::PrimitiveType computed_;
  const int64_t height_, width_;
  // The number of blocks of a's columns, and their size. The displacements use a third or more of a
  // block's products with the columns of b in its reach, if they are dense.
  const int64_t blocks_, block_;
};

class CorrelationCostLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return attributes_.Read(context->op(), context);
  }

  absl::Status Compile(LoweringContext* context) const override {
    TensorShape a_shape, b_shape, shape;
    CorrelationCostDims dims;
    TF_RETURN_IF_ERROR(context->InputShape(0, &a_shape));
    TF_RETURN_IF_ERROR(context->InputShape(1, &b_shape));
    TF_RETURN_IF_ERROR(attributes_.ReadImages("a", a_shape, &dims));
    TF_RETURN_IF_ERROR(CheckShapeOf(context->op(), "b", b_shape, "a", a_shape));
    TF_RETURN_IF_ERROR(attributes_.OutputShape(dims, &shape));
    XlaBuilder* builder = context->builder();
    const xla::PrimitiveType computed = context->ComputeType(0);
    if (a_shape.num_elements() == 0 || shape.num_elements() == 0) {
      context->SetOutput(0, xla::Zeros(builder, computed, shape.dim_sizes()));
      return absl::OkStatus();
    }
    const Spans spans(dims, computed);
    TF_RETURN_IF_ERROR(spans.CheckSize(context->op()));
    TF_ASSIGN_OR_RETURN(const XlaOp products, spans.Products(spans.OfA(context->ComputeInput(0)),
                                                             spans.OfB(context->ComputeInput(1))));
    context->SetOutput(0, spans.SumWindows(products));
    return absl::OkStatus();
  }

  CorrelationCostAttributes attributes_;
};
REGISTER_LOWERING(Name("TfExt>CorrelationCost"), CorrelationCostLowering);

// The lowering of both gradients.
class CorrelationCostGradLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return attributes_.Read(context->op(), context);
  }

  absl::Status Compile(LoweringContext* context) const override {
    const bool to_a = context->op() == "TfExt>CorrelationCostAGrad";
    TensorShape gradients_shape, shape;
    CorrelationCostDims dims;
    TF_RETURN_IF_ERROR(context->InputShape(0, &gradients_shape));
    TF_RETURN_IF_ERROR(context->InputShape(1, &shape));
    TF_RETURN_IF_ERROR(attributes_.ReadImages(to_a ? "b" : "a", shape, &dims));
    TF_RETURN_IF_ERROR(attributes_.CheckGradients(gradients_shape, dims));
    XlaBuilder* builder = context->builder();
    const xla::PrimitiveType computed = context->ComputeType(0);
    if (shape.num_elements() == 0) {
      context->SetOutput(0, xla::Zeros(builder, computed, shape.dim_sizes()));
      return absl::OkStatus();
    }
    const Spans spans(dims, computed);
    TF_RETURN_IF_ERROR(spans.CheckSize(context->op()));
    const XlaOp other = context->ComputeInput(1);
    const XlaOp spread = spans.SpreadWindows(context->ComputeInput(0));
    const auto sums = to_a ? spans.GradientOfA(spread, spans.OfB(other))
                           : spans.GradientOfB(spread, spans.OfA(other));
    TF_RETURN_IF_ERROR(sums.status());
    context->SetOutput(0, to_a ? spans.ImageOfA(*sums) : spans.ImageOfB(*sums));
    return absl::OkStatus();
  }

  CorrelationCostAttributes attributes_;
};
REGISTER_LOWERING(Name("TfExt>CorrelationCostAGrad"), CorrelationCostGradLowering);
REGISTER_LOWERING(Name("TfExt>CorrelationCostBGrad"), CorrelationCostGradLowering);

}  // namespace
}  // namespace tensorflow_ext
