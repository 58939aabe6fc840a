// Region-of-interest alignment (K. He, G. Gkioxari, P. Dollar, R. Girshick, "Mask R-CNN", ICCV
// 2017, section 3) as torchvision and Detectron2 define it, without TensorFlow headers.
//
// A bin is the mean of bilinear samples on a grid. Both the grid and bilinear interpolation are
// products of a row's and a column's part, so the mean is
//
//   pooled[i, j] = sum over y, x of row_weight[i, y] * column_weight[j, x] *
//                  data[y, x]
//
// where a bin's weight of a pixel row is the mean of the linear interpolation weights of its sample
// rows. These weights are computed once per region. The cost of a bin then depends on the pixels
// that it touches, not on the number of samples.

#pragma once

#include <cmath>
#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/regions.h"

namespace tensorflow_ext {

struct RoiAlignOptions {
  float spatial_scale;
  int64_t sampling_ratio;  // 0: as many samples as pixels in a bin, rounded up
  bool aligned;
};

// x * y, rounded before anything is added. A device that rounds only the sum puts a sample outside
// an image where others have it on the edge.
template <typename F>
TENSORFLOW_EXT_HOST_DEVICE F RoundedProduct(F x, F y) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(F) == sizeof(float)) {
    return __fmul_rn(x, y);
  } else {
    return __dmul_rn(x, y);
  }
#else
  return x * y;  // compiled with -ffp-contract=off
#endif
}

// One side of a region: its start, the extent of a bin, which may be negative, and the samples
// along a bin. Without samples, the bins are 0.
template <typename F>
struct AlignedSide {
  F begin, bin, samples;
};

template <typename F>
TENSORFLOW_EXT_HOST_DEVICE AlignedSide<F> MakeAlignedSide(F first, F last, int64_t bins,
                                                          const RoiAlignOptions& options) {
  const F scale = static_cast<F>(options.spatial_scale);
  const F offset = options.aligned ? F(0.5) : F(0);
  const F begin = RoundedProduct(first, scale) - offset;
  F size = RoundedProduct(last, scale) - offset - begin;
  // Tests for NaN and infinity, which the least size would hide.
  if (!(begin - begin == F(0) && size - size == F(0))) return {0, 0, 0};
  if (!options.aligned && size < F(1)) size = F(1);
  const F bin = size / static_cast<F>(bins);
  return {begin, bin,
          options.sampling_ratio > 0 ? static_cast<F>(options.sampling_ratio) : std::ceil(bin)};
}

// The samples of one bin along a side, in ascending order: `count` samples, `step` >= 0 apart.
// Counts and indices have type F because they may exceed the range of integers. Samples beyond the
// precision of F are outside every image.
template <typename F>
struct BinSamples {
  F begin, step, count, per_step;

  TENSORFLOW_EXT_HOST_DEVICE BinSamples(const AlignedSide<F>& side, int64_t i)
      : begin(side.begin + RoundedProduct(static_cast<F>(i), side.bin)),
        step(side.bin / side.samples),
        count(side.samples) {
    if (step < F(0)) {
      begin += side.bin;
      step = -step;
    }
    per_step = F(1) / step;
  }

  TENSORFLOW_EXT_HOST_DEVICE F At(F index) const {
    return begin + RoundedProduct(index + F(0.5), step);
  }

  // The number of samples below `limit`, or at most `limit` if `with_limit`.
  TENSORFLOW_EXT_HOST_DEVICE F Below(F limit, bool with_limit) const {
    F below = std::floor(RoundedProduct(limit - begin, per_step) + F(0.5));
    // NaN, from 0 * infinity, becomes 0 here.
    below = below > F(0) ? (below < count ? below : count) : F(0);
    // The product is rounded, so it may be off by one sample.
    if (below > F(0) && !IsBelow(below - F(1), limit, with_limit)) {
      below -= F(1);
    } else if (below < count && IsBelow(below, limit, with_limit)) {
      below = step > F(0) ? below + F(1) : count;
    }
    return below;
  }

 private:
  TENSORFLOW_EXT_HOST_DEVICE bool IsBelow(F index, F limit, bool with_limit) const {
    return At(index) < limit || (with_limit && At(index) == limit);
  }
};

// A row or column of pixels that a bin touches, and its weight in the bin.
template <typename F>
struct PixelWeight {
  F weight;
  int32_t pixel;
};

// Entries [begin, end) of a region's weights.
struct WeightRange {
  int64_t begin, end;
};

// Successive bins share at most two pixels, so the entries of bin i have room from its first pixel
// + kEntriesOfABin * i on. (The third entry is for neighbours whose samples are out of order
// because of rounding.)
constexpr int64_t kEntriesOfABin = 3;

// The weights of bin `i` of `bins` over `pixels` rows or columns: means over the bin's samples in
// [-1, pixels]. Samples outside [0, pixels - 1] count for the pixel at the edge. Writes nonzero
// weights, in ascending order of pixels, into weights[result.begin] up to weights[result.end].
template <typename F>
TENSORFLOW_EXT_HOST_DEVICE WeightRange MakeBinWeights(const AlignedSide<F>& side, int64_t i,
                                                      int64_t bins, int64_t pixels,
                                                      PixelWeight<F>* weights) {
  if (!(side.samples > F(0)) || pixels == 0) return {0, 0};
  const BinSamples<F> samples(side, i);
  // Most bins are inside and need no search.
  const F beyond = static_cast<F>(pixels);
  F sample = samples.At(F(0)) >= F(-1) ? F(0) : samples.Below(F(-1), false);
  const F end =
      samples.At(samples.count - F(1)) <= beyond ? samples.count : samples.Below(beyond, true);
  if (!(sample < end)) return {0, 0};
  const F last_position = samples.At(end - F(1));

  const int32_t last = static_cast<int32_t>(pixels - 1);
  const int64_t place = side.bin < F(0) ? bins - 1 - i : i;
  int64_t entry = -1, first_entry = 0;
  int32_t cell = -2;
  F above = 0;  // weight of pixel `cell` + 1 from the samples so far
  while (sample < end) {
    // The samples between the pixels `cell` and `cell` + 1.
    const F position = samples.At(sample);
    const int32_t previous = cell;
    cell = position < F(0)                   ? -1
           : position < static_cast<F>(last) ? static_cast<int32_t>(position)
                                             : last;
    if (cell <= previous) cell = previous + 1;  // out of order by a rounding
    F next = end;
    if (cell < last && last_position >= static_cast<F>(cell) + F(1)) {
      next = samples.Below(static_cast<F>(cell) + F(1), false);
      next = next > sample && next < end ? next : end;
    }
    const F count = next - sample;
    // Their mean distance from `cell`.
    F mean = position - static_cast<F>(cell) + samples.step * (count - F(1)) * F(0.5);
    mean = mean > F(0) ? (mean < F(1) ? mean : F(1)) : F(0);
    if (cell < 0) mean = F(1);
    if (cell == last) mean = F(0);

    if (entry < 0) {
      first_entry = entry = (cell < 0 ? 0 : cell) + kEntriesOfABin * place;
    } else if (cell > previous + 1 && above > F(0)) {
      weights[entry++] = {above / samples.count, previous + 1};
      above = 0;
    }
    const F here = above + count * (F(1) - mean);
    if (here > F(0)) weights[entry++] = {here / samples.count, cell};
    above = count * mean;
    sample = next;
  }
  if (above > F(0)) weights[entry++] = {above / samples.count, cell + 1};
  return {first_entry, entry};
}

// The weights of all regions in one scratch buffer: the ranges of each region's pooled_height +
// pooled_width bins, then the entries of each region.
template <typename F>
class RoiAlignWeights {
 public:
  TENSORFLOW_EXT_HOST_DEVICE RoiAlignWeights(const RegionDims& dims, void* scratch)
      : ranges_(static_cast<WeightRange*>(scratch)),
        weights_(reinterpret_cast<PixelWeight<F>*>(ranges_ + dims.rois * RangesOfRegion(dims))) {}

  // The size of the buffer in bytes. It is a double, which no size overflows.
  static double Bytes(const RegionDims& dims) {
    const double ranges = static_cast<double>(RangesOfRegion(dims));
    const double weights = static_cast<double>(WeightsOfRegion(dims));
    return static_cast<double>(dims.rois) *
           (ranges * sizeof(WeightRange) + weights * sizeof(PixelWeight<F>));
  }

  // Entries are indexed within a region.
  TENSORFLOW_EXT_HOST_DEVICE const PixelWeight<F>* weights(const RegionDims& dims,
                                                           int64_t roi) const {
    return weights_ + roi * WeightsOfRegion(dims);
  }
  TENSORFLOW_EXT_HOST_DEVICE WeightRange rows(const RegionDims& dims, int64_t roi,
                                              int64_t i) const {
    return ranges_[roi * RangesOfRegion(dims) + i];
  }
  TENSORFLOW_EXT_HOST_DEVICE WeightRange columns(const RegionDims& dims, int64_t roi,
                                                 int64_t j) const {
    return ranges_[roi * RangesOfRegion(dims) + dims.pooled_height + j];
  }

  // Writes the weights of one of the pooled_height + pooled_width bins along the sides of the
  // region `roi`, a row of rois.
  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE void Make(const RegionDims& dims, const RoiAlignOptions& options,
                                       const T* roi, int64_t region, int64_t bin) {
    const bool is_row = bin < dims.pooled_height;
    const int64_t i = is_row ? bin : bin - dims.pooled_height;
    const int64_t bins = is_row ? dims.pooled_height : dims.pooled_width;
    const int64_t pixels = is_row ? dims.height : dims.width;
    const int64_t first = is_row ? 0 : RoomOfRows(dims);
    const AlignedSide<F> side = MakeAlignedSide(ToCompute(roi[is_row ? 2 : 1]),
                                                ToCompute(roi[is_row ? 4 : 3]), bins, options);
    const WeightRange range =
        MakeBinWeights(side, i, bins, pixels, weights_ + region * WeightsOfRegion(dims) + first);
    ranges_[region * RangesOfRegion(dims) + bin] = {first + range.begin, first + range.end};
  }

  TENSORFLOW_EXT_HOST_DEVICE static int64_t RangesOfRegion(const RegionDims& dims) {
    return dims.pooled_height + dims.pooled_width;
  }

 private:
  TENSORFLOW_EXT_HOST_DEVICE static int64_t RoomOfRows(const RegionDims& dims) {
    return dims.height + kEntriesOfABin * dims.pooled_height;
  }
  TENSORFLOW_EXT_HOST_DEVICE static int64_t WeightsOfRegion(const RegionDims& dims) {
    return RoomOfRows(dims) + dims.width + kEntriesOfABin * dims.pooled_width;
  }

  WeightRange* ranges_;
  PixelWeight<F>* weights_;
};

// The number of scratch bytes for tensors of `type`.
inline double RoiAlignScratchBytes(NumericType type, const RegionDims& dims) {
  return type == NumericType::kDouble ? RoiAlignWeights<double>::Bytes(dims)
                                      : RoiAlignWeights<float>::Bytes(dims);
}

// ----- CPU. Tensors have the floating-point type `type`. -----
// `images` has the image of each region. `scratch` has RoiAlignScratchBytes.

// Writes the weights of the regions [begin, end).
void RoiAlignWeightsCpu(NumericType type, const RegionDims& dims, const RoiAlignOptions& options,
                        const void* rois, void* scratch, int64_t begin, int64_t end);

// Computes rows [begin, end) of the rois * pooled_height rows of bins. A region whose image is -1
// gives 0.
void RoiAlignCpu(NumericType type, const RegionDims& dims, const int64_t* images, const void* data,
                 void* scratch, void* pooled, int64_t begin, int64_t end);

// Computes rows [begin, end) of the gradient of `image`. `rois` lists the image's regions in
// ascending order. `sums` has as many elements as data and is used only for the 16-bit types. An
// element is summed in the order of the regions and bins, so the result does not depend on how an
// image is divided.
void RoiAlignGradCpu(NumericType type, const RegionDims& dims, const void* gradients,
                     const int64_t* rois, int64_t num_rois, void* scratch, int64_t image,
                     int64_t begin, int64_t end, float* sums, void* backprops);

// ----- GPU. Pointers are device pointers; see kernels/launch.h. -----

int LaunchRoiAlign(NumericType type, const RegionDims& dims, const RoiAlignOptions& options,
                   const void* data, const void* rois, void* scratch, void* pooled, void* stream);

// Adds in a fixed order if `deterministic`, else with atomics. `sums` has as many elements as data
// and is used only for the 16-bit types.
int LaunchRoiAlignGrad(NumericType type, const RegionDims& dims, const RoiAlignOptions& options,
                       bool deterministic, const void* gradients, const void* rois, void* scratch,
                       float* sums, void* backprops, void* stream);

}  // namespace tensorflow_ext
