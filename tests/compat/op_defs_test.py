# SPDX-License-Identifier: Apache-2.0
"""Graphs that hold this library's ops load: no op has changed but as it may."""

import re
from collections.abc import Callable

import op_defs
import pytest
from tensorflow.core.framework import op_def_pb2, types_pb2

MEND = (
    "An op that graphs hold may get an attribute with a default, and types; for all "
    "else a new op stands beside it, of the same name with V2 "
    "(docs/compatibility.md, How an op changes)."
)
RECORD = ".venv/bin/python tests/compat/record.py records it."


def test_no_op_is_gone_or_changed() -> None:
    found = op_defs.incompatible(op_defs.history(), op_defs.current())
    assert not found, MEND


def test_every_op_is_recorded() -> None:
    new = op_defs.unrecorded(op_defs.history(), op_defs.current())
    assert not new, f"{[op_def.name for op_def in new]}: {RECORD}"


def test_names_of_every_kind_are_recorded() -> None:
    names = {op_def.name.partition(">")[0] for op_def in op_defs.history()}
    assert names == {"TfExt", "Addons"}


def _remove_attribute(op: op_def_pb2.OpDef) -> None:
    del op.attr[1]


def _remove_type(op: op_def_pb2.OpDef) -> None:
    del op.attr[0].allowed_values.list.type[0]


def _change_default(op: op_def_pb2.OpDef) -> None:
    op.attr[1].default_value.f += 1


def _remove_default(op: op_def_pb2.OpDef) -> None:
    op.attr[1].ClearField("default_value")


def _add_attribute(op: op_def_pb2.OpDef) -> None:
    op.attr.add(name="mode", type="string")


def _add_input(op: op_def_pb2.OpDef) -> None:
    op.input_arg.add(name="more", type_attr="T")


def _remove_output(op: op_def_pb2.OpDef) -> None:
    del op.output_arg[0]


def _change_type(op: op_def_pb2.OpDef) -> None:
    op.input_arg[0].ClearField("type_attr")
    op.input_arg[0].type = types_pb2.DT_FLOAT


def _be_stateful(op: op_def_pb2.OpDef) -> None:
    op.is_stateful = True


def _planted(change: Callable[[op_def_pb2.OpDef], None]) -> list[op_def_pb2.OpDef]:
    """The ops of today, but for what is changed of one of them."""
    ops = op_defs.current()
    (hardshrink,) = (op for op in ops if op.name == "TfExt>Hardshrink")
    assert [attr.name for attr in hardshrink.attr] == ["T", "lower", "upper"]
    change(hardshrink)
    return ops


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_remove_attribute, "'lower' removed"),
        (_remove_type, "allowed values|allowed type"),
        (_change_default, "'lower'.*default"),
        (_remove_default, "'lower'.*default"),
        (_add_attribute, "'mode' added without default"),
        (_add_input, "inputs?"),
        (_remove_output, "outputs?"),
        (_change_type, "inputs?"),
        (_be_stateful, "stateful"),
    ],
)
def test_a_planted_change_is_found(
    change: Callable[[op_def_pb2.OpDef], None], message: str
) -> None:
    found = op_defs.incompatible(op_defs.history(), _planted(change))
    assert found.keys() == {"TfExt>Hardshrink"}
    assert re.search(message, found["TfExt>Hardshrink"], re.IGNORECASE), found


def test_an_op_that_is_gone_is_found() -> None:
    ops = [op for op in op_defs.current() if op.name != "Addons>Mish"]
    assert op_defs.incompatible(op_defs.history(), ops).keys() == {"Addons>Mish"}


def _default_of_a_new_attribute(value: float) -> Callable[[op_def_pb2.OpDef], None]:
    def change(op: op_def_pb2.OpDef) -> None:
        op.attr.add(name="slope", type="float").default_value.f = value

    return change


def test_an_attribute_with_a_default_is_no_fault() -> None:
    """It asks to be recorded; then its default may not change any more."""
    history = op_defs.history()
    grown = _planted(_default_of_a_new_attribute(0))
    assert not op_defs.incompatible(history, grown)
    (new,) = op_defs.unrecorded(history, grown)
    assert new.name == "TfExt>Hardshrink"
    later = _planted(_default_of_a_new_attribute(1))
    assert op_defs.incompatible([*history, new], later).keys() == {new.name}
