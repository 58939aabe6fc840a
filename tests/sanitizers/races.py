"""Calls every op of the table of cases from several threads at once, each call
sharing its work out over threads of TensorFlow.

    python3 races.py libkernels_thread.so

ThreadSanitizer ends the program where two of them meet.
"""

import argparse
import concurrent.futures

import kernels
import mutations
import numpy as np
import tensorflow as tf
from cases import Case
from commit_sampling import turn_of_commit

_CALLERS = 3
_TYPES = ("float", "half", "double", "int32")


def _can_run(case: Case) -> bool:
    return not case.error and not set(_TYPES).isdisjoint(case.types)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--only", default="", help="ops whose name contains this")
    arguments = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(4)
    functions = kernels.load(arguments.library)
    if arguments.only.startswith("TfExtFaulty>"):
        # One fast thread may do it all, but rarely every time.
        for _ in range(500):
            functions[arguments.only]({"x": np.ones(1 << 16, np.float32)}, {})
        return
    by_op = kernels.cases_by_op(functions, arguments.only, _can_run)
    calls = [
        mutations.make(case, dtype)
        for cases in by_op.values()
        for case in cases
        for dtype in turn_of_commit(case.id, [t for t in case.types if t in _TYPES])
    ]
    for call in calls:
        function = functions[call.op]
        # Makes the kernel. ThreadSanitizer does not see how TensorFlow passes it to other threads,
        # but it sees that they start later.
        first = function(call.inputs, call.attributes)
        with concurrent.futures.ThreadPoolExecutor(_CALLERS) as callers:
            results = [
                callers.submit(function, call.inputs, call.attributes) for _ in range(_CALLERS)
            ]
        for result in results:
            for a, b in zip(first, result.result(), strict=True):
                assert a.tobytes() == b.tobytes(), f"{call}: {a} and {b}"
    print(f"{len(calls)} calls from {_CALLERS} threads each")


if __name__ == "__main__":
    main()
