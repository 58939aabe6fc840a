// Normalization of the rows of a matrix by statistics of each row, and its gradient, without
// TensorFlow headers. With centered rows it is layer normalization (J. L. Ba, J. R. Kiros and G. E.
// Hinton, "Layer Normalization", arXiv:1607.06450). Without centering it is root mean square
// normalization (B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019):
//
//   m = mean(x)  (0 if not centered)    r = 1 / sqrt(mean((x - m)^2) + epsilon)
//   n = (x - m) r                       y = n scale + offset
//
// Because dm/dx_i = 1 / D and dr/dx_i = -r^2 n_i / D, upstream gradients dy, dm and dr of the three
// outputs give, with g = dy scale,
//
//   dx = r (g - mean(g) - n mean(g n)) + dm / D - dr r^2 n / D
//   dscale = sum over rows of dy n      doffset = sum over rows of dy
//
// Without centering, mean(g) and dm are left out. The mean over an empty row is
// 0. The 16-bit types are computed in float. m and r are stored in the compute
// type.

#pragma once

#include <cstdint>

#include "tensorflow_ext/kernels/numeric.h"
#include "tensorflow_ext/kernels/rows.h"

namespace tensorflow_ext {

// The two ops.
struct LayerNorm {
  static constexpr bool kCentered = true;
  static constexpr char kName[] = "TfExt>LayerNorm";
  static constexpr char kGradName[] = "TfExt>LayerNormGrad";
  static constexpr char kInverse[] = "inverse_stddev";  // the name of r
};
struct RmsNorm {
  static constexpr bool kCentered = false;
  static constexpr char kName[] = "TfExt>RmsNorm";
  static constexpr char kGradName[] = "TfExt>RmsNormGrad";
  static constexpr char kInverse[] = "inverse_rms";
};

// x, y, scale, offset and their gradients have type T: x and y [rows, size], scale and offset
// [size]. The statistics and their gradients, [rows], have T's compute type. Pointers for mean and
// offset are null if not centered.
struct NormalizationTensors {
  const void *x, *scale, *offset;
  void *y, *mean, *inverse;
};
struct NormalizationGradTensors {
  const void *gradients, *mean_gradients, *inverse_gradients;
  const void *x, *scale, *mean, *inverse;
  void *x_backprops, *scale_backprops, *offset_backprops;
  // Scratch of the compute type, [parts, 2 or 1, size]: the sums over each part of the rows, for
  // scale and then for offset.
  void* partial_sums;
};

// The rows are divided into parts of equal size. The division depends only on the dimensions, so
// sums do not depend on the number of threads.
TENSORFLOW_EXT_HOST_DEVICE int64_t RowsOfAPart(int64_t rows, int64_t least, int64_t most_parts) {
  const int64_t wanted = (rows + most_parts - 1) / most_parts;
  return wanted > least ? wanted : least;
}

template <typename Norm>
struct CpuRowNormalization {
  // The least rows of a part, and the most parts. Each part has its own sums.
  static constexpr int64_t kRowsOfAPart = 32, kMaxParts = 128;
  static int64_t PartSize(const RowDims& dims) {
    return RowsOfAPart(dims.rows, kRowsOfAPart, kMaxParts);
  }
  static int64_t Parts(const RowDims& dims) {
    return (dims.rows + PartSize(dims) - 1) / PartSize(dims);
  }
  // The number of partial sums per column.
  static constexpr int kSums = Norm::kCentered ? 2 : 1;

  // Computes rows [begin, end). y may be x. scale and offset have T's compute type here; see Widen.
  static void Forward(NumericType type, const RowDims& dims, float epsilon,
                      const NormalizationTensors& tensors, int64_t begin, int64_t end);

  // Computes x_backprops and partial_sums for parts [begin, end) of the rows. x_backprops may be
  // gradients. scale has T's compute type here.
  static void Backward(NumericType type, const RowDims& dims,
                       const NormalizationGradTensors& tensors, int64_t begin, int64_t end);

  // Computes columns [begin, end) of scale_backprops and offset_backprops from the partial sums of
  // all parts.
  static void SumParts(NumericType type, const RowDims& dims,
                       const NormalizationGradTensors& tensors, int64_t begin, int64_t end);

  // Converts `size` values of type T to its compute type.
  static void Widen(NumericType type, const void* from, void* to, int64_t size);
};

template <typename Norm>
struct GpuRowNormalization {
  // Longer rows have fewer parts, because each part has sums of all columns.
  static constexpr int64_t kLongRow = 8192;
  static TENSORFLOW_EXT_HOST_DEVICE int64_t PartSize(const RowDims& dims) {
    return dims.size > kLongRow ? RowsOfAPart(dims.rows, 64, 256)
                                : RowsOfAPart(dims.rows, 16, 1024);
  }
  static TENSORFLOW_EXT_HOST_DEVICE int64_t Parts(const RowDims& dims) {
    return (dims.rows + PartSize(dims) - 1) / PartSize(dims);
  }
  static constexpr int kSums = Norm::kCentered ? 2 : 1;

  // These process all rows, with tensors in device memory, in order on `stream`; see
  // kernels/launch.h. y may be x, and x_backprops may be gradients. There are no atomics, so the
  // bits are the same every time.
  static int Forward(NumericType type, const RowDims& dims, float epsilon,
                     const NormalizationTensors& tensors, void* stream);
  static int Backward(NumericType type, const RowDims& dims,
                      const NormalizationGradTensors& tensors, void* stream);
};

}  // namespace tensorflow_ext
