// SPDX-License-Identifier: Apache-2.0
//
// Pixels of images [N, H, W, C] by their indices (image, row, column), for XLA
// lowerings. Indices are int32 [..., 3], values [..., C].

#ifndef TENSORFLOW_EXT_KERNELS_PIXELS_XLA_H_
#define TENSORFLOW_EXT_KERNELS_PIXELS_XLA_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/xla_builder.h"

namespace tensorflow_ext {

// Indices of the shape `sizes` plus [3], from their parts of that shape.
inline xla::XlaOp PixelIndex(xla::XlaOp image, xla::XlaOp row,
                             xla::XlaOp column,
                             absl::Span<const int64_t> sizes) {
  std::vector<int64_t> parts(sizes.begin(), sizes.end());
  parts.push_back(1);
  return xla::ConcatInDim(image.builder(),
                          {xla::Reshape(image, parts), xla::Reshape(row, parts),
                           xla::Reshape(column, parts)},
                          /*dimension=*/static_cast<int64_t>(sizes.size()));
}

// `rank` is that of the index. An index outside of the images is clamped into
// them, as XLA defines it.
inline xla::XlaOp GatherPixels(xla::XlaOp images, xla::XlaOp index,
                               int64_t rank, int64_t channels) {
  xla::GatherDimensionNumbers numbers;
  numbers.add_offset_dims(rank - 1);
  numbers.set_index_vector_dim(rank - 1);
  for (int64_t d = 0; d < 3; ++d) {
    numbers.add_collapsed_slice_dims(d);
    numbers.add_start_index_map(d);
  }
  return xla::Gather(images, index, numbers, {1, 1, 1, channels});
}

// `images` plus each of `values` at its index, of `type`; what points outside
// of the images is left out, as XLA defines it.
inline xla::XlaOp AddPixels(xla::XlaOp images, xla::XlaOp index,
                            xla::XlaOp values, int64_t rank,
                            xla::PrimitiveType type) {
  xla::ScatterDimensionNumbers numbers;
  numbers.add_update_window_dims(rank - 1);
  numbers.set_index_vector_dim(rank - 1);
  for (int64_t d = 0; d < 3; ++d) {
    numbers.add_inserted_window_dims(d);
    numbers.add_scatter_dims_to_operand_dims(d);
  }
  return xla::Scatter(images, index, values,
                      xla::CreateScalarAddComputation(type, images.builder()),
                      numbers);
}

}  // namespace tensorflow_ext

#endif  // TENSORFLOW_EXT_KERNELS_PIXELS_XLA_H_
