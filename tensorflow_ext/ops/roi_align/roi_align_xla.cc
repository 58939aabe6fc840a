// SPDX-License-Identifier: Apache-2.0
//
// One pixel of every bin a step, times its weights, which have a closed form:
// see MakeBinWeights in roi_align.h.

#include <cstdint>
#include <vector>

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow_ext/kernels/pixels_xla.h"
#include "tensorflow_ext/kernels/regions_xla.h"
#include "tensorflow_ext/kernels/shape_xla.h"
#include "tensorflow_ext/ops/roi_align/roi_align.h"
#include "tensorflow_ext/ops/roi_align/roi_align_attributes.h"
#include "tensorflow_ext/ops/roi_align/roi_align_checks.h"
#include "tensorflow_ext/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/comparators.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/loops.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernel;
using tensorflow::XlaOpKernelContext;
using xla::FullLike;
using xla::ScalarLike;
using xla::XlaBuilder;
using xla::XlaOp;
using xla::ZerosLike;

// BinSamples of roi_align.h for every region and bin along one side, and the
// pixels that they touch: `touched` of them from `lowest` on. All are [R,
// bins].
struct SideOfRegions {
  static constexpr int kMembers = 5;

  SideOfRegions(XlaOp first, XlaOp last, int64_t num_rois, int64_t bins,
                int64_t pixels, const RoiAlignOptions& options)
      : pixels(pixels) {
    // MakeAlignedSide.
    const XlaOp scale = ScalarLike(first, options.spatial_scale);
    const XlaOp offset = ScalarLike(first, options.aligned ? 0.5 : 0.0);
    XlaOp start = xla::Sub(xla::Mul(first, scale), offset);
    XlaOp size = xla::Sub(xla::Sub(xla::Mul(last, scale), offset), start);
    const XlaOp finite = xla::And(xla::IsFinite(start), xla::IsFinite(size));
    start = xla::Select(finite, start, ZerosLike(start));
    size = xla::Select(finite, size, ZerosLike(size));
    if (!options.aligned) size = xla::Max(size, ScalarLike(size, 1));
    XlaOp bin = xla::Div(size, Divisor(size, static_cast<double>(bins)));
    XlaOp samples =
        options.sampling_ratio > 0
            ? Divisor(bin, static_cast<double>(options.sampling_ratio))
            : xla::Ceil(bin);
    const XlaOp any = xla::And(finite, xla::Gt(samples, ZerosLike(samples)));
    samples = xla::Max(samples, ScalarLike(samples, 1));

    const std::vector<int64_t> sizes = {num_rois, bins};
    const auto over_bins = [&](XlaOp region) {
      return xla::BroadcastInDim(region, sizes, {0});
    };
    bin = over_bins(bin);
    count = over_bins(samples);
    const XlaOp i = xla::ConvertElementType(
        xla::Iota(first.builder(), xla::ShapeUtil::MakeShape(xla::S32, sizes),
                  1),
        first.builder()->GetShape(first)->element_type());
    step = xla::Div(bin, count);
    begin = xla::Add(over_bins(start), xla::Mul(i, bin));
    begin = xla::Select(xla::Lt(step, ZerosLike(step)), xla::Add(begin, bin),
                        begin);
    step = xla::Abs(step);

    const XlaOp from = Below(ScalarLike(begin, -1));
    const XlaOp end = Below(ScalarLike(begin, static_cast<double>(pixels)));
    const auto pixel_at = [&](XlaOp sample) {
      return xla::ConvertElementType(
          xla::Clamp(ScalarLike(begin, 0), At(sample),
                     ScalarLike(begin, static_cast<double>(pixels - 1))),
          xla::S32);
    };
    lowest = pixel_at(from);
    XlaOp highest = pixel_at(xla::Sub(end, ScalarLike(end, 1)));
    highest = xla::Min(xla::Add(highest, ScalarLike(highest, 1)),
                       ScalarLike(highest, static_cast<int32_t>(pixels - 1)));
    touched =
        xla::Select(xla::And(over_bins(any), xla::Lt(from, end)),
                    xla::Add(xla::Sub(highest, lowest), ScalarLike(highest, 1)),
                    ZerosLike(highest));
  }

  // To and from the state of a loop.
  SideOfRegions(int64_t pixels, absl::Span<const XlaOp> s)
      : pixels(pixels),
        begin(s[0]),
        step(s[1]),
        count(s[2]),
        lowest(s[3]),
        touched(s[4]) {}
  std::vector<XlaOp> members() const {
    return {begin, step, count, lowest, touched};
  }

  // Pixel `k` of those touched, an int32 scalar, and its weight; 0 where there
  // are not as many.
  XlaOp Pixel(XlaOp k) const {
    return xla::Add(lowest, xla::Add(k, ZerosLike(lowest)));
  }
  XlaOp Weight(XlaOp k) const {
    const XlaOp index = Pixel(k);
    const XlaOp pixel = xla::ConvertElementType(
        index, begin.builder()->GetShape(begin)->element_type());
    const XlaOp one = ScalarLike(pixel, 1);
    const XlaOp before = Below(xla::Sub(pixel, one)), here = Below(pixel),
                after = Below(xla::Add(pixel, one));
    // The cells of the grid below and above the pixel: their samples' count and
    // mean distance from the cell's beginning.
    const auto cell = [&](XlaOp first, XlaOp last, XlaOp at, XlaOp* samples) {
      *samples = xla::Max(xla::Sub(last, first), ZerosLike(first));
      const XlaOp half = ScalarLike(step, 0.5);
      const XlaOp mean =
          xla::Add(xla::Sub(At(first), at),
                   xla::Mul(xla::Mul(step, xla::Sub(*samples, one)), half));
      return xla::Clamp(ScalarLike(mean, 0), mean, ScalarLike(mean, 1));
    };
    XlaOp lower, upper;
    XlaOp lower_mean = cell(before, here, xla::Sub(pixel, one), &lower);
    XlaOp upper_mean = cell(here, after, pixel, &upper);
    // Beyond the first and the last pixel all counts for them.
    lower_mean = xla::Select(xla::Eq(index, ZerosLike(index)),
                             FullLike(lower_mean, 1), lower_mean);
    upper_mean = xla::Select(
        xla::Eq(index, ScalarLike(index, static_cast<int32_t>(pixels - 1))),
        ZerosLike(upper_mean), upper_mean);
    const XlaOp sum = xla::Add(xla::Mul(lower, lower_mean),
                               xla::Mul(upper, xla::Sub(one, upper_mean)));
    return xla::Select(xla::Lt(xla::Sub(index, lowest), touched),
                       xla::Div(sum, count), ZerosLike(sum));
  }

  int64_t pixels;
  XlaOp begin, step, count;
  XlaOp lowest, touched;  // int32

 private:
  XlaOp At(XlaOp index) const {
    return xla::Add(begin,
                    xla::Mul(xla::Add(index, ScalarLike(index, 0.5)), step));
  }

  // Hidden from XLA, which would multiply by the reciprocal of a constant. That
  // is rounded, and samples at the edge of an image would fall outside.
  static XlaOp Divisor(XlaOp like, double value) {
    return xla::OptimizationBarrier(FullLike(like, value));
  }

  // BinSamples::Below: with the limit where that is the end of the pixels.
  XlaOp Below(XlaOp limit) const {
    limit = xla::Add(limit, ZerosLike(begin));
    const XlaOp one = ScalarLike(limit, 1), zero = ScalarLike(limit, 0);
    const XlaOp closed =
        xla::Eq(limit, ScalarLike(limit, static_cast<double>(pixels)));
    const auto is_below = [&](XlaOp index) {
      const XlaOp at = At(index);
      return xla::Or(xla::Lt(at, limit), xla::And(closed, xla::Eq(at, limit)));
    };
    const XlaOp quotient = xla::Floor(
        xla::Add(xla::Mul(xla::Sub(limit, begin), xla::Div(one, step)),
                 ScalarLike(limit, 0.5)));
    const XlaOp below =
        xla::Select(xla::Gt(quotient, zero),
                    xla::Select(xla::Lt(quotient, count), quotient, count),
                    ZerosLike(quotient));
    const XlaOp less = xla::Sub(below, one);
    const XlaOp more =
        xla::Select(xla::Gt(step, zero), xla::Add(below, one), count);
    const XlaOp too_many =
        xla::And(xla::Gt(below, zero), xla::Not(is_below(less)));
    const XlaOp too_few = xla::And(xla::Lt(below, count), is_below(below));
    return xla::Select(too_many, less, xla::Select(too_few, more, below));
  }
};

// Goes through the pixels of all bins, and adds to `sums`, of the compute type,
// what `add(operand, sums, index, weight)` makes of one pixel of every bin: its
// index [R, PH, PW, 3], in no image where the weight is 0, and its weight
// [R, PH, PW].
template <typename Add>
absl::StatusOr<XlaOp> SumOverPixels(const RegionDims& dims,
                                    const RoiAlignOptions& options, XlaOp rois,
                                    xla::PrimitiveType computed, XlaOp operand,
                                    XlaOp sums, Add&& add) {
  XlaBuilder* builder = rois.builder();
  const auto side = [&](int64_t k, int64_t bins, int64_t pixels) {
    return SideOfRegions(RoiColumn(rois, dims.rois, k, computed),
                         RoiColumn(rois, dims.rois, k + 2, computed), dims.rois,
                         bins, pixels, options);
  };
  const SideOfRegions y = side(2, dims.pooled_height, dims.height);
  const SideOfRegions x = side(1, dims.pooled_width, dims.width);
  const auto most = [&](XlaOp touched) {
    return xla::ReduceAll(touched, xla::Zero(builder, xla::S32),
                          xla::CreateScalarMaxComputation(xla::S32, builder));
  };
  // row, column, rows, columns, operand, sums, image, then both sides.
  std::vector<XlaOp> state = {xla::Zero(builder, xla::S32),
                              xla::Zero(builder, xla::S32),
                              most(y.touched),
                              most(x.touched),
                              operand,
                              sums,
                              RoiImages(rois, dims, computed)};
  const size_t first = state.size();
  for (const SideOfRegions& each : {y, x}) {
    for (const XlaOp member : each.members()) state.push_back(member);
  }
  const auto condition = [](absl::Span<const XlaOp> s, XlaBuilder*) {
    return absl::StatusOr<XlaOp>(
        xla::And(xla::Lt(s[0], s[2]), xla::Gt(s[3], ZerosLike(s[3]))));
  };
  const auto body = [&](absl::Span<const XlaOp> s, XlaBuilder*) {
    const SideOfRegions rows(dims.height, s.subspan(first));
    const SideOfRegions columns(dims.width,
                                s.subspan(first + SideOfRegions::kMembers));
    const std::vector<int64_t> sizes = {dims.rois, dims.pooled_height,
                                        dims.pooled_width};
    const auto over_bins = [&](XlaOp part, std::vector<int64_t> dimensions) {
      return xla::BroadcastInDim(part, sizes, dimensions);
    };
    const XlaOp image = over_bins(s[6], {0});
    const XlaOp none = FullLike(image, static_cast<int32_t>(dims.images));
    XlaOp weight = xla::Mul(over_bins(rows.Weight(s[0]), {0, 1}),
                            over_bins(columns.Weight(s[1]), {0, 2}));
    weight = xla::Select(xla::Lt(image, none), weight, ZerosLike(weight));
    const XlaOp index =
        PixelIndex(xla::Select(xla::Ne(weight, ZerosLike(weight)), image, none),
                   over_bins(rows.Pixel(s[0]), {0, 1}),
                   over_bins(columns.Pixel(s[1]), {0, 2}), sizes);

    std::vector<XlaOp> next(s.begin(), s.end());
    const XlaOp one = ScalarLike(s[1], 1);
    const XlaOp last = xla::Ge(xla::Add(s[1], one), s[3]);
    next[0] = xla::Select(last, xla::Add(s[0], one), s[0]);
    next[1] = xla::Select(last, ZerosLike(s[1]), xla::Add(s[1], one));
    next[5] = add(s[4], s[5], index, weight);
    return absl::StatusOr<std::vector<XlaOp>>(std::move(next));
  };
  auto result =
      xla::WhileLoopHelper(condition, body, state, "RoiAlign", builder);
  if (!result.ok()) return result.status();
  return (*result)[5];
}

// The weights of all bins for all channels.
XlaOp OverChannels(XlaOp weight, const RegionDims& dims) {
  return xla::BroadcastInDim(
      weight, {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels},
      {0, 1, 2});
}

class RoiAlignXlaOp : public XlaOpKernel {
 public:
  explicit RoiAlignXlaOp(OpKernelConstruction* context) : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, attributes_.Read(context, type_string()));
  }

  void Compile(XlaOpKernelContext* context) override {
    TensorShape data, rois, pooled;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &data));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &rois));
    RegionDims dims{};
    OP_REQUIRES_OK(context, ReadRoiAlignDims(type_string(), "data", data, rois,
                                             attributes_, &dims, &pooled));
    const xla::PrimitiveType type = context->input_xla_type(0);
    const xla::PrimitiveType computed = ComputedType(type);
    XlaOp sums = xla::Broadcast(xla::Zero(context->builder(), computed),
                                pooled.dim_sizes());
    if (pooled.num_elements() != 0 && data.num_elements() != 0) {
      const auto result = SumOverPixels(
          dims, attributes_.options(), context->Input(1), computed,
          context->Input(0), sums,
          [&](XlaOp images, XlaOp sum, XlaOp index, XlaOp weight) {
            const XlaOp pixels = xla::ConvertElementType(
                GatherPixels(images, index, /*rank=*/4, dims.channels),
                computed);
            // A pixel of weight 0 is not read.
            const XlaOp weights = OverChannels(weight, dims);
            return xla::Add(
                sum, xla::Select(xla::Ne(weights, ZerosLike(weights)),
                                 xla::Mul(weights, pixels), ZerosLike(pixels)));
          });
      OP_REQUIRES_OK(context, result.status());
      sums = *result;
    }
    context->SetOutput(0, xla::ConvertElementType(sums, type));
  }

 private:
  RoiAlignAttributes attributes_;
};
REGISTER_XLA_OP(Name("TfExt>RoiAlign"), RoiAlignXlaOp);

class RoiAlignGradXlaOp : public XlaOpKernel {
 public:
  explicit RoiAlignGradXlaOp(OpKernelConstruction* context)
      : XlaOpKernel(context) {
    OP_REQUIRES_OK(context, attributes_.Read(context, type_string()));
  }

  void Compile(XlaOpKernelContext* context) override {
    TensorShape gradients, rois, data, pooled;
    OP_REQUIRES_OK(context, XlaInputShape(context, 0, &gradients));
    OP_REQUIRES_OK(context, XlaInputShape(context, 1, &rois));
    OP_REQUIRES_OK(context, context->ConstantInputAsShape(2, &data));
    RegionDims dims{};
    OP_REQUIRES_OK(context,
                   ReadRoiAlignDims(type_string(), "data_shape", data, rois,
                                    attributes_, &dims, &pooled));
    OP_REQUIRES_OK(context,
                   CheckRoiAlignGradients(type_string(), gradients, pooled));
    const xla::PrimitiveType type = context->input_xla_type(0);
    const xla::PrimitiveType computed = ComputedType(type);
    XlaOp sums = xla::Broadcast(xla::Zero(context->builder(), computed),
                                data.dim_sizes());
    if (pooled.num_elements() != 0 && data.num_elements() != 0) {
      const auto result = SumOverPixels(
          dims, attributes_.options(), context->Input(1), computed,
          context->Input(0), sums,
          [&](XlaOp upstream, XlaOp sum, XlaOp index, XlaOp weight) {
            const XlaOp updates =
                xla::Mul(OverChannels(weight, dims),
                         xla::ConvertElementType(upstream, computed));
            return AddPixels(sum, index, updates, /*rank=*/4, computed);
          });
      OP_REQUIRES_OK(context, result.status());
      sums = *result;
    }
    context->SetOutput(0, xla::ConvertElementType(sums, type));
  }

 private:
  RoiAlignAttributes attributes_;
};
REGISTER_XLA_OP(
    Name("TfExt>RoiAlignGrad").CompileTimeConstantInput("data_shape"),
    RoiAlignGradXlaOp);

}  // namespace
}  // namespace tensorflow_ext
