// SPDX-License-Identifier: Apache-2.0
//
// What the XLA lowerings of the ops over regions share.

#ifndef TENSORFLOW_EXT_KERNELS_REGIONS_XLA_H_
#define TENSORFLOW_EXT_KERNELS_REGIONS_XLA_H_

#include <cstdint>

#include "tensorflow_ext/kernels/regions.h"
#include "xla/hlo/builder/lib/comparators.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {

// The type that a lowering computes in: float for the 16-bit types.
inline xla::PrimitiveType ComputedType(xla::PrimitiveType stored) {
  return stored == xla::F16 || stored == xla::BF16 ? xla::F32 : stored;
}

// Column `k` of rois in the compute type: [R].
inline xla::XlaOp RoiColumn(xla::XlaOp rois, int64_t num_rois, int64_t k,
                            xla::PrimitiveType type) {
  const xla::XlaOp column =
      xla::SliceInDim(rois, k, k + 1, /*stride=*/1, /*dimno=*/1);
  return xla::ConvertElementType(xla::Reshape(column, {num_rois}), type);
}

// RoiImage for every region: int32 [R], `dims.images` for none.
inline xla::XlaOp RoiImages(xla::XlaOp rois, const RegionDims& dims,
                            xla::PrimitiveType type) {
  const xla::XlaOp batch = RoiColumn(rois, dims.rois, 0, type);
  const xla::XlaOp inside =
      xla::And(xla::Ge(batch, xla::ZerosLike(batch)),
               xla::Lt(batch, xla::FullLike(batch, dims.images)));
  const xla::XlaOp image = xla::ConvertElementType(
      xla::Select(inside, batch, xla::ZerosLike(batch)), xla::S32);
  return xla::Select(inside, image, xla::FullLike(image, dims.images));
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_REGIONS_XLA_H_
