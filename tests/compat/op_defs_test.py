"""Graphs that hold this library's ops still load: ops change only in allowed ways."""

import re
from collections.abc import Callable

import op_defs
import pytest
import recorded
from tensorflow.core.framework import attr_value_pb2, op_def_pb2, types_pb2

HISTORY = op_defs.parsed(recorded.read()["op_defs"])
MEND = (
    "An op that graphs hold may get an attribute with a default, and types; for all "
    "else a new op stands beside it, of the same name with V2 "
    "(docs/compatibility.md, How an op changes)."
)
RECORD = ".venv/bin/python tests/compat/record.py records it."


def test_no_op_was_removed_or_changed() -> None:
    found = op_defs.incompatible(HISTORY, op_defs.current())
    assert not found, MEND


def test_every_op_is_recorded() -> None:
    new = op_defs.unrecorded(HISTORY, op_defs.current())
    assert not new, f"{[op_def.name for op_def in new]}: {RECORD}"


def test_names_of_every_kind_are_recorded() -> None:
    names = {op_def.name.partition(">")[0] for op_def in HISTORY}
    assert names == {"TfExt", "Addons"}


def _planted(change: Callable[[op_def_pb2.OpDef], object]) -> list[op_def_pb2.OpDef]:
    """Today's ops, with one of them changed."""
    ops = op_defs.current()
    (hardshrink,) = (op for op in ops if op.name == "TfExt>Hardshrink")
    assert [attr.name for attr in hardshrink.attr] == ["T", "lower", "upper"]
    change(hardshrink)
    return ops


_FLOAT = op_def_pb2.OpDef.ArgDef(name="x", type=types_pb2.DT_FLOAT)
# Changes of TfExt>Hardshrink, and a part of the message.
_FAULTS: dict[str, tuple[Callable[[op_def_pb2.OpDef], object], str]] = {
    "attribute removed": (lambda op: op.attr.pop(1), "'lower' removed"),
    "type removed": (
        lambda op: op.attr[0].allowed_values.list.type.pop(0),
        "allowed (values|type)",
    ),
    "other default": (lambda op: setattr(op.attr[1].default_value, "f", 7), "'lower'.*default"),
    "default removed": (lambda op: op.attr[1].ClearField("default_value"), "'lower'.*default"),
    "attribute added": (
        lambda op: op.attr.add(name="mode", type="string"),
        "'mode' added without default",
    ),
    "input added": (lambda op: op.input_arg.add(name="more", type_attr="T"), "inputs?"),
    "output removed": (lambda op: op.output_arg.pop(0), "outputs?"),
    "other type": (lambda op: op.input_arg[0].CopyFrom(_FLOAT), "inputs?"),
    "stateful": (lambda op: setattr(op, "is_stateful", True), "stateful"),
}


@pytest.mark.parametrize("name", _FAULTS)
def test_a_planted_change_is_found(name: str) -> None:
    change, message = _FAULTS[name]
    found = op_defs.incompatible(HISTORY, _planted(change))
    assert found.keys() == {"TfExt>Hardshrink"}
    assert re.search(message, found["TfExt>Hardshrink"], re.IGNORECASE), found


def test_a_removed_op_is_found() -> None:
    ops = [op for op in op_defs.current() if op.name != "Addons>Mish"]
    assert op_defs.incompatible(HISTORY, ops).keys() == {"Addons>Mish"}


def _with_slope(default: float) -> list[op_def_pb2.OpDef]:
    value = attr_value_pb2.AttrValue(f=default)
    return _planted(lambda op: op.attr.add(name="slope", type="float", default_value=value))


def test_an_attribute_with_a_default_is_not_a_fault() -> None:
    """The test asks to record the new op; after that, its default must not change."""
    grown = _with_slope(0)
    assert not op_defs.incompatible(HISTORY, grown)
    (new,) = op_defs.unrecorded(HISTORY, grown)
    assert new.name == "TfExt>Hardshrink"
    later = _with_slope(1)
    assert op_defs.incompatible([*HISTORY, new], later).keys() == {new.name}
