"""The formulas of TensorFlow Addons' CUDA kernels that differ from those of its CPU kernels."""

import numpy as np

Array = np.ndarray


def embedding_bag_params_grad(indices: Array, params: Array, weights: Array, grads: Array) -> Array:
    """With 'SUM': the gradient of bag b is read from element b on, not from row b."""
    params_grads = np.zeros_like(params)
    width = params.shape[1]
    for bag, position in np.ndindex(indices.shape):
        gradient = grads.reshape(-1)[bag : bag + width]
        params_grads[indices[bag, position]] += weights[bag, position] * gradient
    return params_grads


def correlation_cost_a_grad(
    a: Array,
    b: Array,
    top_diff: Array,
    *,
    kernel_size: int,
    max_displacement: int,
    stride_1: int,
    stride_2: int,
    pad: int,
) -> Array:
    """The gradient by input_a, for NHWC. The kernel visits as many pixels as the image has,
    stride_1 apart. This function skips what the kernel writes beyond the image.
    """
    _, height, width, channels = a.shape
    padding = [(0, 0), (pad, pad), (pad, pad), (0, 0)]
    padded = np.pad(b, padding)
    radius, reach = (kernel_size - 1) // 2, max_displacement // stride_2
    steps = range(-reach, reach + 1)
    gradient = np.zeros_like(a)
    for row, column in np.ndindex(height, width):
        y, x = row * stride_1 + pad, column * stride_1 + pad
        if y - pad >= height or x - pad >= width:
            continue
        windows = []
        for position, size in ((y, top_diff.shape[2]), (x, top_diff.shape[3])):
            # Division towards zero, as in C.
            first = int((position - radius - max_displacement) / stride_1)
            last = int((position + radius - max_displacement) / stride_1)
            windows.append(slice(max(0, first), max(0, min(size - 1, last) + 1)))
        for channel, (j, i) in enumerate((j, i) for j in steps for i in steps):
            other = padded[:, y + j * stride_2, x + i * stride_2]
            upstream = top_diff[:, channel, windows[0], windows[1]].sum(axis=(1, 2))
            gradient[:, y - pad, x - pad] += upstream[:, None] * other
    return gradient / (kernel_size**2 * channels)
