#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensorflow_ext/ops/roi_pool/roi_pool.h"
#include "tensorflow_ext/ops/roi_pool/roi_pool_checks.h"
#include "tensorflow_ext/xla/images.h"
#include "tensorflow_ext/xla/lowering.h"

namespace tensorflow_ext {
namespace {

using tensorflow::TensorShape;
using xla::Select;
using xla::XlaOp;

// ----- RoiPool: the bins of roi_pool.h -----
// Squares of pixels, whose maxima are computed first, cover each bin. Each step
// of a loop takes one square of every bin, so the number of steps is that of
// the bin with the most squares, not the most pixels.

// Values of the images' type, and their positions in the image: row * width + column, int32.
struct Maxima {
  XlaOp values, positions;
};

// True where a value or position is replaced.
struct Replaces {
  XlaOp value, position;
};

// Finds where `next` replaces `maxima`. The larger value wins, and NaN is the largest. Among
// equals, the one with the smaller position wins, in any order. The values do not depend on the
// positions, which XLA omits if argmax is unused. So if a bin has zeros of both signs, either may
// be the maximum.
Replaces Compare(const Maxima& maxima, const Maxima& next) {
  const xla::PrimitiveType computed = xla::ComputeType(xla::ElementType(maxima.values));
  const XlaOp largest = xla::ConvertElementType(maxima.values, computed);
  const XlaOp value = xla::ConvertElementType(next.values, computed);
  // ReplacesMaximum.
  const XlaOp larger = xla::Not(value <= largest) & (largest == largest);
  const XlaOp as_large = (value == largest) | ((value != value) & (largest != largest));
  return {larger, larger | (as_large & (next.positions < maxima.positions))};
}

Maxima Replace(const Maxima& maxima, const Maxima& next, const Replaces& replaces) {
  return {Select(replaces.value, next.values, maxima.values),
          Select(replaces.position, next.positions, maxima.positions)};
}

// The side lengths of the squares in pixels: 1, 2, 4, 8, up to the size of the images. Each takes
// as much memory as the images, and twice as much if argmax is used.
std::vector<int64_t> SquareSides(const RoiPoolDims& dims) {
  constexpr int64_t kMost = 8;
  std::vector<int64_t> sides = {1};
  while (2 * sides.back() <= kMost && 2 * sides.back() <= std::min(dims.height, dims.width)) {
    sides.push_back(2 * sides.back());
  }
  return sides;
}

// The maxima of the squares, indexed by their top left pixels: [sides * N, H, W, C], with the
// images of each side length in turn. Values of a square that is partly outside its image are
// meaningless.
Maxima MaximaOfSquares(XlaOp images, const RoiPoolDims& dims) {
  const std::vector<int64_t> sizes = {dims.images, dims.height, dims.width, dims.channels};
  const auto iota = [&](int64_t dimension) {
    return xla::Iota(images.builder(), xla::S32, sizes, dimension);
  };
  Maxima maxima = {images, iota(1) * dims.width + iota(2)};
  std::vector<XlaOp> values, positions;
  for (const int64_t side : SquareSides(dims)) {
    for (const int64_t axis : {1, 2}) {
      if (side == 1) continue;
      std::vector<xla::Padding> beyond(4);
      beyond[axis].high = side / 2;
      const auto neighbours = [&](XlaOp x) {
        return xla::Pad(xla::SliceInDim(x, side / 2, sizes[axis], axis), beyond);
      };
      const Maxima next = {neighbours(maxima.values), neighbours(maxima.positions)};
      maxima = Replace(maxima, next, Compare(maxima, next));
    }
    values.push_back(maxima.values);
    positions.push_back(maxima.positions);
  }
  return {xla::ConcatInDim(values, 0), xla::ConcatInDim(positions, 0)};
}

class RoiPoolLowering : public Lowering {
  absl::Status ReadAttributes(LoweringConstruction* context) override {
    return attributes_.Read(context, context->op());
  }

  absl::Status Compile(LoweringContext* context) const override {
    TensorShape data_shape, rois_shape, shape;
    TF_RETURN_IF_ERROR(context->InputShape(0, &data_shape));
    TF_RETURN_IF_ERROR(context->InputShape(1, &rois_shape));
    RoiPoolDims dims{};
    dims.pooled_height = attributes_.pooled_height;
    dims.pooled_width = attributes_.pooled_width;
    TF_RETURN_IF_ERROR(ReadImageDims(context->op(), "data", data_shape, &dims));
    TF_RETURN_IF_ERROR(ReadRoiDims(context->op(), rois_shape, &dims));
    TF_RETURN_IF_ERROR(PooledShape(context->op(), dims, &shape));
    const auto sizes = shape.dim_sizes();
    const XlaOp no_maximum = xla::Zeros(context->builder(), context->InputType(0), sizes);
    const XlaOp no_position = xla::Full(context->builder(), xla::S32, sizes, -1);
    if (dims.pooled_size() == 0 || dims.images * dims.image_size() == 0) {
      context->SetOutput(0, no_maximum);
      context->SetOutput(1, no_position);
      return absl::OkStatus();
    }

    const XlaOp rois = context->Input(1);
    const Limits y = BinLimits(rois, dims, 2, dims.pooled_height, dims.height);
    const Limits x = BinLimits(rois, dims, 1, dims.pooled_width, dims.width);
    // The limits of every bin, [R, PH, PW].
    const auto over_bins = [&](XlaOp side, xla::Sizes dimensions) {
      return xla::BroadcastInDim(side, {dims.rois, dims.pooled_height, dims.pooled_width},
                                 dimensions);
    };
    const XlaOp top = over_bins(y.begin, {0, 1});
    const XlaOp left = over_bins(x.begin, {0, 2});
    const XlaOp image = over_bins(RoiImages(rois, dims), {0});
    const XlaOp height = over_bins(y.end, {0, 1}) - top;
    const XlaOp width = over_bins(x.end, {0, 2}) - left;
    // The largest squares that fit into the bin. The last ones overlap.
    const std::vector<int64_t> sides = SquareSides(dims);
    XlaOp list = xla::ZerosLike(top), side = xla::FullLike(top, 1);
    for (size_t k = 1; k < sides.size(); ++k) {
      const XlaOp fits = xla::Min(height, width) >= sides[k];
      list = Select(fits, static_cast<int64_t>(k), list);
      side = Select(fits, sides[k], side);
    }
    const XlaOp down = (height + side - 1) / side;
    const XlaOp across = (width + side - 1) / side;
    const XlaOp count = Select(image < dims.images, down * across, 0);
    const Maxima squares = MaximaOfSquares(context->Input(0), dims);

    // The state is step, steps, then the values that Step reads.
    const auto result = xla::WhileLoop(
        "RoiPool", [](xla::State s) { return s[0] < s[1]; },
        [&](xla::State s) { return Step(dims, s); },
        {xla::ConstantR0(context->builder(), xla::S32, 0), xla::ReduceMaxAll(count, 0),
         squares.values, squares.positions, list * dims.images + image, top, left,
         top + height - side, left + width - side, side, xla::Max(across, 1), count, no_maximum,
         no_position});
    TF_RETURN_IF_ERROR(result.status());
    const XlaOp position = (*result)[13];
    const XlaOp channel = xla::Iota(context->builder(), xla::S32, sizes, /*dimension=*/3);
    context->SetOutput(0, (*result)[12]);
    context->SetOutput(1, Select(position < 0, position, position * dims.channels + channel));
    return absl::OkStatus();
  }

  struct Limits {
    XlaOp begin, end;  // int32 [R, bins]
  };

  // RoiBin for every region and bin along a side. The corners of the side are the columns `first`
  // and `first` + 2 of rois.
  Limits BinLimits(XlaOp rois, const RoiPoolDims& dims, int64_t first, int64_t bins,
                   int64_t pixels) const {
    const XlaOp low = RoiColumn(rois, dims.rois, first);
    const XlaOp high = RoiColumn(rois, dims.rois, first + 2);
    const XlaOp begin = Corner(low);
    const XlaOp length = xla::Max(Corner(high) - begin + 1, 1);
    const auto over_bins = [&](XlaOp region) {
      return xla::BroadcastInDim(region, {dims.rois, bins}, {0});
    };
    const XlaOp all_begin = over_bins(begin), all_length = over_bins(length);
    const XlaOp i = xla::Iota(rois.builder(), xla::S64, {dims.rois, bins},
                              /*dimension=*/1);
    const auto clip = [&](XlaOp limit) {
      return xla::ConvertElementType(xla::Clamp(0, all_begin + limit, pixels), xla::S32);
    };
    const XlaOp from = clip(i * all_length / bins);
    const XlaOp to = clip(((i + 1) * all_length + (bins - 1)) / bins);
    // With a NaN corner, the bins are empty.
    const XlaOp valid = over_bins((low == low) & (high == high));
    return {from, Select(valid, xla::Max(to, from), from)};
  }

  // RoiCorner, int64 [R]. NaN gives 0.
  XlaOp Corner(XlaOp corner) const {
    constexpr double kMost = static_cast<double>(kMaxRoiCorner);
    const XlaOp clamped = xla::Clamp(-kMost, xla::Round(corner * attributes_.spatial_scale), kMost);
    return xla::ConvertElementType(Select(corner == corner, clamped, 0), xla::S64);
  }

  static std::vector<XlaOp> Step(const RoiPoolDims& dims, xla::State s) {
    const XlaOp step = s[0], image = s[4], top = s[5], left = s[6], last_top = s[7],
                last_left = s[8], side = s[9], across = s[10], count = s[11];
    const XlaOp row = xla::Min(top + step / across * side, last_top);
    const XlaOp column = xla::Min(left + step % across * side, last_left);
    const std::vector<int64_t> bins = {dims.rois, dims.pooled_height, dims.pooled_width};
    // GatherNd clamps the indices of finished bins.
    const XlaOp index = PixelIndex(image, row, column, bins);
    const Maxima maxima = {s[12], s[13]};
    const Maxima next = {xla::GatherNd(s[2], index), xla::GatherNd(s[3], index)};
    Replaces replaces = Compare(maxima, next);
    const XlaOp counts = xla::BroadcastInDim(
        step < count, {dims.rois, dims.pooled_height, dims.pooled_width, dims.channels}, {0, 1, 2});
    const XlaOp is_first = step == 0;
    replaces.value = counts & (replaces.value | is_first);
    replaces.position = counts & (replaces.position | is_first);
    const Maxima replaced = Replace(maxima, next, replaces);

    std::vector<XlaOp> state(s.begin(), s.end());
    state[0] = step + 1;
    state[12] = replaced.values;
    state[13] = replaced.positions;
    return state;
  }

  RegionAttributes attributes_;
};
REGISTER_LOWERING(Name("TfExt>RoiPool"), RoiPoolLowering);

// ----- The gradients: a scatter-add and a gather over the same indices. -----

// (image, element) of every entry of argmax, int32 [bins * C, 2]. An entry that points at nothing
// has the image `images`.
XlaOp PooledIndices(XlaOp rois, XlaOp argmax, const RoiPoolDims& dims) {
  const std::vector<int64_t> sizes = {dims.rois, dims.pooled_height, dims.pooled_width,
                                      dims.channels};
  const XlaOp channel = xla::Iota(rois.builder(), xla::S32, sizes, /*dimension=*/3);
  const XlaOp image = xla::BroadcastInDim(RoiImages(rois, dims), sizes, {0});
  // IsElementOfChannel.
  const XlaOp valid =
      (argmax >= 0) & (argmax < dims.image_size()) & (argmax % dims.channels == channel);
  const std::vector<int64_t> flat = {dims.pooled_size(), 1};
  return xla::ConcatInDim(
      {xla::Reshape(Select(valid, image, dims.images), flat), xla::Reshape(argmax, flat)},
      /*dimension=*/1);
}

class RoiPoolGradLowering : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    TensorShape gradients, rois, argmax, shape;
    TF_RETURN_IF_ERROR(context->InputShape(0, &gradients));
    TF_RETURN_IF_ERROR(context->InputShape(1, &rois));
    TF_RETURN_IF_ERROR(context->InputShape(2, &argmax));
    TF_RETURN_IF_ERROR(context->ConstantInputAsShape(3, &shape));
    RoiPoolDims dims{};
    TF_RETURN_IF_ERROR(ReadImageDims(context->op(), "data_shape", shape, &dims));
    TF_RETURN_IF_ERROR(ReadRoiDims(context->op(), rois, &dims));
    TF_RETURN_IF_ERROR(ReadArgmaxDims(context->op(), argmax, &dims));
    TF_RETURN_IF_ERROR(CheckPooledGradients(context->op(), gradients, argmax));
    XlaOp sums =
        xla::Zeros(context->builder(), context->ComputeType(0), {dims.images, dims.image_size()});
    if (dims.pooled_size() != 0 && shape.num_elements() != 0) {
      sums = xla::ScatterAddNd(sums, PooledIndices(context->Input(1), context->Input(2), dims),
                               xla::Reshape(context->ComputeInput(0), {dims.pooled_size()}));
    }
    context->SetOutput(0, xla::Reshape(sums, shape.dim_sizes()));
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>RoiPoolGrad").CompileTimeConstantInput("data_shape"),
                  RoiPoolGradLowering);

class RoiPoolGradGradLowering : public Lowering {
  absl::Status Compile(LoweringContext* context) const override {
    TensorShape gradients, rois, argmax;
    TF_RETURN_IF_ERROR(context->InputShape(0, &gradients));
    TF_RETURN_IF_ERROR(context->InputShape(1, &rois));
    TF_RETURN_IF_ERROR(context->InputShape(2, &argmax));
    RoiPoolDims dims{};
    TF_RETURN_IF_ERROR(ReadImageDims(context->op(), "gradients", gradients, &dims));
    TF_RETURN_IF_ERROR(ReadRoiDims(context->op(), rois, &dims));
    TF_RETURN_IF_ERROR(ReadArgmaxDims(context->op(), argmax, &dims));
    XlaOp gathered = xla::Zeros(context->builder(), context->InputType(0), {dims.pooled_size()});
    if (dims.pooled_size() != 0 && dims.images * dims.image_size() != 0) {
      const XlaOp indices = PooledIndices(context->Input(1), context->Input(2), dims);
      const XlaOp image =
          xla::Reshape(xla::SliceInDim(indices, 0, 1, /*dimension=*/1), {dims.pooled_size()});
      // GatherNd clamps an index. The value for a clamped index does not count.
      gathered = Select(
          image < dims.images,
          xla::GatherNd(xla::Reshape(context->Input(0), {dims.images, dims.image_size()}), indices),
          gathered);
    }
    context->SetOutput(0, xla::Reshape(gathered, argmax.dim_sizes()));
    return absl::OkStatus();
  }
};
REGISTER_LOWERING(Name("TfExt>RoiPoolGradGrad"), RoiPoolGradGradLowering);

}  // namespace
}  // namespace tensorflow_ext
