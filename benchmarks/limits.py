# SPDX-License-Identifier: Apache-2.0
"""What a case needs at least, and how long this machine takes for that alone."""

import concurrent.futures
import dataclasses
import functools
import math
import os
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf

# Of a product of square matrices, large enough to be bound by arithmetic.
_MATRIX = 1536
_PRODUCTS = 10


@dataclasses.dataclass(frozen=True)
class Needs:
    """What one call must do, whoever computes it.

    Attributes:
      bytes: Read and written: each input and each result once, and a row of a table
        as often as it is named.
      operations: Additions, multiplications and comparisons of floating-point
        numbers; 0 where they are few beside the bytes.
    """

    bytes: int
    operations: int = 0

    def seconds(self, copying: float, calls: int = 1) -> float:
        """The limit of so many calls: whichever of the two takes longer.

        Args:
          copying: What `copy` took for their bytes, in seconds.
          calls: How many.
        """
        if not self.operations:
            return copying
        return max(copying, calls * self.operations / operations_a_second())


def copy(bytes_moved: int) -> Callable[[], object]:
    """Copies floats on all cores of this process, between buffers that exist.

    Args:
      bytes_moved: Read and written together.
    """
    source = np.random.default_rng(0).random(bytes_moved // 8, dtype=np.float32)
    target = np.empty_like(source)
    cores = len(os.sched_getaffinity(0))
    pool = concurrent.futures.ThreadPoolExecutor(cores)
    pieces = list(
        zip(np.array_split(target, cores), np.array_split(source, cores), strict=True)
    )

    def run() -> object:
        return list(pool.map(lambda piece: np.copyto(*piece), pieces))

    return run


@functools.cache
def operations_a_second() -> float:
    """Of this machine on all cores, in float: the best of some products of matrices,
    of which each fused multiply-add counts as two operations."""
    a, b = (tf.random.normal([_MATRIX, _MATRIX]) for _ in range(2))
    best = math.inf
    for _ in range(_PRODUCTS):
        start = time.perf_counter()
        tf.linalg.matmul(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * _MATRIX**3 / best
