"""The formulas of TensorFlow Addons' kernels, in NumPy.

They follow its sources, version 0.23 (activations: 0.11), in the type of the arguments, and keep
the order of its operations where that decides a result. They are slow.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray

# ----- Activations. -----

_SCALE = math.sqrt(2 / math.pi)
_erf = np.vectorize(math.erf, otypes=[float])


def gelu(x: Array, approximate: bool = True) -> Array:
    if approximate:
        return 0.5 * x * (1 + np.tanh(_SCALE * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x * math.sqrt(0.5)).astype(x.dtype))


def gelu_grad(gradients: Array, x: Array, approximate: bool = True) -> Array:
    if approximate:
        y = np.tanh(_SCALE * (0.044715 * x**3 + x))
        inner = 3 * 0.044715 * _SCALE * x**2 + _SCALE
        return ((-x * y**2 + x) * inner + 1 + y) * gradients * 0.5
    density = _SCALE / 2 * x * np.exp(-(x**2) / 2)
    half = 0.5 * (1 + _erf(x * math.sqrt(0.5)).astype(x.dtype))
    return gradients * (density + half)


def _outside(x: Array, lower: float, upper: float) -> Array:
    return (x < lower) | (x > upper)


def hardshrink(x: Array, lower: float = -0.5, upper: float = 0.5) -> Array:
    return np.where(_outside(x, lower, upper), x, np.zeros_like(x))


def softshrink(x: Array, lower: float = -0.5, upper: float = 0.5) -> Array:
    above = np.where(x > upper, x - upper, np.zeros_like(x))
    return np.where(x < lower, x - lower, above)


def shrink_grad(gradients: Array, x: Array, lower: float = -0.5, upper: float = 0.5) -> Array:
    """The gradient of both shrink functions."""
    return np.where(_outside(x, lower, upper), gradients, np.zeros_like(x))


def lisht(x: Array) -> Array:
    return x * np.tanh(x)


def lisht_grad(gradients: Array, x: Array) -> Array:
    t = np.tanh(x)
    return gradients * (t + x * (1 - t**2))


def _softplus(x: Array) -> Array:
    threshold = math.log(np.finfo(x.dtype).eps) + 2
    e = np.exp(x)
    return np.where(x > -threshold, x, np.where(x < threshold, e, np.log(e + 1)))


def mish(x: Array) -> Array:
    return x * np.tanh(_softplus(x))


def mish_grad(gradients: Array, x: Array) -> Array:
    softplus = _softplus(x)
    t = np.tanh(softplus)
    return gradients * (x * ((1 - t * t) * (1 - np.exp(-softplus))) + t)


def tanhshrink(x: Array) -> Array:
    return x - np.tanh(x)


def tanhshrink_grad(gradients: Array, x: Array) -> Array:
    return gradients * np.tanh(x) ** 2


# ----- EmbeddingBag. -----


def embedding_bag(indices: Array, params: Array, weights: Array, combiner: str = "SUM") -> Array:
    bags = (params[indices] * weights[..., None]).sum(axis=1)
    return bags / _bag_size(indices, combiner)


def embedding_bag_grad(
    indices: Array, params: Array, weights: Array, grads: Array, combiner: str = "SUM"
) -> tuple[Array, Array]:
    """Computes what the CPU kernel computes."""
    params_grads = np.zeros_like(params)
    for bag, row in np.ndindex(indices.shape):
        params_grads[indices[bag, row]] += grads[bag] * weights[bag, row]
    weights_grads = np.einsum("ble,be->bl", params[indices], grads)
    size = _bag_size(indices, combiner)
    return params_grads / size, weights_grads / size


def _bag_size(indices: Array, combiner: str) -> np.float64:
    return np.float64(indices.shape[1] if combiner == "MEAN" else 1)


# ----- Resampler. -----


def _corners(
    data: Array, warp: Array
) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...], float, float, float]]:
    """For each point and corner of its cell: the point, the pixel or None if it is outside, its
    weight, and the weight's derivatives by x and y.
    """
    _, height, width, _ = data.shape
    for point in np.ndindex(*warp.shape[:-1]):
        x, y = warp[point]
        if not (-1 < x < width and -1 < y < height):
            continue
        left, top = math.floor(x), math.floor(y)
        dx, dy = left + 1 - x, top + 1 - y
        for column, wx, sx in ((left, dx, -1), (left + 1, 1 - dx, 1)):
            for row, wy, sy in ((top, dy, -1), (top + 1, 1 - dy, 1)):
                inside = 0 <= column < width and 0 <= row < height
                pixel = (point[0], row, column) if inside else ()
                yield point, pixel, wx * wy, sx * wy, wx * sy


def resampler(data: Array, warp: Array) -> Array:
    output = np.zeros((*warp.shape[:-1], data.shape[-1]), data.dtype)
    for point, pixel, weight, _, _ in _corners(data, warp):
        output[point] += weight * (data[pixel] if pixel else 0)
    return output


def resampler_grad(data: Array, warp: Array, grad_output: Array) -> tuple[Array, Array]:
    grad_data, grad_warp = np.zeros_like(data), np.zeros_like(warp)
    for point, pixel, weight, by_x, by_y in _corners(data, warp):
        if pixel:
            grad_data[pixel] += grad_output[point] * weight
            product = (grad_output[point] * data[pixel]).sum()
            grad_warp[point] += np.array([by_x, by_y]) * product
    return grad_data, grad_warp


# ----- CorrelationCost. -----


def output_size(
    pixels: int, kernel_size: int, max_displacement: int, stride_1: int, pad: int
) -> int:
    border = max_displacement + (kernel_size - 1) // 2
    return math.ceil((pixels + 2 * pad - 2 * border) / stride_1)


def _pairs(
    shape: tuple[int, ...],
    kernel_size: int,
    max_displacement: int,
    stride_1: int,
    stride_2: int,
    pad: int,
    on_gpu: bool,
) -> Iterator[tuple[int, int, int, int, int, int, int]]:
    """The channel, row and column of an output, and the pixels of a and b, [N, H, W, C], that meet
    there if both are inside.
    """
    _, height, width, _ = shape
    radius, reach = (kernel_size - 1) // 2, max_displacement // stride_2
    window = range(-radius, radius + 1)
    steps = range(-reach, reach + 1)
    sizes = [
        output_size(size, kernel_size, max_displacement, stride_1, pad) for size in (height, width)
    ]
    for y, x in np.ndindex(*sizes):
        if on_gpu:
            middle = [k * stride_1 - pad for k in (y, x)]
        else:
            middle = [(k - pad) * stride_1 for k in (y, x)]
        row, column = (k + max_displacement + radius for k in middle)
        for channel, (j, i) in enumerate((j, i) for j in steps for i in steps):
            for v, u in ((v, u) for v in window for u in window):
                a_row, a_column = row + v, column + u
                b_row, b_column = a_row + j * stride_2, a_column + i * stride_2
                rows, columns = (a_row, b_row), (a_column, b_column)
                if all(0 <= k < height for k in rows) and all(0 <= k < width for k in columns):
                    yield channel, y, x, a_row, a_column, b_row, b_column


def _last(images: Array, data_format: str) -> Array:
    return images.transpose(0, 2, 3, 1) if data_format == "NCHW" else images


def correlation_cost(
    input_a: Array,
    input_b: Array,
    data_format: str = "NHWC",
    on_gpu: bool = True,
    **attributes: int,
) -> Array:
    a, b = _last(input_a, data_format), _last(input_b, data_format)
    reach = attributes["max_displacement"] // attributes["stride_2"]
    sizes = [
        output_size(size, **{k: v for k, v in attributes.items() if k != "stride_2"})
        for size in a.shape[1:3]
    ]
    output = np.zeros((a.shape[0], (2 * reach + 1) ** 2, *sizes), a.dtype)
    for c, y, x, ay, ax, by, bx in _pairs(a.shape, on_gpu=on_gpu, **attributes):
        output[:, c, y, x] += (a[:, ay, ax] * b[:, by, bx]).sum(axis=-1)
    return output / (attributes["kernel_size"] ** 2 * a.shape[3])


def correlation_cost_grad(
    orig_input_a: Array,
    orig_input_b: Array,
    top_diff: Array,
    data_format: str = "NHWC",
    on_gpu: bool = True,
    **attributes: int,
) -> tuple[Array, Array]:
    """Computes what the CPU kernel computes, for the windows of either device."""
    a, b = _last(orig_input_a, data_format), _last(orig_input_b, data_format)
    a_grad, b_grad = np.zeros_like(a), np.zeros_like(b)
    scale = attributes["kernel_size"] ** 2 * a.shape[3]
    for c, y, x, ay, ax, by, bx in _pairs(a.shape, on_gpu=on_gpu, **attributes):
        gradient = top_diff[:, c, y, x, None] / scale
        a_grad[:, ay, ax] += gradient * b[:, by, bx]
        b_grad[:, by, bx] += gradient * a[:, ay, ax]
    if data_format == "NCHW":
        return a_grad.transpose(0, 3, 1, 2), b_grad.transpose(0, 3, 1, 2)
    return a_grad, b_grad
