"""Checks one op in the current process."""

import dataclasses
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

import tensorflow_ext
from tensorflow_ext._runtime import _library, _wrappers
from tensorflow_ext.testing._op import _clients, _definition, _edges, _gradients, _inputs, _shapes
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._subject import CrashedError, Example, Options, Subject, brief
from tensorflow_ext.testing._op._variants import Sample, Variant

_INPUTS = "inputs"
_MOST_FAULTS = 3  # faults of one check that are listed; more are only counted
_CHECKS: dict[str, Callable[[Subject], Iterator[OpFinding]]] = {
    "documentation": _definition.documentation,
    "kernel": _definition.kernel,
    "gpu": _definition.gpu,
    "shape function": _shapes.check,
    "stateful": _definition.flags,
    "gradient": _gradients.first,
    "second order": _gradients.second,
    "types": _gradients.types,
    "function": _clients.function,
    "xla": _clients.xla,
    "c": _clients.c,
    "vectorized_map": _clients.vectorized_map,
    "empty tensors": _edges.empty,
    "wrong inputs": _edges.wrong_inputs,
}
_WITHOUT_INPUTS = _inputs.CHECKS_WITHOUT
# The checks, in the order of the table.
CHECKS = (*_WITHOUT_INPUTS, _INPUTS, *list(_CHECKS)[len(_WITHOUT_INPUTS) :])

# Sends a worker's message: ("trying", what), ("examples", ...), ("finding", finding),
# ("done", check), ("op_defs", ...).
Say = Callable[[tuple[str, Any]], None]


@dataclasses.dataclass
class Load:
    """The files that a process must load to know the ops.

    Attributes:
      libraries: Paths of op libraries.
      modules: Names of Python modules with registrations in Python.
    """

    libraries: Sequence[str] = ()
    modules: Sequence[str] = ()


@dataclasses.dataclass
class Task:
    """An op to check, in a form that can be sent to a process.

    Attributes:
      op_def: The serialized OpDef, with its documentation.
      variants: The attributes of each variant, and the names of those that are guessed.
      total: The total number of variants.
      given: The inputs of each variant, or None for a variant without inputs. If `given`
        is None, inputs are found by trying.
      options: The options of the check.
      checks: The checks to run, from CHECKS.
      load: The files to load.
      crashed: How a process ended, by check and by attempt.
    """

    op_def: bytes
    variants: list[tuple[dict[str, Any], frozenset[str]]]
    total: int
    given: list[list[np.ndarray] | None] | None
    options: Options
    checks: Sequence[str]
    load: Load
    crashed: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)

    @property
    def op(self) -> str:
        """The op's name."""
        return op_def_pb2.OpDef.FromString(self.op_def).name


def load(what: Load) -> list[str]:
    """Loads libraries, with their gradients, and modules.

    Returns:
      Errors of gradients that libraries register.
    """
    for library in what.libraries:
        tf.load_library(library)
    # Modules come before the gradients in C++, so that their own gradients are kept.
    for module in what.modules:
        importlib.import_module(module)
    tensorflow_ext.gradients.register_all()
    return _library.take_registration_errors()


def list_ops(library: str, modules: Sequence[str], say: Say) -> None:
    """Sends the ops that a library registers."""
    load(Load([library], modules))
    handle = pywrap_tf_session.TF_LoadLibrary(library)
    serialized = pywrap_tf_session.TF_GetOpList(handle)
    names = {op.name for op in op_def_pb2.OpList.FromString(serialized).op}
    every = {op.name: op for op in _wrappers.op_defs()}
    say(("op_defs", [every[name].SerializeToString() for name in sorted(names)]))


def perform(task: Task, say: Say) -> None:
    """Checks an op; sends its findings and announces each attempt."""
    wrong = load(task.load)
    op_def = op_def_pb2.OpDef.FromString(task.op_def)
    variants = [Variant(op_def, attrs, guessed) for attrs, guessed in task.variants]
    doing = [_INPUTS]

    def attempt(what: str) -> None:
        before = task.crashed.get(doing[0], {}).get(what)
        if before is not None:
            raise CrashedError(before)
        say(("trying", (doing[0], what)))

    sample = Sample(variants, task.total)
    subject = Subject(op_def, sample, task.options, attempt)
    subject.registration_errors = [line for line in wrong if op_def.name in line]
    needed = [check for check in task.checks if check not in _WITHOUT_INPUTS]
    if needed:
        findings = list(_find_inputs(subject, task))
        if _INPUTS in task.checks:
            for finding in findings:
                say(("finding", finding))
            say(("done", _INPUTS))
    for check in task.checks:
        if check == _INPUTS or (not subject.examples and check in needed):
            continue
        doing[0] = check
        for finding in _few(_guarded(subject, check)):
            say(("finding", finding))
        say(("done", check))


def _guarded(subject: Subject, check: str) -> Iterator[OpFinding]:
    try:
        yield from _CHECKS[check](subject)
    except CrashedError as error:
        yield subject.finding(check, Verdict.FAILED, f"the op {error}")
    except Exception as error:
        # The other checks run even if the op makes TensorFlow raise an error.
        yield subject.finding(check, Verdict.FAILED, brief(error))


def _few(findings: Iterator[OpFinding]) -> Iterator[OpFinding]:
    """The findings, with all faults after the first ones only counted."""
    more, last = 0, None
    faults = 0
    for finding in findings:
        faults += finding.verdict.is_fault
        if finding.verdict.is_fault and faults > _MOST_FAULTS:
            more, last = more + 1, finding
        else:
            yield finding
    if last is not None:
        yield dataclasses.replace(last, message=f"{more} more, the last: {last.message}")


def _find_inputs(subject: Subject, task: Task) -> Iterator[OpFinding]:
    """Finds the subject's examples."""
    refused: list[tuple[Variant, Exception]] = []
    for k, variant in enumerate(subject.sample.variants):
        if not _definition.has_kernel(variant):
            continue  # `kernel` reports it.
        if task.given is None:
            try:
                found = _inputs.find(subject, variant, subject.examples)
            except _inputs.InputsError as error:
                refused.append((variant, error))
                continue
        else:
            arrays = task.given[k]
            if arrays is None:
                continue
            found = Example(variant, arrays)
        subject.examples.append(found)
    hint = (
        "; give inputs=..., a list of tensors or a function of the attributes that "
        "makes one, and attrs=... for guessed values"
    )
    if not subject.examples:
        why = "none were given for the types that have kernels"
        if refused:
            why = f"{refused[0][0]}: {refused[0][1]}"
        yield subject.finding(_INPUTS, Verdict.MISSING, why + hint)
        return
    for variant, refusal in refused:
        verdict = Verdict.NOTE if variant.guessed else Verdict.MISSING
        yield subject.finding(_INPUTS, verdict, f"{variant}: {refusal}{hint}")
    count, total = len(subject.sample.variants), subject.sample.total
    message = f"{count} of {total} combinations of attributes"
    verdict = Verdict.PASSED if count == total else Verdict.SAMPLED
    yield subject.finding(_INPUTS, verdict, message)
