"""Checks of an op's registrations: names, documentation, kernels."""

import itertools
import math
import re
from collections.abc import Iterator, Sequence

import tensorflow as tf
from tensorflow.core.framework import kernel_def_pb2, op_def_pb2
from tensorflow.python.framework import kernels

from tensorflow_ext._runtime import _attributes
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._subject import Subject
from tensorflow_ext.testing._op._variants import Variant, allowed_types

_OP_NAME = re.compile(r"([A-Z][A-Za-z0-9]*>)*[A-Z][A-Za-z0-9]*")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_MOST_COMBINATIONS = 10_000


def documentation(subject: Subject) -> Iterator[OpFinding]:
    """The findings about an op's documentation and names."""
    op_def = subject.op_def
    parts = [*op_def.input_arg, *op_def.output_arg, *op_def.attr]
    inferred = _attributes.inferred(op_def.input_arg, [None] * len(op_def.input_arg))
    missing = [p.name for p in parts if not p.description and p.name not in inferred]
    if not op_def.summary:
        yield subject.finding("documentation", Verdict.MISSING, "none: give REGISTER_OP a .Doc")
    elif missing:
        yield subject.finding("documentation", Verdict.MISSING, f".Doc does not describe {missing}")
    if not _OP_NAME.fullmatch(op_def.name):
        yield subject.finding(
            "documentation",
            Verdict.FAILED,
            "the op's name is not in CamelCase, such as My>LayerNorm",
        )
    odd = [p.name for p in parts if not _NAME.fullmatch(p.name)]
    types_or_lengths = {
        attr.name
        for attr in op_def.attr
        if attr.type in ("type", "list(type)") or attr.name in inferred
    } | {argument.number_attr for argument in op_def.output_arg}
    odd = [name for name in odd if name not in types_or_lengths or not _TYPE_NAME.fullmatch(name)]
    if odd:
        yield subject.finding(
            "documentation",
            Verdict.FAILED,
            f"{odd}: expected names such as pooled_height, and T for types",
        )
    if ">" not in op_def.name:
        yield subject.finding(
            "documentation",
            Verdict.NOTE,
            f"the name has no namespace, so it would clash with another library's "
            f"{op_def.name}; use a name such as My>{op_def.name}",
        )
    yield subject.finding("documentation", Verdict.PASSED)


def kernel(subject: Subject) -> Iterator[OpFinding]:
    """The findings about the types that have a kernel."""
    missing, total = _without_kernel(subject, "CPU")
    if not missing:
        yield subject.finding("kernel", Verdict.PASSED)
        return
    yield subject.finding(
        "kernel", Verdict.MISSING, f"CPU: {_listed(missing, total)}: REGISTER_KERNEL_BUILDER"
    )


def has_kernel(variant: Variant) -> bool:
    """True if the CPU has a kernel for these types."""
    attributes = _types_among(variant.op_def)
    names = [attribute.name for attribute in attributes]
    registered = _registered(variant.op_def.name, "CPU")
    return _any_takes(registered, names, [variant.attrs[name] for name in names])


def gpu(subject: Subject) -> Iterator[OpFinding]:
    """The findings about registrations for the GPU, which are never faults."""
    missing, total = _without_kernel(subject, "GPU")
    if not missing:
        yield subject.finding("gpu", Verdict.PASSED)
    elif len(missing) == total:
        yield subject.finding("gpu", Verdict.NONE, "none")
    else:
        yield subject.finding("gpu", Verdict.NOTE, _listed(missing, total))


def _listed(missing: Sequence[str], total: int) -> str:
    listed = "; ".join(missing[:8]) + ("; ..." if len(missing) > 8 else "")
    return (
        f"no kernel for {len(missing)} of {total} combinations of types that the OpDef "
        f"admits: {listed}"
    )


def _without_kernel(subject: Subject, device: str) -> tuple[list[str], int]:
    """The types that the OpDef admits but no kernel of a device takes; the total number."""
    registered = _registered(subject.op, device)
    attributes = _types_among(subject.op_def)
    names = [attribute.name for attribute in attributes]
    choices = [allowed_types(attribute) for attribute in attributes]
    combinations = itertools.islice(itertools.product(*choices), _MOST_COMBINATIONS)
    missing = [
        ", ".join(f"{n}={t.name}" for n, t in zip(names, types, strict=True)) or "any"
        for types in combinations
        if not _any_takes(registered, names, types)
    ]
    return missing, min(math.prod(map(len, choices)), _MOST_COMBINATIONS)


def _registered(op: str, device: str) -> list[kernel_def_pb2.KernelDef]:
    return [
        definition
        for definition in kernels.get_registered_kernels_for_op(op).kernel
        if definition.device_type == device and not definition.label
    ]


def _types_among(op_def: op_def_pb2.OpDef) -> list[op_def_pb2.OpDef.AttrDef]:
    """The attributes that are types, which distinguish kernels."""
    return [attribute for attribute in op_def.attr if attribute.type == "type"]


def _any_takes(
    registered: Sequence[kernel_def_pb2.KernelDef], names: Sequence[str], types: Sequence[tf.DType]
) -> bool:
    values = {name: dtype.as_datatype_enum for name, dtype in zip(names, types, strict=True)}
    return any(
        all(
            values.get(constraint.name) in (None, *constraint.allowed_values.list.type)
            for constraint in definition.constraint
        )
        for definition in registered
    )


def flags(subject: Subject) -> Iterator[OpFinding]:
    """The findings about the op's stateful flag."""
    stateful = subject.op_def.is_stateful
    if not subject.examples:
        return
    if subject.values_vary and not stateful:
        yield subject.finding(
            "stateful",
            Verdict.FAILED,
            f"{subject.examples[0]}: the same inputs give different values, but TensorFlow "
            "may run a stateless op once instead of twice. Give REGISTER_OP "
            ".SetIsStateful(), or make the kernel deterministic",
        )
    elif stateful and not subject.values_vary:
        yield subject.finding(
            "stateful",
            Verdict.NOTE,
            "is stateful, so TensorFlow always runs it, but gives the same values twice",
        )
    else:
        yield subject.finding("stateful", Verdict.PASSED)
