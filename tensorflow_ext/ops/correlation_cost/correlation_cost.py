"""Matching costs of two images."""

import tensorflow as tf

from tensorflow_ext import raw_ops
from tensorflow_ext._vectorize._batches import Role, batched
from tensorflow_ext.ops._common import (
    DATA_FORMATS,
    TensorLike,
    channels_first,
    channels_last,
    op,
    transpose,
)

__all__ = ["correlation_cost"]


@op
def correlation_cost(
    a: TensorLike,
    b: TensorLike,
    kernel_size: int,
    max_displacement: int,
    stride_1: int,
    stride_2: int,
    pad: int,
    data_format: str = "channels_last",
    name: str | None = None,
) -> tf.Tensor:
    """Correlates the window around each pixel of one image with the windows around
    nearby pixels of another.

    With r = max_displacement // stride_2 there are D = 2 * r + 1 displacements
    (i - r) * stride_2, i = 0, 1 ... D - 1, along each axis. Output (y, x) belongs to
    the pixel p = (y, x) * stride_1 + max_displacement + (kernel_size - 1) // 2 - pad
    of a. Its channel i * D + j belongs to the displacement d = (i - r, j - r) *
    stride_2, rows first. It is the mean, over the kernel_size * kernel_size offsets o
    around 0 and over the channels c, of

        a[p + o, c] * b[p + d + o, c]

    where a product with a pixel outside its image counts as 0.

    Gradient: exact, to a and b, for all attributes.

    Args:
      a: First images, of type F and shape [N, H, W, C], or as `data_format` says.
      b: Second images, of the same type and shape.
      kernel_size: Size of a window along each axis, in pixels; odd.
      max_displacement: Largest displacement along each axis, in pixels; at least 0.
      stride_1: Pixels of a between neighbouring outputs; at least 1.
      stride_2: Pixels between neighbouring displacements; at least 1.
      pad: Pixels of zero padding on each side of the images; at least 0. With
        stride_1 = 1 and pad = max_displacement + (kernel_size - 1) // 2, the output has
        the images' height and width.
      data_format: 'channels_last', or 'channels_first' for [N, C, H, W] as input and
        output. The latter are transposed, because the kernels run along the channels.
      name: Name for the op.

    Returns:
      Tensor of type F and shape [N, OH, OW, D * D], where OH is
      ceil((H + 2 * pad - 2 * max_displacement - (kernel_size - 1)) / stride_1), and
      OW likewise.

    Raises:
      tf.errors.InvalidArgumentError: A rank, a shape or an attribute is wrong, or
        the images are too small for the attributes.
      ValueError: `data_format` is neither of the two.

    Source: A. Dosovitskiy et al., "FlowNet: Learning Optical Flow with
    Convolutional Networks", ICCV 2015, section 3.
    """
    if data_format not in DATA_FORMATS:
        raise ValueError(
            f"correlation_cost: argument 'data_format' is {data_format!r}, expected "
            "'channels_last' or 'channels_first'"
        )
    transposed = data_format == "channels_first"
    if transposed:
        a, b = transpose(a, channels_last), transpose(b, channels_last)
    costs = raw_ops.correlation_cost(
        a, b, kernel_size, max_displacement, stride_1, stride_2, pad, name
    )
    return transpose(costs, channels_first) if transposed else costs


OPS = {
    "CorrelationCost": {
        "rule": batched(Role.ROWS, Role.ROWS),
        "formula": (
            r"c_{p,d} = \frac{1}{k^2 C} \sum_{o,c} a_{p+o,c} \, b_{p+d+o,c}",
            r"da_{q,c} = \frac{1}{k^2 C} \sum_{p,o,d \, : \, p+o=q} b_{q+d,c} \, dc_{p,d}",
        ),
    },
    "CorrelationCostAGrad": {"rule": batched(Role.ROWS, Role.ROWS)},
    "CorrelationCostBGrad": {"rule": batched(Role.ROWS, Role.ROWS)},
}
