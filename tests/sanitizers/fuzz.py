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
from cases import Case

_REFUSALS = (
    tf.errors.InvalidArgumentError,
    tf.errors.ResourceExhaustedError,  # larger than this program allows
    tf.errors.UnimplementedError,
)


def _is_small(case: Case) -> bool:
    sizes = [np.prod(declared.shape, dtype=float) for declared in case.inputs]
    return max(sizes, default=0) < 1 << 14


def _call(function: kernels.Function, call: mutations.Call) -> str:
    """Returns "accepted" or "refused"; raises any other outcome."""
    try:
        outputs = function(call.inputs, call.attributes)
    except _REFUSALS as refusal:
        too_large = isinstance(refusal, tf.errors.ResourceExhaustedError)
        if too_large or call.op in str(refusal):
            return "refused"
        raise RuntimeError("an error that does not name the op") from refusal
    except (TypeError, ValueError, OverflowError):
        return "refused"  # TensorFlow's Python refused it before the op ran
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
    by_op = kernels.cases_by_op(functions, arguments.only, _is_small)
    each = -(-arguments.count // len(by_op))
    counts: collections.Counter[str] = collections.Counter()
    for op, cases in by_op.items():
        for number in range(arguments.first, arguments.first + each):
            random = np.random.default_rng([zlib.crc32(op.encode()), number])
            case = mutations.pick(random, cases)
            call = mutations.make(case, mutations.pick(random, case.types))
            mutations.mutate(call, random)
            # Printed before the call, which may be the last one.
            print(f"\r{op} {number}: {call}"[:2000], file=sys.stderr, flush=True)
            counts[_call(functions[op], call)] += 1
    said = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"\n{len(by_op)} ops, {counts.total()} calls: {said}")


if __name__ == "__main__":
    main()
