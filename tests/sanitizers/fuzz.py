# SPDX-License-Identifier: Apache-2.0
"""Calls every op with inputs that nobody should give to it.

    python3 fuzz.py libkernels_address.so --count 20000
    python3 fuzz.py libkernels_address.so --only RoiPool --from 17 --count 1

A call may succeed, with the same bits when it is repeated, or be refused with an
error that names the op. Anything else ends the program: a crash, a report of the
sanitizer, another error. The last line then says which call it was.
"""

import argparse
import collections
import sys
import zlib

import kernels
import mutations
import numpy as np
import tensorflow as tf
from case_files import read
from cases import Case

_REFUSALS = (
    tf.errors.InvalidArgumentError,
    tf.errors.ResourceExhaustedError,  # larger than this program allows
    tf.errors.UnimplementedError,
)


def _cases(only: str) -> dict[str, list[Case]]:
    """The cases of every op whose name contains `only`."""
    by_op = collections.defaultdict(list)
    for case in read(*kernels.CASES):
        size = max((np.prod(i.shape, dtype=float) for i in case.inputs), default=0)
        if only in case.op and size < 1 << 14:
            by_op[case.op].append(case)
    return by_op


def _call(function: kernels.Function, call: mutations.Call) -> str:
    """ "accepted" or "refused"; raises what neither is."""
    try:
        outputs = function(call.inputs, call.attributes)
    except _REFUSALS as refusal:
        too_large = isinstance(refusal, tf.errors.ResourceExhaustedError)
        if too_large or call.op in str(refusal):
            return "refused"
        raise RuntimeError("an error that does not name the op") from refusal
    except (TypeError, ValueError, OverflowError):
        return "refused"  # by TensorFlow's Python, before it reaches the op
    again = function(call.inputs, call.attributes)
    for first, second in zip(outputs, again, strict=True):
        assert first.tobytes() == second.tobytes(), "two calls, two results"
    return "accepted"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--count", type=int, default=20_000, help="calls in all")
    parser.add_argument("--from", type=int, default=0, dest="first", help="number")
    parser.add_argument("--only", default="", help="ops whose name contains this")
    arguments = parser.parse_args()
    functions = kernels.load(arguments.library)
    if arguments.only.startswith("TfExtFaulty>"):
        fault = functions[arguments.only]
        dtype = np.float32 if "Read" in arguments.only else np.int32
        fault({"x": np.full(5, 2**31 - 1).astype(dtype)}, {})
        return
    by_op = _cases(arguments.only)
    missing = {op for op in functions if op.startswith("TfExt>")} - set(by_op)
    assert arguments.only or not missing, f"ops without a case: {sorted(missing)}"
    each = -(-arguments.count // len(by_op))
    counts: collections.Counter[str] = collections.Counter()
    for op, op_cases in sorted(by_op.items()):
        for number in range(arguments.first, arguments.first + each):
            random = np.random.default_rng([zlib.crc32(op.encode()), number])
            case = op_cases[random.integers(len(op_cases))]
            dtype = case.types[random.integers(len(case.types))]
            call = mutations.make(case, dtype)
            mutations.mutate(call, random)
            # Before the call, which may be the last.
            print(f"\r{op} {number}: {call}"[:2000], file=sys.stderr, flush=True)
            counts[_call(functions[op], call)] += 1
    said = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"\n{len(by_op)} ops, {counts.total()} calls: {said}")


if __name__ == "__main__":
    main()
