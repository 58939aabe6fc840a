"""check_op and check_library."""

import dataclasses
import functools
import os
import pathlib
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2

from tensorflow_ext._runtime import _attributes, _library, _wrappers
from tensorflow_ext.testing._op import _inputs, _worker
from tensorflow_ext.testing._op._inputs import Given
from tensorflow_ext.testing._op._processes import workplace
from tensorflow_ext.testing._op._report import OpFinding, OpReport
from tensorflow_ext.testing._op._subject import Options
from tensorflow_ext.testing._op._variants import variants
from tensorflow_ext.testing._op._worker import CHECKS, Load, Task


def check_op(
    op: str,
    inputs: Given | None = None,
    attrs: Mapping[str, Any] | None = None,
    *,
    without_gradient: Sequence[str] = (),
    surrogate: bool = False,
    order: int = 2,
    checks: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    samples: int = 16,
    tolerance: float = 64.0,
    seed: int = 0,
    libraries: Sequence[str | os.PathLike[str]] | None = None,
    modules: Sequence[str] = (),
    isolated: bool = True,
    timeout: float = 120.0,
    raise_error: bool = True,
) -> OpReport:
    """Checks that an op is complete and correct.

    It checks every combination of attributes that the OpDef admits, or a sample, which
    the report then states. `CHECKS` names the checks; docs/testing_gradients.md describes
    them. They run in other processes, so an op that crashes is a finding and does not end
    this process.

    Args:
      op: Name of a loaded op, such as 'My>Op'.
      inputs: A list with one entry per input of the op (for an input that is a list, a
        list of tensors), or a dict of these entries by name. Or a function that takes the
        attributes, a dict, and returns one of these, or None if it has no inputs for them.
        An entry is a tensor, an array or a number, which is converted to the type that
        the attributes give, or a tf.TensorSpec for random numbers. By default inputs are
        found by trying: random numbers, small integers, of shapes that the op accepts.
      attrs: The values to check for some attributes, each a list or a single value. By
        default all types, strings and booleans that the OpDef admits, and for numbers the
        default, the minimum and one more value.
      without_gradient: Names of floating inputs that deliberately have no gradient.
      surrogate: Whether the gradient deliberately is not the derivative, as for a
        straight-through estimator. It is then compared between all clients, but not with
        differences. Its own gradient is compared with differences.
      order: 1 skips the second order.
      checks: The checks to run; all by default.
      leave_out: Checks to skip.
      samples: How many combinations of attributes to check at most.
      tolerance: How many unit roundoffs, relative to a tensor's largest element, the
        results of two ways may be apart.
      seed: Seed of all random numbers.
      libraries: Paths of the libraries to load; by default the op libraries that this
        process has loaded.
      modules: Names of Python modules to import that register gradients or rules of
        tf.vectorized_map.
      isolated: False runs the checks in this process, for a debugger. An op that crashes
        then ends the process.
      timeout: Seconds that a single call may take.
      raise_error: Whether to raise an error for a fault.

    Returns:
      A report of the findings, which prints as a table. `passed` is True if there is no
      fault.

    Raises:
      OpCheckError: The op has a fault, and `raise_error` is set. It has the report.
      tf.errors.NotFoundError: There is no such op in this process.
      ValueError: The inputs or attributes do not fit the op, or there is no check of a
        given name.
    """
    _attributes.find_op_def(op)  # Raises an error if there is no such op.
    (op_def,) = (o for o in _wrappers.op_defs(op) if o.name == op)
    if libraries is None:
        libraries = _loaded_libraries()
    paths = [str(pathlib.Path(path).absolute()) for path in libraries]
    options = Options(tuple(without_gradient), surrogate, tolerance, order, seed)
    wanted = _wanted(checks, leave_out)
    task = _task(op_def, inputs, attrs, options, wanted, samples, Load(paths, list(modules)))
    if isolated:
        with workplace(timeout) as place:
            findings = place.check(task)
    else:
        findings = []

        def say(said: tuple[str, Any]) -> None:
            if said[0] == "finding":
                findings.append(said[1])

        _worker.perform(task, say)
    report = OpReport([op], wanted, _in_order(findings, wanted))
    if raise_error:
        report.raise_if_failed()
    return report


# The options of an op that check_library takes: those of Options, and of its task.
_FIELDS = {field.name for field in dataclasses.fields(Options)} - {"seed"}
_OPTIONS = _FIELDS | {"inputs", "attrs", "checks", "leave_out", "samples"}


def check_library(
    path: str | os.PathLike[str],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    ops: Sequence[str] | None = None,
    checks: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    samples: int = 16,
    seed: int = 0,
    modules: Sequence[str] = (),
    processes: int | None = None,
    timeout: float = 120.0,
    raise_error: bool = True,
) -> OpReport:
    """Checks every op of a library, as `check_op` does.

    The library is loaded only in other processes. If it cannot be loaded, or its ops
    crash, this process is unaffected.

    Args:
      path: Path of the library, a shared object.
      options: Arguments for `check_op` by op: `inputs`, `attrs`, `without_gradient`,
        `surrogate`, `order`, `checks`, `leave_out`, `samples`, `tolerance`.
      ops: Names of the ops to check; all by default.
      checks: The checks to run; all by default.
      leave_out: Checks to skip, for all ops.
      samples: How many combinations of attributes of an op to check at most.
      seed: Seed of all random numbers.
      modules: Names of Python modules to import after the library is loaded.
      processes: How many ops to check at once; by default one for each processor.
      timeout: Seconds that a single call may take.
      raise_error: Whether to raise an error for a fault.

    Returns:
      A report of the findings, which prints as a table.

    Raises:
      OpCheckError: An op has a fault, and `raise_error` is set. It has the report.
      RuntimeError: The library cannot be loaded.
      ValueError: `ops` or `options` name an op that the library does not have;
        otherwise as `check_op`.
    """
    library = str(pathlib.Path(path).absolute())
    options = dict(options or {})
    wanted = _wanted(checks, leave_out)
    with workplace(timeout) as place:
        serialized = place.list_ops(library, tuple(modules))
    op_defs = {o.name: o for o in map(op_def_pb2.OpDef.FromString, serialized)}
    unknown = sorted({*options, *(ops or [])} - set(op_defs))
    if unknown:
        raise ValueError(f"{library} has no op {unknown}; it has {sorted(op_defs)}.")
    names = list(op_defs) if ops is None else list(ops)
    load = Load([library], list(modules))
    tasks = {}
    for name in names:
        own = dict(options.get(name, {}))
        unknown = sorted(own.keys() - _OPTIONS)
        if unknown:
            raise ValueError(f"options of {name}: unknown options {unknown}")
        how = dataclasses.replace(
            Options(seed=seed), **{key: own[key] for key in own.keys() & _FIELDS}
        )
        of_op = _wanted(own.get("checks"), own.get("leave_out", ()))
        tasks[name] = _task(
            op_defs[name],
            own.get("inputs"),
            own.get("attrs"),
            how,
            [check for check in wanted if check in of_op],
            own.get("samples", samples),
            load,
        )
    found = _check_all(tasks, processes or os.cpu_count() or 1, timeout)
    findings = [finding for name in names for finding in found[name]]
    report = OpReport(names, wanted, findings)
    if raise_error:
        report.raise_if_failed()
    return report


def _check_all(
    tasks: Mapping[str, Task], processes: int, timeout: float
) -> dict[str, list[OpFinding]]:
    """Distributes the ops over several workplaces."""
    pending: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in tasks:
        pending.put(name)
    found: dict[str, list[OpFinding]] = {}
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with workplace(timeout) as place:
                while not failures:
                    name = pending.get_nowait()
                    wanted = list(tasks[name].checks)
                    found[name] = _in_order(place.check(tasks[name]), wanted)
        except queue.Empty:
            pass
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(min(processes, len(tasks)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found


def _wanted(checks: Sequence[str] | None, leave_out: Sequence[str]) -> list[str]:
    for name in (*(checks or ()), *leave_out):
        if name not in CHECKS:
            raise ValueError(f"there is no check {name!r}; expected one of {CHECKS}.")
    chosen = CHECKS if checks is None else checks
    return [name for name in CHECKS if name in chosen and name not in leave_out]


def _task(
    op_def: op_def_pb2.OpDef,
    inputs: Given | None,
    attrs: Mapping[str, Any] | None,
    options: Options,
    checks: Sequence[str],
    samples: int,
    load: Load,
) -> Task:
    known = [argument.name for argument in op_def.input_arg]
    unknown = [name for name in options.without_gradient if name not in known]
    if unknown:
        raise ValueError(f"{op_def.name} has no input {unknown}; expected some of {known}.")
    values = {**_inputs.lists_of(op_def, inputs), **(attrs or {})}
    sample = variants(op_def, values, samples, options.seed)
    given = None
    if inputs is not None:
        given = [_inputs.from_given(v, inputs, options.seed) for v in sample.variants]
    return Task(
        op_def.SerializeToString(),
        [(variant.attrs, variant.guessed) for variant in sample.variants],
        sample.total,
        given,
        options,
        list(checks),
        load,
    )


def _in_order(findings: list[OpFinding], checks: Sequence[str]) -> list[OpFinding]:
    order = {check: k for k, check in enumerate(checks)}
    return sorted(findings, key=lambda finding: order.get(finding.check, -1))


def _loaded_libraries() -> list[str]:
    """The op libraries of this process, except TensorFlow's and this one: the shared
    objects that depend on TensorFlow's.
    """
    theirs = pathlib.Path(tf.__file__).absolute().parent
    found: dict[str, None] = {}
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            path = pathlib.Path("/", line.rstrip("\n").partition("/")[2])
            if path.is_relative_to(theirs) or path.is_relative_to(theirs.resolve()):
                continue
            if str(path) not in found and _is_op_library(path):
                found[str(path)] = None
    return list(found)


@functools.lru_cache
def _is_op_library(path: pathlib.Path) -> bool:
    if ".so" not in path.name or "cpython-" in path.name or not path.is_file():
        return False
    if path.samefile(_library.PATH):
        return False
    return b"libtensorflow_framework.so" in path.read_bytes()
