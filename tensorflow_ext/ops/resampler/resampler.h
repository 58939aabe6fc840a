// Bilinear resampling of images at given points (the sampler of M. Jaderberg, K. Simonyan, A.
// Zisserman, K. Kavukcuoglu, "Spatial Transformer Networks", NeurIPS 2015, section 3.3), without
// TensorFlow headers: its arithmetic, for host and device, and the loops that the kernels run.
//
// Within a cell of the pixel grid, the value at a point is bilinear in the point's fractions fx,
// fy. It is the sum of four corners, each times a weight of x and a weight of y. A derivative by x
// or y only replaces the weights of that side, (1 - f, f), by (-1, 1), so one loop serves all
// orders.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

// Up to this many channels, the CPU uses special loops that process many points together.
constexpr int64_t kFewChannels = 8;

// data is [images, height, width, channels], warp is [images, points, 2], and the output is
// [images, points, channels]. Height and width are below 2^31.
struct ResamplerDims {
  int64_t images, height, width, channels, points;

  TENSORFLOW_EXT_HOST_DEVICE int64_t row_size() const { return width * channels; }
  TENSORFLOW_EXT_HOST_DEVICE int64_t image_size() const { return height * row_size(); }
  TENSORFLOW_EXT_HOST_DEVICE int64_t all_points() const { return images * points; }
  bool has_few_channels() const { return channels > 0 && channels <= kFewChannels; }
};

// The number of times that the value is differentiated by each coordinate: 0 or
// 1. A second derivative by one coordinate is 0 within a cell.
struct ResamplerOrder {
  int32_t x, y;
};

// The cell of the pixel grid that a point lies in.
template <typename F>
struct ResamplerCell {
  bool inside;   // true in (-1, width) x (-1, height); false for NaN
  int32_t x, y;  // corner with the smaller coordinates, from -1 on
  F fx, fy;      // the position in the cell, in [0, 1)
};

// The cell of warp[0] = x, warp[1] = y.
template <typename T>
TENSORFLOW_EXT_HOST_DEVICE ResamplerCell<ComputeType<T>> FindCell(const ResamplerDims& dims,
                                                                  const T* warp) {
  using F = ComputeType<T>;
  const F x = ToCompute(warp[0]), y = ToCompute(warp[1]);
  ResamplerCell<F> cell = {false, 0, 0, 0, 0};
  cell.inside =
      x > F(-1) && x < static_cast<F>(dims.width) && y > F(-1) && y < static_cast<F>(dims.height);
  if (!cell.inside) return cell;
  // From 0 on, truncation is the floor.
  cell.x = x < F(0) ? -1 : static_cast<int32_t>(x);
  cell.y = y < F(0) ? -1 : static_cast<int32_t>(y);
  cell.fx = x - static_cast<F>(cell.x);
  cell.fy = y - static_cast<F>(cell.y);
  return cell;
}

// The weight of the corner at `high` = 0 or 1 along one side.
template <typename F>
TENSORFLOW_EXT_HOST_DEVICE F SideWeight(F fraction, int high, int32_t order) {
  return order == 0 ? (high ? fraction : F(1) - fraction) : (high ? F(1) : F(-1));
}

// Corner k = 0..3 of a cell: x before y, the smaller coordinate first.
template <typename F>
struct ResamplerCorner {
  int32_t x, y;
  F weight;
};

template <typename F>
TENSORFLOW_EXT_HOST_DEVICE ResamplerCorner<F> Corner(const ResamplerCell<F>& cell, int k,
                                                     ResamplerOrder order) {
  return {cell.x + (k & 1), cell.y + (k >> 1),
          SideWeight(cell.fx, k & 1, order.x) * SideWeight(cell.fy, k >> 1, order.y)};
}

// True if a corner is a pixel of the image.
template <typename F>
TENSORFLOW_EXT_HOST_DEVICE bool IsPixel(const ResamplerCorner<F>& corner,
                                        const ResamplerDims& dims) {
  return corner.x >= 0 && corner.x < dims.width && corner.y >= 0 && corner.y < dims.height;
}

// ----- CPU. Tensors have the floating-point type `type`. -----

// Computes points [begin, end) of all images.
void ResampleCpu(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                 const void* data, const void* warp, void* output, int64_t begin, int64_t end);

// The gradient of order (0, 0) with respect to points [begin, end) of warp.
void ResamplerWarpGradCpu(NumericType type, const ResamplerDims& dims, const void* gradients,
                          const void* data, const void* warp, void* warp_backprops, int64_t begin,
                          int64_t end);

// The gradient with respect to data is summed row by row, from points sorted by the row of their
// cell, starting with row -1. Points outside are left out. The stable counting sort works on parts
// of an image: first counts, then places.

// Adds 1 to counts[1 + row] for each of the points [begin, end) of all images.
void CountRowsCpu(NumericType type, const ResamplerDims& dims, const void* warp, int64_t begin,
                  int64_t end, int64_t* counts);

// Writes each of these points to sorted[places[1 + row]++].
void SortRowsCpu(NumericType type, const ResamplerDims& dims, const void* warp, int64_t begin,
                 int64_t end, int64_t* places, int64_t* sorted);

// Computes rows [begin, end) of `image`. The points of its row r are sorted[starts[1 + r]] up to
// sorted[starts[2 + r]]. `sums` has as many elements as data; it is used only for the 16-bit types,
// and not if has_few_channels(). A pixel is summed in the order of the rows and points, so the
// result does not depend on how an image is divided.
void ResamplerAdjointCpu(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                         const void* gradients, const void* warp, const int64_t* sorted,
                         const int64_t* starts, int64_t image, int64_t begin, int64_t end,
                         float* sums, void* backprops);

// ----- GPU. Pointers are device pointers; see kernels/launch.h. -----

int LaunchResample(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                   const void* data, const void* warp, void* output, void* stream);

int LaunchResamplerWarpGrad(NumericType type, const ResamplerDims& dims, const void* gradients,
                            const void* data, const void* warp, void* warp_backprops, void* stream);

// Adds in a fixed order if `deterministic`, else with atomics. `sums` has as many elements as data
// and is used only for the 16-bit types.
int LaunchResamplerAdjoint(NumericType type, const ResamplerDims& dims, ResamplerOrder order,
                           bool deterministic, const void* gradients, const void* warp, float* sums,
                           void* backprops, void* stream);

}  // namespace tensorflow_ext
