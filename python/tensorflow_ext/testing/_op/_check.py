# SPDX-License-Identifier: Apache-2.0
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
    """Checks that an op has all that an op is to have, and that all of it is right.

    Every combination of attributes that the OpDef admits is checked, or a sample, which
    the report then says. `CHECKS` names the checks; docs/testing_gradients.md says what
    each looks at. They are made in other processes, so that an op that crashes is a
    finding, and does not end this one.

    Args:
      op: Name of an op that is loaded, such as 'My>Op'.
      inputs: Either a list with one entry per input of the op, a list of tensors for an
        input that is a list; or a dict of these by name; or a function that makes one
        of the attributes, a dict, and gives None for attributes that it has nothing
        for. Tensors, arrays or numbers, which are brought to the type that the
        attributes say; or a tf.TensorSpec for random ones. By default inputs are
        found: random numbers, small integers, of shapes that the op takes.
      attrs: For some attributes the values to check, a list, or one value. By default
        all types, strings and booleans that the OpDef admits, and of numbers the
        default, the minimum and another.
      without_gradient: Names of inputs that are floating, and have no gradient on
        purpose.
      surrogate: Whether the gradient is meant not to be the derivative, as that of a
        straight-through estimator: then it is compared between all clients, but not
        with differences. Its own gradient is.
      order: 1 leaves the second order out.
      checks: Those to make; all by default.
      leave_out: Checks not to make.
      samples: How many combinations of attributes to check at most.
      tolerance: How many unit roundoffs, relative to a tensor's largest element, the
        results of two ways may be apart.
      seed: Of all random numbers.
      libraries: Paths of the libraries to load; by default the op libraries that this
        process has loaded.
      modules: Names of Python modules to import, where gradients or rules of
        tf.vectorized_map are registered in Python.
      isolated: False checks in this process, where a debugger sees it; an op that
        crashes then ends it.
      timeout: Seconds that a single call may take.
      raise_error: Whether a fault is an error.

    Returns:
      What was found, as a report that prints as a table; `passed` says whether all is
      well.

    Raises:
      OpCheckError: The op has a fault, and `raise_error`. Has the report.
      tf.errors.NotFoundError: There is no such op in this process.
      ValueError: Inputs or attributes are given that do not fit the op, or there is no
        check of a name.
    """
    _attributes.find_op_def(op)  # raises where there is none
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

    The library is loaded in other processes alone; one that cannot be loaded, or whose
    ops crash, leaves this one as it is.

    Args:
      path: Of the library, a shared object.
      options: By op, what `check_op` takes of it: `inputs`, `attrs`,
        `without_gradient`, `surrogate`, `order`, `checks`, `leave_out`, `samples`,
        `tolerance`.
      ops: Names of the ops to check; all by default.
      checks: Those to make; all by default.
      leave_out: Checks not to make, of any op.
      samples: How many combinations of attributes of an op to check at most.
      seed: Of all random numbers.
      modules: Names of Python modules to import after the library was loaded.
      processes: How many ops to check at once; by default one for each processor.
      timeout: Seconds that a single call may take.
      raise_error: Whether a fault is an error.

    Returns:
      What was found, as a report that prints as a table.

    Raises:
      OpCheckError: An op has a fault, and `raise_error`. Has the report.
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
            raise ValueError(f"options of {name}: there is no {unknown}")
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
    """Shares the ops out among some workplaces."""
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
        raise ValueError(f"{op_def.name} has no input {unknown}; expected of {known}.")
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
    """The op libraries of this process but TensorFlow's and this one: shared objects
    that need TensorFlow's.
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
