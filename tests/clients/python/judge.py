"""Judges every client, case by case.

    python judge.py [--client=NAME] [--case=TEXT] [--type=TYPE] [--quick] [--tsv]
      [CASES...]

Prints a line a case. Exit status: 0; 1 when a check fails; 2 when the arguments,
the library, a client's program or the files of cases are wrong.
"""

import argparse
import dataclasses
import functools
import pathlib
import sys
from collections.abc import Iterator, Sequence

import case_files
import check
import clients
import tensorflow as tf
from cases import DTYPES, Case
from check import Check
from client_process import ClientProcess, EagerProcess
from clients import Client
from eager_c import EagerC
from protocol import LEFT_OUT, PROGRAMS, find_program

import tensorflow_ext

_FOLDER = pathlib.Path(__file__).absolute().parents[1]
LIBRARY = f"{tensorflow_ext.sysconfig.get_lib()}/libtensorflow_ext.so"
# Eager ops of these languages with their gradient tapes, by the programs that are clients, too.
_TAPES = {f"Eager{name}": name for name in ("Java", "Rust") if name in PROGRAMS}
EAGER = ("EagerC", *_TAPES)
CLIENTS = (*clients.CLIENTS, *EAGER, *PROGRAMS)
# The SymbolicGradient op itself has no gradient.
WITH_SECOND_ORDER = tuple(name for name in CLIENTS if name != "SymbolicGradient")
# Clients with graphs in which a shape may be unknown.
WITH_UNKNOWN_SHAPES = ("tf.function", "tf.gradients", *PROGRAMS)
# XLA's kernels cannot check values.
WITH_ERRORS = ("eager", "tf.function", "tf.gradients", *EAGER, *PROGRAMS)
# Clients that report the code of every error.
WITH_CODES = (*EAGER, *PROGRAMS)
# The ops of this library that the table of cases must have. The exceptions are ops that compute no
# numbers, a mark that occurs only in definitions and that no client sees, and the ops that the
# debug switch and the wrappers of other languages add (tests/wrappers runs the latter).
_WITHOUT_CASES = {
    "TfExt>NoGradient",
    "TfExt>CheckGradientShape",
    "TfExt>WithUpstream",
    *tensorflow_ext.raw_ops.CLIENT_OPS,
}
OPS = sorted(set(tensorflow_ext.raw_ops.OPS.values()) - _WITHOUT_CASES)


@functools.cache
def find_client(name: str) -> Client:
    """The client of this name; its program is started once."""
    if name in PROGRAMS:
        return ClientProcess(find_program(name), LIBRARY)
    if name == "EagerC":
        return EagerC(LIBRARY)
    if name in _TAPES:
        process = find_client(_TAPES[name])
        assert isinstance(process, ClientProcess)
        return EagerProcess(process)
    return clients.CLIENTS[name]


def all_checks(case: Case, name: str, quick: bool = False) -> Iterator[Check]:
    """Every check of a case through the client of this name.

    Args:
      case: The case.
      name: One of `CLIENTS`.
      quick: No second order, no graph with unknown shapes.
    """
    client = find_client(name)
    if case.error:
        if name in WITH_ERRORS:
            yield from check.check_errors(case, client, exact=name in WITH_CODES)
        return
    try:
        for dtype in case.types:
            yield from check.check_first(case, client, dtype, second=not quick)
        if not quick and name in WITH_UNKNOWN_SHAPES:
            yield from check.check_unknown_shapes(case, client)
        if not quick and name in WITH_SECOND_ORDER:
            yield from check.check_second(case, client)
    except (tf.errors.OpError, ValueError, LookupError) as error:
        # If a client fails in any way, the other cases are still judged.
        message = str(error).replace("\n", " ")
        yield check.check_that(False, "error", "", message)


def in_one_type(cases: Sequence[Case], dtype: str) -> list[Case]:
    """The cases that list this type, as if they listed no other.

    In double, their values then need not be exact in any shorter type.
    """
    return [dataclasses.replace(case, types=(dtype,)) for case in cases if dtype in case.types]


def _largest(checks: Sequence[Check], what: str) -> str:
    deviations = [c.deviation for c in checks if c.what == what]
    return f"  {what} {max(deviations):.1e}" if deviations else ""


def _print(case: Case, client: str, checks: Sequence[Check], tsv: bool) -> None:
    if tsv:
        for c in checks:
            numbers = f"{c.deviation:.3g}\t{c.limit:.3g}"
            verdict = "ok" if c.ok else "FAILED"
            place = f"{client}\t{case.op}\t{case.name}\t{c.dtype}\t{c.what}"
            print(f"{place}\t{numbers}\t{verdict}\t{c.message}")
        return
    for c in checks:
        if not c.ok:
            print(f"       {c}")
    verdict = "ok" if all(c.ok for c in checks) else "FAILED"
    line = f"{verdict:6} {client:16} {case.op:30} {case.name:26}"
    line += _largest(checks, "gradient") + _largest(checks, "second")
    used = [c.deviation / c.limit for c in checks if c.what == "types" and c.limit]
    print(line + (f"  types {max(used):.2f} of the limit" if used else ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--client", choices=CLIENTS, help="this client alone")
    parser.add_argument(
        "--case", action="append", metavar="WORD", help="cases whose name or op has this; several"
    )
    parser.add_argument("--type", choices=DTYPES, help="this type alone")
    parser.add_argument("--quick", action="store_true", help="no second order, no unknown shapes")
    parser.add_argument("--tsv", action="store_true", help="a line a check")
    parser.add_argument("files", nargs="*", metavar="CASES")
    options = parser.parse_args(arguments)
    for name in LEFT_OUT:
        print(f"{name} is left out: not built, or not here", file=sys.stderr)
    tf.get_logger().setLevel("ERROR")  # Retracing is intended here.
    names = [options.client] if options.client else CLIENTS
    try:
        cases = case_files.read(*options.files) if options.files else case_files.read_all()
        for name in names:
            find_client(name)
    except (OSError, case_files.MalformedCaseError, tf.errors.OpError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.type:
        cases = in_one_type(cases, options.type)
    failed = count = 0
    for case in cases:
        if not any(word in case.name or word in case.op for word in options.case or [""]):
            continue
        for name in names:
            checks = list(all_checks(case, name, options.quick))
            _print(case, name, checks, options.tsv)
            count += 1
            failed += not all(c.ok for c in checks)
    if not options.tsv:
        print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
