// SPDX-License-Identifier: Apache-2.0

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

constexpr int64_t kRows = 1, kColumns = 2;  // axes

int64_t RoundedUpQuotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The windows span a part of a, and at each displacement as large a part of b.
// So a displacement is one slice of b, and a loop takes them in turn: the
// program does not grow with their number. For the op itself, the loop takes
// all displacements along rows at once, block by block of a's columns: by a
// product of matrices, which has each pair of their columns and from which the
// diagonals are taken.
class Spans {
 public:
  Spans(const CorrelationCostDims& dims, xla::PrimitiveType computed)
      : dims_(dims),
        computed_(computed),
        height_((dims.output_height - 1) * dims.stride_1 + dims.kernel_size),
        width_((dims.output_width - 1) * dims.stride_1 + dims.kernel_size),
        blocks_(RoundedUpQuotient(
            width_, std::clamp<int64_t>(2 * dims.reach(), 16, 64))),
        block_(RoundedUpQuotient(width_, blocks_)) {}

  // Padding is memory here, and so are the products of pixels between those
  // that the windows are at: neither must be out of proportion.
  absl::Status CheckSize(const std::string& op) const {
    constexpr double kMost = 1e11;
    const double images = static_cast<double>(dims_.images);
    const double padded = images *
                          static_cast<double>(height_ + 2 * dims_.reach()) *
                          static_cast<double>(width_ + 2 * dims_.reach()) *
                          static_cast<double>(dims_.channels);
    const double products = images * static_cast<double>(height_) *
                            static_cast<double>(blocks_ * block_) *
                            static_cast<double>(dims_.output_channels());
    if (padded <= kMost && products <= kMost &&
        dims_.output_channels() <= INT32_MAX) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": XLA would pad the images to ", height_ + 2 * dims_.reach(),
        " * ", width_ + 2 * dims_.reach(), " pixels, ", padded,
        " elements in all, and multiply ", products,
        " pairs of pixels, expected at most ", kMost, " of each"));
  }

  // The part of a that the windows span, and that of b with all displacements;
  // and what is placed in such a part as an image.
  XlaOp OfA(XlaOp a) const { return Part(a, 0); }
  XlaOp OfB(XlaOp b) const { return Part(b, dims_.reach()); }
  XlaOp ImageOfA(XlaOp part) const { return Image(part, 0); }
  XlaOp ImageOfB(XlaOp part) const { return Image(part, dims_.reach()); }

  XlaOp ZerosOfA(XlaBuilder* builder) const { return Zeros(builder, 0); }
  XlaOp ZerosOfB(XlaBuilder* builder) const {
    return Zeros(builder, dims_.reach());
  }

  // Where a's pixels meet pixels inside b, as 1 and 0, [1, rows, columns, 1]:
  // for Pairs. What lies outside an image counts as 0, whatever it meets.
  XlaOp InsideA(XlaBuilder* builder) const { return OfA(Ones(builder)); }
  XlaOp InsideB(XlaBuilder* builder) const { return OfB(Ones(builder)); }

  // InsideA, but for pixels between the windows. Their coefficient is 0, and 0
  // times what they meet may be NaN.
  XlaOp InWindows(XlaBuilder* builder) const {
    const XlaOp inside = InsideA(builder);
    if (dims_.kernel_size >= dims_.stride_1) return inside;
    const auto covered = [&](int64_t axis) {
      const XlaOp pixel =
          xla::Iota(builder, xla::S32, {1, height_, width_, 1}, axis);
      return pixel % dims_.stride_1 < dims_.kernel_size;
    };
    return xla::Select(covered(kRows) & covered(kColumns), inside, 0);
  }

  // Calls `body(i, state)` for i in [0, count); returns the last element of the
  // state, which is what `body` returns.
  static absl::StatusOr<XlaOp> Loop(
      int64_t count, std::vector<XlaOp> state,
      const std::function<XlaOp(XlaOp, xla::State)>& body) {
    state.insert(state.begin(),
                 xla::ConstantR0(state[0].builder(), xla::S32, 0));
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

  // The slice of b's part at displacement `d`, and that slice replaced.
  XlaOp At(XlaOp part, XlaOp d, int64_t images, int64_t channels) const {
    return xla::DynamicSlice(part, Offsets(d),
                             {images, height_, width_, channels});
  }
  XlaOp Replace(XlaOp part, XlaOp slice, XlaOp d) const {
    return xla::DynamicUpdateSlice(part, slice, Offsets(d));
  }

  // The products of a's part with b's at all displacements, summed over the
  // channels: [N, rows, columns, D * D].
  absl::StatusOr<XlaOp> Products(XlaOp a, XlaOp b) const {
    XlaBuilder* builder = a.builder();
    TF_ASSIGN_OR_RETURN(
        const XlaOp products,
        // a, b, inside a, inside b, products.
        Loop(dims_.displacements * blocks_,
             {Blocks(a), Blocks(b), Blocks(InsideA(builder)),
              Blocks(InsideB(builder)),
              xla::Zeros(builder, computed_,
                         {dims_.images, height_, blocks_ * block_,
                          dims_.output_channels()})},
             [&](XlaOp step, xla::State s) {
               const XlaOp row = step / blocks_;
               const XlaOp column = step % blocks_ * block_;
               return xla::DynamicUpdateSlice(
                   s[4], RowOfDisplacements(s, row * dims_.stride_2, column),
                   {xla::ScalarLike(step, 0), xla::ScalarLike(step, 0), column,
                    row * dims_.displacements});
             }));
    return xla::SliceInDim(products, 0, width_, kColumns);
  }

  // The sums over windows, scaled: [N, rows, columns, D * D] of the span to [N,
  // OH, OW, D * D].
  XlaOp SumWindows(XlaOp products) const {
    const int64_t kernel = dims_.kernel_size, stride = dims_.stride_1;
    return xla::ReduceWindowSum(products, {1, kernel, kernel, 1},
                                {1, stride, stride, 1}) *
           dims_.scale();
  }

  // Its transpose, for all displacements: [N, OH, OW, D * D] to the coefficient
  // of each pair of pixels, [N, rows, columns, D * D].
  XlaOp SpreadWindows(XlaOp gradients) const {
    const int64_t kernel = dims_.kernel_size;
    const xla::Padding spread = {kernel - 1, kernel - 1, dims_.stride_1 - 1};
    return xla::ReduceWindowSum(xla::Pad(gradients, {{}, spread, spread, {}}),
                                {1, kernel, kernel, 1}, {1, 1, 1, 1}) *
           dims_.scale();
  }

  // Column `d` of SpreadWindows beside all channels.
  XlaOp Coefficients(XlaOp spread, XlaOp d) const {
    const XlaOp zero = xla::ScalarLike(d, 0);
    const XlaOp one = xla::DynamicSlice(spread, {zero, zero, zero, d},
                                        {dims_.images, height_, width_, 1});
    return xla::BroadcastInDim(
        xla::Reshape(one, {dims_.images, height_, width_}),
        {dims_.images, height_, width_, dims_.channels}, {0, kRows, kColumns});
  }

  // `values`, [N, rows, columns, C], where both pixels count, else 0.
  XlaOp Pairs(XlaOp values, XlaOp inside_a, XlaOp inside_b, XlaOp d) const {
    const XlaOp both = inside_a * At(inside_b, d, 1, 1);
    const XlaOp mask = xla::BroadcastInDim(
        xla::Reshape(both, {height_, width_}),
        {dims_.images, height_, width_, dims_.channels}, {kRows, kColumns});
    return xla::Select(mask > 0, values, 0);
  }

 private:
  // With columns behind it, of 0, that make it whole blocks.
  XlaOp Blocks(XlaOp part) const {
    std::vector<xla::Padding> padding(4);
    padding[kColumns].high = blocks_ * block_ - width_;
    return xla::Pad(part, padding);
  }

  // [N, rows, columns of a block, D]: the products of the block of a from
  // `column` on with b at the displacements that have b's `row`.
  XlaOp RowOfDisplacements(xla::State s, XlaOp row, XlaOp column) const {
    const int64_t images = dims_.images, channels = dims_.channels;
    const int64_t reached = block_ + 2 * dims_.reach();  // columns of b
    const XlaOp zero = xla::ScalarLike(row, 0);
    const auto of_a = [&](XlaOp part, int64_t n, int64_t depth) {
      return xla::DynamicSlice(part, {zero, zero, column, zero},
                               {n, height_, block_, depth});
    };
    const auto of_b = [&](XlaOp part, int64_t n, int64_t depth) {
      return xla::DynamicSlice(part, {zero, row, column, zero},
                               {n, height_, reached, depth});
    };
    const XlaOp pairs = xla::BatchDotTransposed(of_a(s[0], images, channels),
                                                of_b(s[1], images, channels));
    // What lies outside an image counts as 0, whatever it meets.
    const std::vector<int64_t> shape = {images, height_, block_, reached};
    const XlaOp inside_a =
        xla::BroadcastInDim(xla::Reshape(of_a(s[2], 1, 1), {height_, block_}),
                            shape, {kRows, kColumns});
    const XlaOp inside_b =
        xla::BroadcastInDim(xla::Reshape(of_b(s[3], 1, 1), {height_, reached}),
                            shape, {kRows, kColumns + 1});
    const XlaOp counted = xla::Select(inside_a * inside_b > 0, pairs, 0);
    // Displacement j of column x is pair (x, x + j): with one more element in
    // each row, column j.
    const XlaOp rows =
        xla::Reshape(counted, {images, height_, block_ * reached});
    const XlaOp skewed = xla::Reshape(xla::Pad(rows, {{}, {}, {0, block_, 0}}),
                                      {images, height_, block_, reached + 1});
    return xla::SliceInDim(skewed, 0, 2 * dims_.reach() + 1, 3, dims_.stride_2);
  }

  XlaOp Part(XlaOp images, int64_t reach) const {
    const int64_t first = dims_.first_pixel() - reach;
    const XlaOp rows =
        Cut(images, kRows, dims_.height, first, height_ + 2 * reach);
    return Cut(rows, kColumns, dims_.width, first, width_ + 2 * reach);
  }
  XlaOp Image(XlaOp part, int64_t reach) const {
    const int64_t first = reach - dims_.first_pixel();
    const XlaOp rows =
        Cut(part, kRows, height_ + 2 * reach, first, dims_.height);
    return Cut(rows, kColumns, width_ + 2 * reach, first, dims_.width);
  }
  // `wanted` rows or columns of `images`, which has `size` of them, from
  // `begin` on; 0 outside.
  XlaOp Cut(XlaOp images, int64_t axis, int64_t size, int64_t begin,
            int64_t wanted) const {
    const int64_t first = std::clamp<int64_t>(begin, 0, size);
    const int64_t last = std::clamp<int64_t>(begin + wanted, first, size);
    const int64_t before = std::clamp<int64_t>(-begin, 0, wanted);
    std::vector<xla::Padding> padding(4);
    padding[axis] = {before, wanted - before - (last - first)};
    return xla::Pad(xla::SliceInDim(images, first, last, axis), padding);
  }
  XlaOp Zeros(XlaBuilder* builder, int64_t reach) const {
    return xla::Zeros(builder, computed_,
                      {dims_.images, height_ + 2 * reach, width_ + 2 * reach,
                       dims_.channels});
  }
  XlaOp Ones(XlaBuilder* builder) const {
    return xla::Full(builder, computed_, {1, dims_.height, dims_.width, 1}, 1);
  }
  std::vector<XlaOp> Offsets(XlaOp d) const {
    const XlaOp zero = xla::ScalarLike(d, 0);
    return {zero, d / dims_.displacements * dims_.stride_2,
            d % dims_.displacements * dims_.stride_2, zero};
  }

  const CorrelationCostDims dims_;
  const xla::PrimitiveType computed_;
  const int64_t height_, width_;
  // How many blocks of a's columns there are, and how large: of a block's
  // products with the columns of b that it reaches, the displacements name a
  // third or more where they are dense.
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
    TF_ASSIGN_OR_RETURN(const XlaOp products,
                        spans.Products(spans.OfA(context->ComputeInput(0)),
                                       spans.OfB(context->ComputeInput(1))));
    context->SetOutput(0, spans.SumWindows(products));
    return absl::OkStatus();
  }

  CorrelationCostAttributes attributes_;
};
REGISTER_LOWERING(Name("TfExt>CorrelationCost"), CorrelationCostLowering);

// Of both gradients.
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
    // Coefficients, the other image, in windows of a, inside b, sums.
    const auto sums = Spans::Loop(
        dims.output_channels(),
        {spans.SpreadWindows(context->ComputeInput(0)),
         to_a ? spans.OfB(other) : spans.OfA(other), spans.InWindows(builder),
         spans.InsideB(builder),
         to_a ? spans.ZerosOfA(builder) : spans.ZerosOfB(builder)},
        [&](XlaOp d, xla::State s) {
          const auto at = [&](XlaOp part) {
            return spans.At(part, d, dims.images, dims.channels);
          };
          const XlaOp terms = spans.Pairs(
              spans.Coefficients(s[0], d) * (to_a ? at(s[1]) : s[1]), s[2],
              s[3], d);
          return to_a ? s[4] + terms : spans.Replace(s[4], at(s[4]) + terms, d);
        });
    TF_RETURN_IF_ERROR(sums.status());
    context->SetOutput(0, to_a ? spans.ImageOfA(*sums) : spans.ImageOfB(*sums));
    return absl::OkStatus();
  }

  CorrelationCostAttributes attributes_;
};
REGISTER_LOWERING(Name("TfExt>CorrelationCostAGrad"),
                  CorrelationCostGradLowering);
REGISTER_LOWERING(Name("TfExt>CorrelationCostBGrad"),
                  CorrelationCostGradLowering);

}  // namespace
}  // namespace tensorflow_ext
