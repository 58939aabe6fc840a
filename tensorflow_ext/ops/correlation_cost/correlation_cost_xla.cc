// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/ops/correlation_cost/correlation_cost_checks.h"
#include "tensorflow_ext/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/loops.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernel;
using tensorflow::XlaOpKernelContext;
using xla::ScalarLike;
using xla::XlaBuilder;
using xla::XlaOp;

constexpr int64_t kRows = 1, kColumns = 2, kChannels = 3;  // axes

// The windows span a part of a, and at each displacement as large a part of b.
// So a displacement is one slice of b, and a loop takes them in turn: the
// program does not grow with their number.
class Spans {
 public:
  Spans(const CorrelationCostDims& dims, xla::PrimitiveType stored)
      : dims_(dims),
        stored_(stored),
        height_((dims.output_height - 1) * dims.stride_1 + dims.kernel_size),
        width_((dims.output_width - 1) * dims.stride_1 + dims.kernel_size) {}

  xla::PrimitiveType computed() const {
    return stored_ == xla::F64 ? xla::F64 : xla::F32;
  }

  // Padding is memory here: what the windows and displacements span must not be
  // out of proportion.
  absl::Status CheckSize(const std::string& op) const {
    constexpr double kMost = 1e11;
    const double size = static_cast<double>(dims_.images) *
                        static_cast<double>(height_ + 2 * dims_.reach()) *
                        static_cast<double>(width_ + 2 * dims_.reach()) *
                        static_cast<double>(dims_.channels);
    if (size <= kMost && dims_.output_channels() <= INT32_MAX) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": XLA would pad the images to ", height_ + 2 * dims_.reach(),
        " * ", width_ + 2 * dims_.reach(), " pixels, ", size,
        " elements in all, expected at most ", kMost));
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

  // Calls `body(displacement, state)` for each displacement; returns the last
  // element of the state, which is what `body` returns.
  absl::StatusOr<XlaOp> Loop(
      std::vector<XlaOp> state,
      const std::function<XlaOp(XlaOp, absl::Span<const XlaOp>)>& body) const {
    XlaBuilder* builder = state[0].builder();
    state.insert(state.begin(), xla::Zero(builder, xla::S32));
    const auto result = xla::WhileLoopHelper(
        [&](absl::Span<const XlaOp> s, XlaBuilder*) {
          return absl::StatusOr<XlaOp>(
              xla::Lt(s[0], ScalarLike(s[0], dims_.output_channels())));
        },
        [&](absl::Span<const XlaOp> s, XlaBuilder*) {
          std::vector<XlaOp> next(s.begin(), s.end());
          next.back() = body(s[0], s.subspan(1));
          next[0] = xla::Add(s[0], ScalarLike(s[0], 1));
          return absl::StatusOr<std::vector<XlaOp>>(next);
        },
        state, "CorrelationCost", builder);
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

  // The sums over windows, scaled: [N, rows, columns] of the span to [N, OH,
  // OW].
  XlaOp SumWindows(XlaOp products) const {
    XlaBuilder* builder = products.builder();
    const int64_t kernel = dims_.kernel_size, stride = dims_.stride_1;
    const XlaOp sums = xla::ReduceWindow(
        products, xla::Zero(builder, computed()),
        xla::CreateScalarAddComputation(computed(), builder),
        {1, kernel, kernel}, {1, stride, stride}, xla::Padding::kValid);
    return xla::Mul(sums, ScalarLike(sums, dims_.scale()));
  }

  // Its transpose, for all displacements: [N, OH, OW, D * D] to the coefficient
  // of each pair of pixels, [N, rows, columns, D * D].
  XlaOp SpreadWindows(XlaOp gradients) const {
    XlaBuilder* builder = gradients.builder();
    const XlaOp zero = xla::Zero(builder, computed());
    xla::PaddingConfig config = xla::MakeNoPaddingConfig(4);
    for (const int64_t axis : {kRows, kColumns}) {
      auto* dimension = config.mutable_dimensions(axis);
      dimension->set_edge_padding_low(dims_.kernel_size - 1);
      dimension->set_edge_padding_high(dims_.kernel_size - 1);
      dimension->set_interior_padding(dims_.stride_1 - 1);
    }
    const XlaOp sums =
        xla::ReduceWindow(xla::Pad(gradients, zero, config), zero,
                          xla::CreateScalarAddComputation(computed(), builder),
                          {1, dims_.kernel_size, dims_.kernel_size, 1},
                          {1, 1, 1, 1}, xla::Padding::kValid);
    return xla::Mul(sums, ScalarLike(sums, dims_.scale()));
  }

  // Column `d` of SpreadWindows beside all channels.
  XlaOp Coefficients(XlaOp spread, XlaOp d) const {
    const XlaOp zero = ScalarLike(d, 0);
    const XlaOp one = xla::DynamicSlice(spread, {zero, zero, zero, d},
                                        {dims_.images, height_, width_, 1});
    return xla::BroadcastInDim(
        xla::Reshape(one, {dims_.images, height_, width_}),
        {dims_.images, height_, width_, dims_.channels}, {0, kRows, kColumns});
  }

  // `values`, [N, rows, columns, C], where both pixels are inside, else 0.
  XlaOp Pairs(XlaOp values, XlaOp inside_a, XlaOp inside_b, XlaOp d) const {
    const XlaOp both = xla::Mul(inside_a, At(inside_b, d, 1, 1));
    const XlaOp mask = xla::BroadcastInDim(
        xla::Reshape(both, {height_, width_}),
        {dims_.images, height_, width_, dims_.channels}, {kRows, kColumns});
    return xla::Select(xla::Gt(mask, xla::ZerosLike(mask)), values,
                       xla::ZerosLike(values));
  }

 private:
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
    const XlaOp image =
        Cut(rows, kColumns, width_ + 2 * reach, first, dims_.width);
    return xla::ConvertElementType(image, stored_);
  }
  // `wanted` rows or columns of `images`, which has `size` of them, from
  // `begin` on; 0 outside.
  XlaOp Cut(XlaOp images, int64_t axis, int64_t size, int64_t begin,
            int64_t wanted) const {
    const int64_t first = std::clamp<int64_t>(begin, 0, size);
    const int64_t last = std::clamp<int64_t>(begin + wanted, first, size);
    const int64_t before = std::clamp<int64_t>(-begin, 0, wanted);
    return xla::PadInDim(
        xla::SliceInDim(images, first, last, /*stride=*/1, axis),
        xla::Zero(images.builder(), computed()), axis, before,
        wanted - before - (last - first));
  }
  XlaOp Zeros(XlaBuilder* builder, int64_t reach) const {
    return xla::Broadcast(xla::Zero(builder, computed()),
                          {dims_.images, height_ + 2 * reach,
                           width_ + 2 * reach, dims_.channels});
  }
  XlaOp Ones(XlaBuilder* builder) const {
    return xla::Broadcast(xla::One(builder, computed()),
                          {1, dims_.height, dims_.width, 1});
  }
  std::vector<XlaOp> Offsets(XlaOp d) const {
    const XlaOp zero = ScalarLike(d, 0);
    const XlaOp side = ScalarLike(d, dims_.displacements);
    const XlaOp step = ScalarLike(d, dims_.stride_2);
    return {zero, xla::Mul(xla::Div(d, side), step),
            xla::Mul(xla::Rem(d, side), step), zero};
  }

  const CorrelationCostDims dims_;
  const xla::PrimitiveType stored_;
  const int64_t height_, width_;
};

class CorrelationCostXlaOp : public XlaOpKernel {
 public:
  explicit CorrelationCostXlaOp(OpKernelConstruction* context)
      : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, attributes_.Read(type_string(), context));
  }

  void Compile(XlaOpKernelContext* context) override {
    TensorShape a_shape, b_shape, shape;
    CorrelationCostDims dims;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &a_shape));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &b_shape));
    OP_REQUIRES_OK(context, attributes_.ReadImages("a", a_shape, &dims));
    OP_REQUIRES_OK(context,
                   CheckShapeOf(type_string(), "b", b_shape, "a", a_shape));
    OP_REQUIRES_OK(context, attributes_.OutputShape(dims, &shape));
    const xla::PrimitiveType type = context->input_xla_type(0);
    XlaBuilder* builder = context->builder();
    if (a_shape.num_elements() == 0 || shape.num_elements() == 0) {
      context->SetOutput(
          0, xla::Broadcast(xla::Zero(builder, type), shape.dim_sizes()));
      return;
    }
    const Spans spans(dims, type);
    OP_REQUIRES_OK(context, spans.CheckSize(type_string()));
    const xla::PrimitiveType computed = spans.computed();
    const auto wide = [&](int input) {
      return xla::ConvertElementType(context->Input(input), computed);
    };
    // a, b, inside a, inside b, output.
    const auto output = spans.Loop(
        {spans.OfA(wide(0)), spans.OfB(wide(1)), spans.InsideA(builder),
         spans.InsideB(builder),
         xla::Broadcast(xla::Zero(builder, computed), shape.dim_sizes())},
        [&](XlaOp d, absl::Span<const XlaOp> s) {
          const XlaOp products = spans.Pairs(
              xla::Mul(s[0], spans.At(s[1], d, dims.images, dims.channels)),
              s[2], s[3], d);
          const XlaOp sums = xla::Reduce(
              products, xla::Zero(d.builder(), computed),
              xla::CreateScalarAddComputation(computed, d.builder()),
              {kChannels});
          const XlaOp zero = ScalarLike(d, 0);
          return xla::DynamicUpdateSlice(
              s[4],
              xla::Reshape(
                  spans.SumWindows(sums),
                  {dims.images, dims.output_height, dims.output_width, 1}),
              {zero, zero, zero, d});
        });
    OP_REQUIRES_OK(context, output.status());
    context->SetOutput(0, xla::ConvertElementType(*output, type));
  }

 private:
  CorrelationCostAttributes attributes_;
};
REGISTER_XLA_OP(Name("TfExt>CorrelationCost"), CorrelationCostXlaOp);

class CorrelationCostGradXlaOp : public XlaOpKernel {
 public:
  explicit CorrelationCostGradXlaOp(OpKernelConstruction* context)
      : XlaOpKernel(context),
        argument_(type_string() == "TfExt>CorrelationCostAGrad"
                      ? CorrelationArgument::kA
                      : CorrelationArgument::kB) {
    OP_REQUIRES_OK(context, attributes_.Read(type_string(), context));
  }

  void Compile(XlaOpKernelContext* context) override {
    const bool to_a = argument_ == CorrelationArgument::kA;
    TensorShape gradients_shape, shape;
    CorrelationCostDims dims;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &gradients_shape));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &shape));
    OP_REQUIRES_OK(context,
                   attributes_.ReadImages(to_a ? "b" : "a", shape, &dims));
    OP_REQUIRES_OK(context, attributes_.CheckGradients(gradients_shape, dims));
    const xla::PrimitiveType type = context->input_xla_type(0);
    XlaBuilder* builder = context->builder();
    if (shape.num_elements() == 0) {
      context->SetOutput(
          0, xla::Broadcast(xla::Zero(builder, type), shape.dim_sizes()));
      return;
    }
    const Spans spans(dims, type);
    OP_REQUIRES_OK(context, spans.CheckSize(type_string()));
    const auto wide = [&](int input) {
      return xla::ConvertElementType(context->Input(input), spans.computed());
    };
    const XlaOp other = wide(1);
    // Coefficients, the other image, inside a, inside b, sums.
    const auto sums = spans.Loop(
        {spans.SpreadWindows(wide(0)),
         to_a ? spans.OfB(other) : spans.OfA(other), spans.InsideA(builder),
         spans.InsideB(builder),
         to_a ? spans.ZerosOfA(builder) : spans.ZerosOfB(builder)},
        [&](XlaOp d, absl::Span<const XlaOp> s) {
          const auto at = [&](XlaOp part) {
            return spans.At(part, d, dims.images, dims.channels);
          };
          const XlaOp terms = spans.Pairs(
              xla::Mul(spans.Coefficients(s[0], d), to_a ? at(s[1]) : s[1]),
              s[2], s[3], d);
          return to_a ? xla::Add(s[4], terms)
                      : spans.Replace(s[4], xla::Add(at(s[4]), terms), d);
        });
    OP_REQUIRES_OK(context, sums.status());
    context->SetOutput(0, to_a ? spans.ImageOfA(*sums) : spans.ImageOfB(*sums));
  }

 private:
  const CorrelationArgument argument_;
  CorrelationCostAttributes attributes_;
};
REGISTER_XLA_OP(Name("TfExt>CorrelationCostAGrad"), CorrelationCostGradXlaOp);
REGISTER_XLA_OP(Name("TfExt>CorrelationCostBGrad"), CorrelationCostGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
