"""Stock ops with the value and the gradient of an op of this library, and the attributes
and inputs that they support."""

import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf


def with_value(surrogate: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    """`value` with the gradient of `surrogate`."""
    return surrogate + tf.stop_gradient(value - surrogate)


def flat(*tensors: tf.Tensor) -> tf.Tensor:
    """The elements of all tensors."""
    return tf.concat([tf.reshape(tensor, [-1]) for tensor in tensors], axis=0)


def with_statistics(y: tf.Tensor, *statistics: tf.Tensor) -> tf.Tensor:
    """All outputs of a normalization in one tensor, so all are differentiated."""
    columns = [tf.cast(s, y.dtype)[..., tf.newaxis] for s in statistics]
    return tf.concat([y, *columns], axis=-1)


# tf.nn.gelu rounds its constants to float.
def gelu(x: tf.Tensor) -> tf.Tensor:
    return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_exact(x: tf.Tensor) -> tf.Tensor:
    return 0.5 * x * (1 + tf.math.erf(x / math.sqrt(2)))


BOUNDS = {"lower": -0.25, "upper": 0.5}


def hardshrink(x: tf.Tensor) -> tf.Tensor:
    return tf.where((x < -0.25) | (x > 0.5), x, tf.zeros_like(x))


def softshrink(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(x - 0.5) - tf.nn.relu(-0.25 - x)


def sparsemax(x: tf.Tensor) -> tf.Tensor:
    """Sparsemax by sorting. keras.ops.sparsemax is not used: it adds up the sums up to each
    element of the support instead of taking the last of them."""
    ordered = tf.sort(x, direction="DESCENDING")
    sums = tf.cumsum(ordered, axis=-1) - 1
    counts = tf.range(1, tf.shape(x)[-1] + 1, dtype=x.dtype)
    in_support = tf.cast(counts * ordered > sums, tf.int32)
    size = tf.reduce_sum(in_support, axis=-1, keepdims=True)
    sums = tf.gather(sums, size - 1, batch_dims=len(x.shape) - 1)
    return tf.nn.relu(x - sums / tf.cast(size, x.dtype))


@tf.custom_gradient
def clip_gradient(x: tf.Tensor) -> tuple[tf.Tensor, Callable[..., tf.Tensor]]:
    return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.5, 0.25)


def floor_mod(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return x - tf.stop_gradient(tf.math.floor(x / y)) * y


def multiply_left(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return x * tf.stop_gradient(y)


def prune(weights: tf.Tensor, threshold: tf.Tensor) -> tf.Tensor:
    threshold = tf.stop_gradient(threshold)
    return tf.where(tf.abs(weights) >= threshold, weights, tf.zeros_like(weights))


def zero_out(x: tf.Tensor) -> tf.Tensor:
    elements = tf.reshape(x, [-1])
    kept_first = tf.concat([elements[:1], elements[1:] * 0], axis=0)
    return tf.reshape(kept_first, tf.shape(x))


def clip_by_global_norm(x: tf.Tensor, y: tf.Tensor, clip_norm: tf.Tensor) -> tf.Tensor:
    norm = tf.sqrt(tf.reduce_sum(x * x) + tf.reduce_sum(y * y))
    scale = tf.minimum(clip_norm / norm, 1.0)
    return flat(x * scale, y * scale, norm)


INDICES = np.array([[0, 2, 5, 2], [4, 4, 1, 0], [3, 5, 0, 2]])


def bags(indices: np.ndarray, params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    # A product, so the gradient is a tensor and not IndexedSlices.
    rows = tf.tensordot(tf.one_hot(indices, params.shape[0], dtype=params.dtype), params, 1)
    return tf.reduce_sum(rows * weights[..., tf.newaxis], axis=1)


def embedding_bag(params: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    return bags(INDICES, params, weights)


EPSILON = 0.25


def layer_norm(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    # tf.nn.moments is not used, because it stops the gradient at the mean: its first order is
    # right, its second is not.
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean((x - mean) ** 2, -1, keepdims=True)
    inverse = 1 / tf.sqrt(variance + EPSILON)
    y = (x - mean) * inverse * scale + offset
    return with_statistics(y, mean[..., 0], inverse[..., 0])


def rms_norm(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    mean = tf.reduce_mean(x * x, -1, keepdims=True)
    inverse = 1 / tf.sqrt(mean + EPSILON)
    return with_statistics(x * inverse * scale, inverse[..., 0])


DISPLACEMENTS = {"kernel_size": 3, "max_displacement": 2, "stride_1": 2, "stride_2": 2, "pad": 4}


def correlation_cost(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """For each displacement: a product, and averages over its windows."""
    kernel_size, largest, stride_1, stride_2, pad = DISPLACEMENTS.values()
    edges = [[0, 0], [pad, pad], [pad, pad], [0, 0]]
    a, b = tf.pad(a, edges), tf.pad(b, edges)
    height, width = (size - 2 * largest for size in a.shape[1:3])
    top = left = largest
    steps = range(-largest, largest + 1, stride_2)
    inner = a[:, top : top + height, left : left + width]
    costs = []
    for dy in steps:
        for dx in steps:
            y, x = top + dy, left + dx
            products = inner * b[:, y : y + height, x : x + width]
            products = tf.reduce_mean(products, axis=3, keepdims=True)
            costs.append(tf.nn.avg_pool2d(products, kernel_size, stride_1, padding="VALID"))
    return tf.concat(costs, axis=3)


BINS = {"pooled_height": 2, "pooled_width": 3, "spatial_scale": 0.5}
# One region inside the image, one across its edge, one empty.
POOLED_REGIONS = np.array([[0, 1, 0, 4, 3], [1, 2, 2, 9, 9], [1, 7, 7, 8, 8]], np.float64)


def roi_pool(data: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    del rois
    return tf.stack([_pool_region(data, roi) for roi in POOLED_REGIONS])


def _pool_region(data: tf.Tensor, roi: np.ndarray) -> tf.Tensor:
    batch = int(roi[0])
    height, width, scale = BINS.values()
    x1, y1, x2, y2 = (int(np.floor(corner * scale + 0.5)) for corner in roi[1:])
    rows = _bins(y1, max(y2 - y1 + 1, 1), height, data.shape[1])
    columns = _bins(x1, max(x2 - x1 + 1, 1), width, data.shape[2])

    def maximum(row: slice, column: slice) -> tf.Tensor:
        region = data[batch, row, column]
        if 0 in region.shape:
            return tf.zeros([data.shape[3]], data.dtype)
        return tf.reduce_max(region, axis=[0, 1])

    return tf.stack([tf.stack([maximum(r, c) for c in columns]) for r in rows])


def _bins(start: int, size: int, count: int, limit: int) -> list[slice]:
    edges = [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
    return [slice(*np.clip(np.add(start, edge), 0, limit)) for edge in edges]


# One region inside the image, one across its edge, one outside.
ALIGNED_REGIONS = np.array([[0, 1, 0, 7, 5], [1, 2, 3, 12, 13], [1, 20, 20, 22, 24]], np.float64)


def roi_align(data: tf.Tensor, rois: tf.Tensor) -> tf.Tensor:
    del rois
    return tf.stack([_align_region(data, *roi) for roi in ALIGNED_REGIONS])


def _align_region(
    data: tf.Tensor, batch: float, x1: float, y1: float, x2: float, y2: float
) -> tf.Tensor:
    height, width, scale = BINS.values()
    rows = _sample_weights(scale * y1 - 0.5, scale * y2 - 0.5, height, data.shape[1])
    columns = _sample_weights(scale * x1 - 0.5, scale * x2 - 0.5, width, data.shape[2])
    return tf.einsum(
        "iy,jx,yxc->ijc",
        tf.constant(rows, data.dtype),
        tf.constant(columns, data.dtype),
        data[int(batch)],
    )


def _sample_weights(begin: float, end: float, bins: int, pixels: int) -> np.ndarray:
    """The mean of each bin's samples as weights of the pixels, [bins, pixels]."""
    weights = np.zeros((bins, pixels))
    size = (end - begin) / bins
    count = int(np.ceil(size))
    for i in range(bins):
        for k in range(count):
            sample = begin + i * size + (k + 0.5) * size / count
            if not -1 <= sample <= pixels:
                continue
            sample = np.clip(sample, 0, pixels - 1)
            low = min(int(sample), pixels - 1)
            weights[i, low] += (1 - (sample - low)) / count
            if low + 1 < pixels:
                weights[i, low + 1] += (sample - low) / count
    return weights


# Points inside two images of 5 x 5 pixels, around their edges and outside.
POINTS = np.array(
    [
        [[0.3, 0.6], [3.7, 2.2], [-0.6, 1.4], [4.3, 4.8]],
        [[2.5, -0.2], [1.1, 4.4], [-1.7, 2.3], [2.4, 2.1]],
    ]
)


def resampler(data: tf.Tensor, warp: tf.Tensor) -> tf.Tensor:
    """Every pixel times its weight in every point."""
    height, width = data.shape[1:3]
    distance_x = warp[:, :, :1] - tf.range(width, dtype=warp.dtype)
    distance_y = warp[:, :, 1:] - tf.range(height, dtype=warp.dtype)
    x = tf.nn.relu(1 - tf.abs(distance_x))
    y = tf.nn.relu(1 - tf.abs(distance_y))
    return tf.einsum("npy,npx,nyxc->npc", y, x, data)


def interpolate_bilinear(grid: tf.Tensor, points: tf.Tensor) -> tf.Tensor:
    """Points (row, column), with those outside moved to the border."""
    last = tf.constant(grid.shape[1:3], points.dtype) - 1
    return resampler(grid, tf.clip_by_value(points, 0, last)[..., ::-1])


def dense_image_warp(image: tf.Tensor, flow: tf.Tensor) -> tf.Tensor:
    """Computes the result pixel by pixel."""
    height, width = flow.shape[1:3]
    rows, columns = np.mgrid[:height, :width]
    points = np.stack([rows, columns], -1) - flow
    values = interpolate_bilinear(image, tf.reshape(points, [flow.shape[0], -1, 2]))
    return tf.reshape(values, [*flow.shape[:3], image.shape[3]])
