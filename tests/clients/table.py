# SPDX-License-Identifier: Apache-2.0
"""The table op x client: how far gradients are from central differences.

Run it, or call `deviations()` and `render()`.
"""

import dataclasses
import functools
import math
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator

import rich.box
import rich.console
import rich.table

_HERE = pathlib.Path(__file__).absolute().parent
_ROOT = _HERE.parents[1]
_PYTHON = ("eager", "tf.function", "tf.gradients", "SymbolicGradient")
_BINARIES = {"C++": "cpp/cpp_client", "C": "c/c_client"}
CLIENTS = (*_PYTHON, *_BINARIES)

# By op and client: the largest deviation of any gradient of any case in double,
# relative where the gradient is larger than 1. Infinite: a check failed.
Deviations = dict[str, dict[str, float]]


def _case_files() -> list[pathlib.Path]:
    return sorted((_HERE / "cases").glob("*.cases"))


def _binary(name: str) -> pathlib.Path:
    """A client's program: beside this file under Bazel, else in bazel-bin."""
    for folder in (_HERE, _ROOT / "bazel-bin" / "tests" / "clients"):
        if (folder / name).is_file():
            return folder / name
    target = f"//tests/clients/{name.replace('/', ':')}"
    raise FileNotFoundError(f"{name} is not built: run 'bazel build {target}'")


@functools.cache
def _double_cases() -> list:
    """The cases in double that are not errors."""
    import cases

    everything = cases.read(*_case_files())
    good = [case for case in everything if "double" in case.types and not case.error]
    # Values need not be exact in any other type.
    return [dataclasses.replace(case, types=("double",)) for case in good]


def _from_binary(name: str, library: str) -> Iterator[tuple[str, float]]:
    """(op, deviation) of every check that the C or the C++ client makes."""
    options = ["--tsv", "--quick", "--type=double"]
    command = [_binary(name), *options, library, *_case_files()]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{name} ended with exit status {run.returncode}")
    for line in run.stdout.splitlines():
        op, _, _, what, deviation, _, verdict, *_ = line.split("\t")
        if verdict != "ok":
            yield op, math.inf
        elif what == "gradient":
            yield op, float(deviation)


def _from_python(client: str) -> Iterator[tuple[str, float]]:
    """(op, deviation) of every check of one of the ways from Python."""
    import check
    import clients

    for case in _double_cases():
        try:
            checks = check.check_first(case, clients.CLIENTS[client], "double")
        except Exception as error:
            print(f"{client}, {case.id}: {error}", file=sys.stderr)
            yield case.op, math.inf
            continue
        for result in checks:
            if not result.ok:
                yield case.op, math.inf
            elif result.what == "gradient":
                yield case.op, result.deviation


def deviations(progress: Callable[[str], None] = lambda client: None) -> Deviations:
    """Runs every case through every client.

    Args:
      progress: Called with the name of each client before its turn.

    Returns:
      The table, ops and clients in the order in which they are to be shown.

    Raises:
      FileNotFoundError: The C or the C++ client is not built.
    """
    sys.path.append(str(_HERE / "python"))
    import tensorflow as tf

    import tensorflow_ext

    tf.get_logger().setLevel("ERROR")  # Retracing is what this is about.
    library = f"{tensorflow_ext.sysconfig.get_lib()}/libtensorflow_ext.so"
    table: Deviations = {}
    for client in CLIENTS:
        progress(client)
        rows = (
            _from_binary(_BINARIES[client], library)
            if client in _BINARIES
            else _from_python(client)
        )
        for op, deviation in rows:
            cells = table.setdefault(op, {})
            cells[client] = max(cells.get(client, 0.0), deviation)
    return table


def _cell(deviation: float | None) -> str:
    if deviation is None:
        return "-"
    if math.isinf(deviation):
        return "[red]wrong[/red]"
    return f"{deviation:.0e}" if deviation else "0"


def render(table: Deviations) -> rich.table.Table:
    """The table for a terminal."""
    result = rich.table.Table(
        title="Largest deviation of any gradient from central differences (double)",
        caption="0: equal to the last bit, as a linear piece of a function can be",
        box=rich.box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    result.add_column("op", no_wrap=True)
    for client in CLIENTS:
        # Broken for narrow terminals.
        header = client.replace("tf.", "tf.\n").replace("cGradient", "c\nGradient")
        result.add_column(header, justify="right", no_wrap=True)
    for op, cells in table.items():
        name = op.removeprefix("TfExt>")
        result.add_row(name, *(_cell(cells.get(client)) for client in CLIENTS))
    return result


def main() -> int:
    """Prints the table; exit status 1 when something in it is wrong."""
    table = deviations()
    rich.console.Console().print(render(table))
    wrong = any(math.isinf(d) for cells in table.values() for d in cells.values())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
