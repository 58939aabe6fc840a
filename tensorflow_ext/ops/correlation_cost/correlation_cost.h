// FlowNet's correlation of two feature maps (A. Dosovitskiy et al., "FlowNet: Learning Optical Flow
// with Convolutional Networks", ICCV 2015, section 3), without TensorFlow headers: the arithmetic
// of windows and displacements, for host and device, and the loops that the kernels run.
//
//   output[n, y, x, i * D + j] =
//       sum over p in window(y) x window(x), c of
//           a[n, p, c] * b[n, p + (Displacement(i), Displacement(j)), c]
//       / (kernel_size^2 * channels)
//
// A position outside an image counts as 0. The output is linear in a and b, and each gradient in
// its upstream gradient. So all derivatives are three sums over the same pairs of pixels: this one,
// and those for a and for b below.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"

namespace tensorflow_ext {

// Indices [begin, end); empty where begin >= end.
struct IndexRange {
  int64_t begin, end;

  TENSORFLOW_EXT_HOST_DEVICE bool empty() const { return begin >= end; }
};

TENSORFLOW_EXT_HOST_DEVICE int64_t Larger(int64_t x, int64_t y) { return x > y ? x : y; }
TENSORFLOW_EXT_HOST_DEVICE int64_t Smaller(int64_t x, int64_t y) { return x < y ? x : y; }

// The number of steps of `stride` >= 1 that fit into `distance`. Both are below 2^32, because image
// sizes and attributes are at most 2^30.
TENSORFLOW_EXT_HOST_DEVICE int64_t Steps(int64_t distance, int64_t stride) {
  return static_cast<uint32_t>(distance) / static_cast<uint32_t>(stride);
}

// a and b are [images, height, width, channels]. The output is [images, output_height,
// output_width, displacements^2]. Rows and columns are treated alike: below, `pixels` is the height
// or width of an image and `outputs` is that of the output.
struct CorrelationCostDims {
  int64_t images, height, width, channels;
  int64_t output_height, output_width;
  int64_t displacements;  // D, along one axis; odd
  int64_t kernel_size, max_displacement, stride_1, stride_2, pad;

  TENSORFLOW_EXT_HOST_DEVICE int64_t output_channels() const {
    return displacements * displacements;
  }
  TENSORFLOW_EXT_HOST_DEVICE int64_t image_pixels() const { return height * width; }
  // The number of elements of a, and of the output.
  TENSORFLOW_EXT_HOST_DEVICE int64_t input_size() const {
    return images * height * width * channels;
  }
  TENSORFLOW_EXT_HOST_DEVICE int64_t output_size() const {
    return images * output_height * output_width * output_channels();
  }
  // The factor of a sum of products. channels must not be 0.
  TENSORFLOW_EXT_HOST_DEVICE double scale() const {
    return 1.0 / (static_cast<double>(kernel_size) * static_cast<double>(kernel_size) *
                  static_cast<double>(channels));
  }

  // Displacement `i` of D, in pixels: from -reach() to reach().
  TENSORFLOW_EXT_HOST_DEVICE int64_t Displacement(int64_t i) const {
    return i * stride_2 - reach();
  }
  TENSORFLOW_EXT_HOST_DEVICE int64_t reach() const { return displacements / 2 * stride_2; }

  // The displacements that lead from `pixel` to another of the `pixels`.
  TENSORFLOW_EXT_HOST_DEVICE IndexRange DisplacementsInside(int64_t pixel, int64_t pixels) const {
    const int64_t middle = displacements / 2;
    return {Larger(0, middle - Steps(pixel, stride_2)),
            Smaller(displacements, middle + Steps(pixels - 1 - pixel, stride_2) + 1)};
  }

  // The first pixel of output 0's window in a. It may be outside the image.
  TENSORFLOW_EXT_HOST_DEVICE int64_t first_pixel() const { return max_displacement - pad; }
  // The pixels of the image in the window of `output`.
  TENSORFLOW_EXT_HOST_DEVICE IndexRange Window(int64_t output, int64_t pixels) const {
    const int64_t begin = first_pixel() + output * stride_1;
    return {Larger(0, begin), Smaller(pixels, begin + kernel_size)};
  }
  // The outputs whose windows contain `pixel`.
  TENSORFLOW_EXT_HOST_DEVICE IndexRange Windows(int64_t pixel, int64_t outputs) const {
    const int64_t offset = pixel - first_pixel();
    if (offset < 0) return {0, 0};
    const int64_t behind = offset - kernel_size;  // the last window that ended
    return {behind < 0 ? 0 : Steps(behind, stride_1) + 1,
            Smaller(outputs, Steps(offset, stride_1) + 1)};
  }
};

// The image that a derivative belongs to.
enum class CorrelationArgument : int32_t { kA, kB };

// ----- CPU. -----
//
// `scratch` has the given number of elements of the compute type of `type`. Rows may be divided
// among threads in any way: the result does not change.

// CorrelationCost takes transposed images of the compute type: for each channel, a row's pixels are
// contiguous. This is the size of one, in elements.
int64_t TransposedSize(NumericType type, const CorrelationCostDims& dims);

// Transposes rows [begin, end) of the images * height rows of `argument`, except pixels of a that
// no window contains. All rows must be transposed before any is read.
void TransposeRowsCpu(NumericType type, const CorrelationCostDims& dims,
                      CorrelationArgument argument, const void* images, void* transposed,
                      int64_t begin, int64_t end);

int64_t CorrelationCostScratch(NumericType type, const CorrelationCostDims& dims);

// Computes rows [begin, end) of the images * output_height rows of the output. They share work
// where windows overlap.
void CorrelationCostCpu(NumericType type, const CorrelationCostDims& dims, const void* a,
                        const void* b, void* output, void* scratch, int64_t begin, int64_t end);

// The gradients of this op take packed images: they have the compute type, and zeros pad each
// pixel's channels to PackedChannels.
int64_t PackedChannels(NumericType type, int64_t channels);

// Packs pixels [begin, end).
void PackPixelsCpu(NumericType type, int64_t channels, int64_t packed_channels, const void* pixels,
                   void* packed, int64_t begin, int64_t end);

int64_t CorrelationCostGradScratch(NumericType type, const CorrelationCostDims& dims);

// Computes rows [begin, end) of the images * height rows of the derivative of the sum of gradients
// * output with respect to `argument`. `gradients` has the compute type, and `other` is the other
// argument, packed.
void CorrelationCostGradCpu(NumericType type, const CorrelationCostDims& dims,
                            CorrelationArgument argument, const void* gradients, const void* other,
                            void* backprops, void* scratch, int64_t begin, int64_t end);

// ----- GPU. Pointers are device pointers; see kernels/launch.h. -----

int LaunchCorrelationCost(NumericType type, const CorrelationCostDims& dims, const void* a,
                          const void* b, void* output, void* stream);

// One thread sums each element, in a fixed order.
int LaunchCorrelationCostGrad(NumericType type, const CorrelationCostDims& dims,
                              CorrelationArgument argument, const void* gradients,
                              const void* other, void* backprops, void* stream);

}  // namespace tensorflow_ext
