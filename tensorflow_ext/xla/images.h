// Common parts of the lowerings of ops over images [N, H, W, C]: pixel indices for GatherNd and
// ScatterAddNd, int32 [..., 3] of (image, row, column), and regions of interest
// (kernels/regions.h).

#pragma once

#include <cstdint>
#include <vector>

#include "tensorflow_ext/kernels/regions.h"
#include "tensorflow_ext/xla/xla_op.h"

namespace tensorflow_ext {

// Indices from their parts, each of the shape `sizes`.
inline xla::XlaOp PixelIndex(xla::XlaOp image, xla::XlaOp row, xla::XlaOp column,
                             xla::Sizes sizes) {
  std::vector<int64_t> part(sizes.begin(), sizes.end());
  part.push_back(1);
  return xla::ConcatInDim(
      {xla::Reshape(image, part), xla::Reshape(row, part), xla::Reshape(column, part)},
      /*dimension=*/static_cast<int64_t>(sizes.size()));
}

// Column `k` of rois in the compute type: [R].
inline xla::XlaOp RoiColumn(xla::XlaOp rois, int64_t num_rois, int64_t k) {
  const xla::XlaOp column = xla::SliceInDim(rois, k, k + 1, /*dimension=*/1);
  return xla::ConvertElementType(xla::Reshape(column, {num_rois}),
                                 xla::ComputeType(xla::ElementType(rois)));
}

// RoiImage for every region: int32 [R], `dims.images` where there is none.
inline xla::XlaOp RoiImages(xla::XlaOp rois, const RegionDims& dims) {
  const xla::XlaOp batch = RoiColumn(rois, dims.rois, 0);
  const xla::XlaOp inside = (batch >= 0) & (batch < dims.images);
  const xla::XlaOp image = xla::ConvertElementType(xla::Select(inside, batch, 0), xla::S32);
  return xla::Select(inside, image, dims.images);
}

}  // namespace tensorflow_ext
