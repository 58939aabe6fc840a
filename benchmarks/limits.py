# SPDX-License-Identifier: Apache-2.0
"""What a case needs at least, and how long this machine takes for that alone."""

import concurrent.futures
import ctypes
import dataclasses
import functools
import math
import os
import time
from collections.abc import Callable

import libraries
import numpy as np
import tensorflow as tf

# Of a product of square matrices, large enough to be bound by arithmetic.
_MATRIX = 1536
_PRODUCTS = 10
_TRIALS = 5  # of each way to copy


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


@functools.cache
def _copy_past_caches() -> Callable[[np.ndarray, np.ndarray], object]:
    """`np.copyto` that writes past the caches, as copying.cc says."""
    function = ctypes.CDLL(libraries.find("libcopying.so")).tfe_copy_past_caches
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    return lambda to, source: function(to.ctypes.data, source.ctypes.data, to.nbytes)


def copy(bytes_moved: int) -> Callable[[], object]:
    """Copies floats on all cores of this process, between buffers that exist: through
    the caches or past them, in whichever way so many are copied faster.

    Args:
      bytes_moved: Read and written together.
    """
    source = np.random.default_rng(0).random(bytes_moved // 8, dtype=np.float32)
    target = np.empty_like(source)
    cores = len(os.sched_getaffinity(0))
    pool = concurrent.futures.ThreadPoolExecutor(cores)
    pieces = list(zip(np.array_split(target, cores), np.array_split(source, cores), strict=True))
    ways = [
        functools.partial(_on_all, pool, way, pieces) for way in (np.copyto, _copy_past_caches())
    ]
    return min(ways, key=lambda way: min(_seconds(way) for _ in range(_TRIALS)))


def _on_all(
    pool: concurrent.futures.Executor,
    way: Callable[[np.ndarray, np.ndarray], object],
    pieces: list[tuple[np.ndarray, np.ndarray]],
) -> object:
    return list(pool.map(way, *zip(*pieces, strict=True)))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@functools.cache
def operations_a_second() -> float:
    """Of this machine on all cores, in float: the best of some products of matrices,
    of which each fused multiply-add counts as two operations."""
    a, b = (tf.random.normal([_MATRIX, _MATRIX]) for _ in range(2))
    best = math.inf
    for _ in range(_PRODUCTS):
        best = min(best, _seconds(functools.partial(tf.linalg.matmul, a, b)))
    return 2 * _MATRIX**3 / best
