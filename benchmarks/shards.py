"""The shards of kernels on a machine with 64 threads, recorded by shards.cc.

This module does not import TensorFlow, which must find shards.cc loaded.
"""

import ctypes
import importlib.util
import pathlib
import sys
import time
from collections.abc import Callable

import libraries

THREADS = 64  # as in shards.cc

_FRAMEWORK = "libtensorflow_framework.so.2"
_OFF, _TIMES, _LINES = range(3)  # modes of tfe_record_shards
_MOST_REGIONS = 256
_RUNS = 5


class Region(ctypes.Structure):
    """A part of the work that threads share, with the layout of shards.cc: the seconds of all its
    shards and of the longest, the number of shards, of cache lines that they wrote, and of lines
    that several wrote."""

    _fields_ = [
        ("seconds", ctypes.c_double),
        ("longest", ctypes.c_double),
        ("shards", ctypes.c_int64),
        ("lines", ctypes.c_int64),
        ("shared_lines", ctypes.c_int64),
    ]

    @property
    def on_threads(self) -> float:
        """The least seconds on THREADS threads."""
        return max(self.longest, self.seconds / THREADS)


class Recorder:
    """Records the shards of a step. Create it before TensorFlow is imported."""

    def __init__(self) -> None:
        if "tensorflow" in sys.modules:
            raise RuntimeError("Recorder: TensorFlow has already been imported")
        # OpenSSL comes first, because TensorFlow's library has functions with the same names, and
        # libraries loaded after it see those.
        for module in ("hashlib", "ssl"):
            importlib.import_module(module)
        tensorflow = importlib.util.find_spec("tensorflow")
        assert tensorflow
        assert tensorflow.origin
        # The library that needs it finds it by name.
        ctypes.CDLL(str(pathlib.Path(tensorflow.origin).parent / _FRAMEWORK))
        library = libraries.find("libshards.so")
        self._library = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)

    def _record(self, work: Callable[[], object], mode: int) -> tuple[float, list[Region]]:
        self._library.tfe_record_shards(mode)
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        self._library.tfe_record_shards(_OFF)
        regions = (Region * _MOST_REGIONS)()
        count = self._library.tfe_recorded_shards(regions, _MOST_REGIONS)
        assert count <= _MOST_REGIONS
        return seconds, list(regions[:count])

    def regions(self, work: Callable[[], object]) -> tuple[list[Region], float]:
        """The regions of a step, in its quickest run, and the other seconds of that run,
        TensorFlow's own work included."""
        work()
        seconds, regions = min(
            (self._record(work, _TIMES) for _ in range(_RUNS)), key=lambda run: run[0]
        )
        _, written = self._record(work, _LINES)
        for region, other in zip(regions, written, strict=True):
            region.lines, region.shared_lines = other.lines, other.shared_lines
        return regions, seconds - sum(region.seconds for region in regions)
