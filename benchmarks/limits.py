"""The least work that a case needs, and how long this machine takes for it."""

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

# The side of square matrices whose product is bound by arithmetic.
_MATRIX = 1536
_PRODUCTS = 10
_TRIALS = 5  # for each way to copy


@dataclasses.dataclass(frozen=True)
class Needs:
    """The work that one call must do in any implementation.

    Attributes:
      bytes: Read and written: each input and each result once, and a row of a table as often as it
        is named.
      operations: Additions, multiplications and comparisons of floating-point numbers; 0 if they
        are few compared with the bytes.
    """

    bytes: int
    operations: int = 0

    def seconds(self, copying: float, calls: int = 1) -> float:
        """The limit for `calls` calls: the larger of the two times.

        Args:
          copying: The time of `copy` for their bytes, in seconds.
          calls: The number of calls.
        """
        if not self.operations:
            return copying
        return max(copying, calls * self.operations / operations_a_second())


@functools.cache
def _copy_past_caches() -> Callable[[np.ndarray, np.ndarray], object]:
    """`np.copyto` that bypasses the caches, as copying.cc explains."""
    function = ctypes.CDLL(libraries.find("libcopying.so")).tfe_copy_past_caches
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    return lambda to, source: function(to.ctypes.data, source.ctypes.data, to.nbytes)


def copy(bytes_moved: int) -> Callable[[], object]:
    """Copies floats on all cores of this process, between existing buffers, through the caches or
    past them, whichever is faster for this size.

    Args:
      bytes_moved: The sum of bytes read and written.
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
    """The floating-point operations per second of this machine on all cores, in float: the best of
    several matrix products. A fused multiply-add counts as two operations."""
    a, b = (tf.random.normal([_MATRIX, _MATRIX]) for _ in range(2))
    best = math.inf
    for _ in range(_PRODUCTS):
        best = min(best, _seconds(functools.partial(tf.linalg.matmul, a, b)))
    return 2 * _MATRIX**3 / best
