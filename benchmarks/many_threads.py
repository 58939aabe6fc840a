"""The shards of our kernels for a machine with 64 threads, simulated on one with fewer.

shards.cc makes the kernels split their work as for 64 threads and runs the shards one after the
other. Their times show how far the longest is from an equal part, and the memory after each shows
which shards write to the same cache line. The simulation cannot show how 64 threads slow each other
down through shared memory.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import lowerings
import measure
import results
import tensorflow as tf
from results import Result
from shards import THREADS, Recorder, Region

# The recorder must exist before TensorFlow is imported.
_PROGRAM = """
import sys
import shards
recorder = shards.Recorder()
import many_threads
many_threads.write(recorder, sys.argv[1])
"""

_SUITE = "many_threads"


def _row(case: str, regions: list[Region], beside: float) -> Result:
    alone = sum(region.seconds for region in regions)
    together = sum(region.on_threads for region in regions)
    shards = [region.shards for region in regions]
    mean = alone / sum(shards)
    lines = sum(region.lines for region in regions)
    shared = sum(region.shared_lines for region in regions)
    return Result(
        f"{THREADS} threads, simulated",
        case,
        together,
        "1 thread",
        together / alone,
        note=f"{' + '.join(map(str, shards))} shards, {1e6 * mean:.1f} µs on average; "
        f"{shared} of {lines} cache lines written by several; "
        f"at most {1e6 * beside:.0f} µs beside them",
    )


def _rows(recorder: Recorder) -> Iterator[Result]:
    """A row for each op, forward and with its gradients."""
    for case in lowerings.cases():
        upstream = tf.ones_like(case.function(*case.inputs))
        for phase, by in measure.forward_and_backward(*case.by):
            step = measure.step(case.function, case.inputs, by, upstream)
            regions, beside = recorder.regions(step)
            if regions:
                yield _row(f"{case.name}, {phase}", regions, beside)


def write(recorder: Recorder, file: str) -> None:
    """Writes the rows to a file, for `results.load`.

    The reader knows the machine; describing it would load PyTorch here.
    """
    suite = results.measured_today(list(_rows(recorder)), machine={})
    results.save({_SUITE: suite}, pathlib.Path(file))


def environment() -> dict[str, str]:
    """The environment of a process that has the imports of this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def run() -> list[Result]:
    """Runs them in a separate process, because this one has imported TensorFlow."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "rows.json")
        subprocess.run([sys.executable, "-c", _PROGRAM, str(file)], env=environment(), check=True)
        return results.load(file)[_SUITE].results
