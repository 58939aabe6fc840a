// Each step processes one pixel of every bin, times its weights. The weights have a closed form:
// see MakeBinWeights in roi_align.h.

#include <cstdint>
#include <limits>
#include <vector>

#include "tensorflow_ext/ops/roi_align/roi_align.h"
#include "tensorflow_ext/ops/roi_align/roi_align_checks.h"
#include "tensorflow_ext/xla/images.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::Select;
using xla::XlaOp;

// BinSamples of roi_align.h for every region and bin along one side, and the `touched` pixels that
// they touch: either successive pixels from the lower one of `first_sample` on, or two per sample,
// whichever is fewer. With few samples in a large bin, most pixels are between samples. All are [R,
// bins].
struct SideOfRegions {
  static constexpr int kMembers = 6;

  SideOfRegions(XlaOp first, XlaOp last, int64_t num_rois, int64_t bins, int64_t pixels,
                const RoiAlignOptions& options)
      : pixels(pixels) {
    // MakeAlignedSide.
    const double offset = options.aligned ? 0.5 : 0.0;
    XlaOp start = RoundedProduct(first, options.spatial_scale) - offset;
    XlaOp size = RoundedProduct(last, options.spatial_scale) - offset - start;
    const XlaOp finite = xla::IsFinite(first * options.spatial_scale) &
                         xla::IsFinite(last * options.spatial_scale) & xla::IsFinite(start) &
                         xla::IsFinite(size);
    start = Select(finite, start, 0);
    size = Select(finite, size, 0);
    if (!options.aligned) size = xla::Max(size, 1);
    // Without the barrier, XLA would merge the two divisions into one.
    XlaOp bin = xla::OptimizationBarrier(size / Divisor(size, bins));
    XlaOp samples =
        options.sampling_ratio > 0 ? Divisor(bin, options.sampling_ratio) : xla::Ceil(bin);
    const XlaOp any = finite & (samples > 0);
    samples = xla::Max(samples, 1);

    const std::vector<int64_t> sizes = {num_rois, bins};
    const auto over_bins = [&](XlaOp region) { return xla::BroadcastInDim(region, sizes, {0}); };
    bin = over_bins(bin);
    count = over_bins(samples);
    const XlaOp i = xla::ConvertElementType(
        xla::Iota(first.builder(), xla::S32, sizes, /*dimension=*/1), xla::ElementType(first));
    step = bin / count;
    begin = over_bins(start) + RoundedProduct(i, bin);
    begin = Select(step < 0, begin + bin, begin);
    step = xla::Abs(step);

    first_sample = Below(xla::FullLike(begin, -1));
    const XlaOp end = Below(xla::FullLike(begin, pixels));
    const XlaOp lowest = PixelBelow(first_sample);
    const XlaOp highest = xla::Min(PixelBelow(end - 1) + 1, pixels - 1);
    const XlaOp following = highest - lowest + 1;
    // There may be more samples than an int32 can count.
    const XlaOp of_samples =
        xla::ConvertElementType(xla::Min(end - first_sample, pixels), xla::S32) * 2;
    by_samples = of_samples < following;
    touched = Select(over_bins(any) & (first_sample < end), xla::Min(of_samples, following), 0);
  }

  // Conversion to and from the state of a loop.
  SideOfRegions(int64_t pixels, xla::State s)
      : pixels(pixels),
        begin(s[0]),
        step(s[1]),
        count(s[2]),
        first_sample(s[3]),
        by_samples(s[4]),
        touched(s[5]) {}
  std::vector<XlaOp> members() const {
    return {begin, step, count, first_sample, by_samples, touched};
  }

  // Pixel `k` of those touched, an int32 scalar, and its weight. The weight is 0 if there are fewer
  // pixels, or if the pixel occurred before.
  XlaOp Pixel(XlaOp k) const {
    return PixelBelow(Select(by_samples, Sample(k), first_sample)) + Select(by_samples, k & 1, k);
  }
  XlaOp Weight(XlaOp k) const {
    const XlaOp index = Pixel(k);
    const XlaOp earlier = PixelBelow(Sample(k) - 1) + 1;
    const XlaOp is_new = (!by_samples) | (k < 2) | (index > earlier);
    const XlaOp pixel = xla::ConvertElementType(index, xla::ElementType(begin));
    const XlaOp before = Below(pixel - 1), here = Below(pixel), after = Below(pixel + 1);
    // The number of samples in the grid cells below and above the pixel, and their mean distance
    // from the cell's start.
    const auto cell = [&](XlaOp first, XlaOp last, XlaOp at, XlaOp* samples) {
      *samples = xla::Max(last - first, 0);
      const XlaOp mean = (At(first) - at) + step * (*samples - 1) * 0.5;
      return xla::Clamp(0, mean, 1);
    };
    XlaOp lower, upper;
    XlaOp lower_mean = cell(before, here, pixel - 1, &lower);
    XlaOp upper_mean = cell(here, after, pixel, &upper);
    // Beyond the first and the last pixel, samples count only for that pixel.
    lower_mean = Select(index == 0, 1, lower_mean);
    upper_mean = Select(index == pixels - 1, 0, upper_mean);
    const XlaOp sum = lower * lower_mean + upper * (1 - upper_mean);
    return Select((k < touched) & is_new & (index < pixels), sum / count, 0);
  }

  int64_t pixels;
  XlaOp begin, step, count;
  XlaOp first_sample, by_samples;
  XlaOp touched;  // int32

 private:
  // The sample of pixel `k`, if pixels are found by samples.
  XlaOp Sample(XlaOp k) const {
    return first_sample +
           xla::ConvertElementType(xla::ShiftRightLogical(k, 1), xla::ElementType(begin));
  }

  // The lower of the two pixels that a sample touches, an int32.
  XlaOp PixelBelow(XlaOp sample) const {
    return xla::ConvertElementType(xla::Clamp(0, At(sample), pixels - 1), xla::S32);
  }

  XlaOp At(XlaOp index) const { return begin + RoundedProduct(index + 0.5, step); }

  // RoundedProduct of roi_align.h. XLA would round only the sum. The maximum prevents this, and
  // changes only an infinite product.
  template <typename Y>
  static XlaOp RoundedProduct(XlaOp x, Y y) {
    const XlaOp product = x * y;
    const bool is_double = xla::ElementType(product) == xla::F64;
    return xla::Max(product, is_double ? std::numeric_limits<double>::lowest()
                                       : std::numeric_limits<float>::lowest());
  }

  // A divisor that XLA does not see. For a constant, XLA would multiply by the rounded reciprocal,
  // and samples at the edge of an image would be outside.
  static XlaOp Divisor(XlaOp like, int64_t value) {
    return xla::OptimizationBarrier(xla::FullLike(like, value));
  }

  // BinSamples::Below, with the limit included if it is the end of the pixels.
  XlaOp Below(XlaOp limit) const {
    const XlaOp closed = limit == pixels;
    const auto is_below = [&](XlaOp index) {
      const XlaOp at = At(index);
      return (at < limit) | (closed & (at == limit));
    };
    const XlaOp quotient = xla::Floor(RoundedProduct(limit - begin, 1 / step) + 0.5);
    const XlaOp below = Select(quotient > 0, Select(quotient < count, quotient, count), 0);
    const XlaOp less = below - 1;
    const XlaOp more = Select(step > 0, below + 1, count);
    const XlaOp too_many = (below > 0) & !is_below(less);
    const XlaOp too_few = (below < count) & is_below(below);
    return Select(too_many, less, Select(too_few, more, below));
  }
};

// Iterates over the pixels of all bins. For one pixel of every bin, it adds the result of
// `add(operand, sums, index, weight)` to `sums`, which has the compute type. The index is [R, PH,
// PW, 3] and names no image where the weight is 0. The weight is [R, PH, PW].
template <typename Add>
absl::StatusOr<XlaOp> SumOverPixels(const RegionDims& dims, const RoiAlignOptions& options,
                                    XlaOp rois, XlaOp operand, XlaOp sums, Add&& add) {
  const auto side = [&](int64_t k, int64_t bins, int64_t pixels) {
    return SideOfRegions(RoiColumn(rois, dims.rois, k), RoiColumn(rois, dims.rois, k + 2),
                         dims.rois, bins, pixels, options);
  };
  const SideOfRegions y = side(2, dims.pooled_height, dims.height);
  const SideOfRegions x = side(1, dims.pooled_width, dims.width);
  const XlaOp zero = xla::ConstantR0(rois.builder(), xla::S32, 0);
  // State: row, column, rows, columns, operand, sums, image, both sides.
  std::vector<XlaOp> state = {zero,
                              zero,
                              xla::ReduceMaxAll(y.touched, 0),
                              xla::ReduceMaxAll(x.touched, 0),
                              operand,
                              sums,
                              RoiImages(rois, dims)};
  const size_t first = state.size();
  for (const SideOfRegions& each : {y, x}) {
    for (const XlaOp member : each.members()) state.push_back(member);
  }
  const auto condition = [](xla::State s) { return (s[0] < s[2]) & (s[3] > 0); };
  const auto body = [&](xla::State s) {
    const SideOfRegions rows(dims.height, s.subspan(first));
    const SideOfRegions columns(dims.width, s.subspan(first + SideOfRegions::kMembers));
    const std::vector<int64_t> sizes = {dims.rois, dims.pooled_height, dims.pooled_width};
    const auto over_bins = [&](XlaOp part, xla::Sizes dimensions) {
      return xla::BroadcastInDim(part, sizes, dimensions);
    };
    const XlaOp image = over_bins(s[6], {0});
    XlaOp weight = over_bins(rows.Weight(s[0]), {0, 1}) * over_bins(columns.Weight(s[1]), {0, 2});
    weight = Select(image < dims.images, weight, 0);
    const XlaOp index =
        PixelIndex(Select(weight != 0, image, dims.images), over_bins(rows.Pixel(s[0]), {0, 1}),
                   over_bins(columns.Pixel(s[1]), {0, 2}), sizes);

    std::vector<XlaOp> next(s.begin(), s.end());
    const XlaOp last = s[1] + 1 >= s[3];
    next[0] = Select(last, s[0] + 1, s[0]);
    next[1] = Select(last, 0, s[1] + 1);
    next[5] = add(s[4], s[5], index, weight);
    return next;
  };
  const auto result = xla::WhileLoop("RoiAlign", condition, body, state);
  if (!result.ok()) return result.status();
  return (*result)[5];
}

// The weights of all bins for all channels.
XlaOp OverChannels(XlaOp weight, const RegionDims& dims) {
  return xla::BroadcastInDim(
      weight, {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels}, {0, 1, 2});
}

class RoiAlignLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return attributes_.Read(context, context->op());
  }

  absl::Status Compile(LoweringContext* context) const override {
    TensorShape data, rois, pooled;
    TF_RETURN_IF_ERROR(context->InputShape(0, &data));
    TF_RETURN_IF_ERROR(context->InputShape(1, &rois));
    RegionDims dims{};
    TF_RETURN_IF_ERROR(
        ReadRoiAlignDims(context->op(), "data", data, rois, attributes_, &dims, &pooled));
    const xla::PrimitiveType computed = context->ComputeType(0);
    absl::StatusOr<XlaOp> sums = xla::Zeros(context->builder(), computed, pooled.dim_sizes());
    if (pooled.num_elements() != 0 && data.num_elements() != 0) {
      sums = SumOverPixels(dims, attributes_.options(), context->Input(1), context->Input(0), *sums,
                           [&](XlaOp images, XlaOp sum, XlaOp index, XlaOp weight) {
                             const XlaOp pixels =
                                 xla::ConvertElementType(xla::GatherNd(images, index), computed);
                             // A pixel of weight 0 is not read.
                             const XlaOp weights = OverChannels(weight, dims);
                             return sum + Select(weights != 0, weights * pixels, 0);
                           });
      TF_RETURN_IF_ERROR(sums.status());
    }
    context->SetOutput(0, *sums);
    return absl::OkStatus();
  }

  RoiAlignAttributes attributes_;
};
REGISTER_LOWERING(Name("TfExt>RoiAlign"), RoiAlignLowering);

class RoiAlignGradLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return attributes_.Read(context, context->op());
  }

  absl::Status Compile(LoweringContext* context) const override {
    TensorShape gradients, rois, data, pooled;
    TF_RETURN_IF_ERROR(context->InputShape(0, &gradients));
    TF_RETURN_IF_ERROR(context->InputShape(1, &rois));
    TF_RETURN_IF_ERROR(context->ConstantInputAsShape(2, &data));
    RegionDims dims{};
    TF_RETURN_IF_ERROR(
        ReadRoiAlignDims(context->op(), "data_shape", data, rois, attributes_, &dims, &pooled));
    TF_RETURN_IF_ERROR(CheckRoiAlignGradients(context->op(), gradients, pooled));
    const xla::PrimitiveType computed = context->ComputeType(0);
    absl::StatusOr<XlaOp> sums = xla::Zeros(context->builder(), computed, data.dim_sizes());
    if (pooled.num_elements() != 0 && data.num_elements() != 0) {
      sums =
          SumOverPixels(dims, attributes_.options(), context->Input(1), context->Input(0), *sums,
                        [&](XlaOp upstream, XlaOp sum, XlaOp index, XlaOp weight) {
                          return xla::ScatterAddNd(sum, index,
                                                   OverChannels(weight, dims) *
                                                       xla::ConvertElementType(upstream, computed));
                        });
      TF_RETURN_IF_ERROR(sums.status());
    }
    context->SetOutput(0, *sums);
    return absl::OkStatus();
  }

  RoiAlignAttributes attributes_;
};
REGISTER_LOWERING(Name("TfExt>RoiAlignGrad").CompileTimeConstantInput("data_shape"),
                  RoiAlignGradLowering);

}  // namespace
}  // namespace tensorflow_ext
