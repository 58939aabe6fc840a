"""Layers over regions of interest. They are called with [data, rois]."""

from typing import Any

import keras
import tensorflow as tf

from tensorflow_ext import ops
from tensorflow_ext.layers._common import Shape, boolean, finite, integer
from tensorflow_ext.layers._images import OverImages


class _OverRegions(OverImages):
    """A layer that divides every region into pooled_height * pooled_width bins."""

    input_names = ("data", "rois")

    def __init__(
        self, pooled_height: int, pooled_width: int, spatial_scale: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pooled_height = integer(self, "pooled_height", pooled_height, 1)
        self.pooled_width = integer(self, "pooled_width", pooled_width, 1)
        self.spatial_scale = finite(self, "spatial_scale", spatial_scale)

    def computed_shape(self, first: Shape, second: Shape) -> Shape:
        self.expect(0, first, len(first) == 4, "N", "H", "W", "C")
        valid = len(second) == 2 and second[1] in (5, None)
        self.expect(1, second, valid, "R", "5")
        return (second[0], self.pooled_height, self.pooled_width, first[3])


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class RoiPooling(_OverRegions):
    """The largest value in each bin of each region, by `roi_pool`.

    Call it with [data, rois]: images [N, H, W, C] and regions [R, 5], each (index
    of its image, x1, y1, x2, y2). Returns [R, pooled_height, pooled_width, C]. `rois`
    has no gradient.

    Args:
      pooled_height: Rows of bins, at least 1.
      pooled_width: Columns of bins, at least 1.
      spatial_scale: Pixels of data per unit of the corners.
      data_format: 'channels_last', or 'channels_first' for data [N, C, H, W] and a
        result [R, C, pooled_height, pooled_width], which are then transposed
        (tensorflow_ext/layers/_images.py says why). Defaults to that of Keras.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def compute(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        return ops.roi_pool(
            first,
            second,
            pooled_height=self.pooled_height,
            pooled_width=self.pooled_width,
            spatial_scale=self.spatial_scale,
        ).pooled


@keras.saving.register_keras_serializable(package="tensorflow_ext")
class RoiAlign(_OverRegions):
    """The mean of bilinear samples in each bin of each region, by `roi_align`.

    Call it with [data, rois]: images [N, H, W, C] and regions [R, 5], each (index
    of its image, x1, y1, x2, y2). Returns [R, pooled_height, pooled_width, C]. `rois`
    has no gradient.

    Args:
      pooled_height: Rows of bins, at least 1.
      pooled_width: Columns of bins, at least 1.
      spatial_scale: Pixels of data per unit of the corners.
      sampling_ratio: Samples along each side of a bin; 0 means one per pixel, rounded
        up.
      aligned: Whether to shift corners by half a pixel; see `roi_align`.
      data_format: 'channels_last', or 'channels_first' for data [N, C, H, W] and a
        result [R, C, pooled_height, pooled_width], which are then transposed
        (tensorflow_ext/layers/_images.py says why). Defaults to that of Keras.
      **kwargs: Arguments of keras.layers.Layer, e.g. `name` and `dtype`.
    """

    def __init__(
        self,
        pooled_height: int,
        pooled_width: int,
        spatial_scale: float = 1.0,
        sampling_ratio: int = 0,
        aligned: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pooled_height, pooled_width, spatial_scale, **kwargs)
        self.sampling_ratio = integer(self, "sampling_ratio", sampling_ratio, 0)
        self.aligned = boolean(self, "aligned", aligned)

    def compute(self, first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        return ops.roi_align(
            first,
            second,
            pooled_height=self.pooled_height,
            pooled_width=self.pooled_width,
            spatial_scale=self.spatial_scale,
            sampling_ratio=self.sampling_ratio,
            aligned=self.aligned,
        )
