# SPDX-License-Identifier: Apache-2.0
"""Matrices for kernels that work on rows (tensorflow_ext/kernels/rows_gpu.cuh)."""

# Rows around the pack, the warp, what a warp and a block hold in registers, and
# beyond; parts of the rows, whole and not.
ROW_SHAPES = (
    (1, 1),
    (3, 2),
    (70, 7),
    (9, 8),
    (257, 32),
    (65, 33),
    (5, 128),
    (6, 136),
    (4, 255),
    (3, 256),
    (2, 257),
    (3, 512),
    (5, 1000),
    (2, 1024),
    (3, 1032),
    (2, 4096),
    (3, 8192),
    (2, 8200),
    (2, 16384),
    (2, 16392),
    (1, 30001),
    (16500, 4),
    (0, 8),
    (3, 0),
    (0, 0),
)
