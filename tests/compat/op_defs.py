"""The definitions of this library's ops: today's and all earlier ones."""

import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterable

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import op_def_pb2

import tensorflow_ext.addons  # noqa: F401, registers ops
from tensorflow_ext._runtime import _wrappers

# tensorflow_ext.addons has registered the second.
_NAMESPACES = ("TfExt>", "Addons>")


def _without_text(op_def: op_def_pb2.OpDef) -> op_def_pb2.OpDef:
    """The parts of a definition that decide whether graphs load: all but its documentation."""
    bare = op_def_pb2.OpDef.FromString(op_def.SerializeToString())
    bare.ClearField("summary")
    bare.ClearField("description")
    for part in (*bare.input_arg, *bare.output_arg, *bare.attr):
        part.ClearField("description")
    return bare


def current() -> list[op_def_pb2.OpDef]:
    """The ops as this library registers them now, by name."""
    ops = (op_def for name in _NAMESPACES for op_def in _wrappers.op_defs(name))
    return sorted(map(_without_text, ops), key=lambda op_def: op_def.name)


def parsed(lines: Iterable[str]) -> list[op_def_pb2.OpDef]:
    """The definitions of a recorded list: every one that each op has had, oldest first."""
    return [text_format.Parse(line, op_def_pb2.OpDef()) for line in lines]


def unrecorded(
    before: Iterable[op_def_pb2.OpDef], now: Iterable[op_def_pb2.OpDef]
) -> list[op_def_pb2.OpDef]:
    """The current ops whose last definition in the history differs or is missing."""
    last = {op_def.name: op_def for op_def in before}
    return [op_def for op_def in now if last.get(op_def.name) != op_def]


def with_current(lines: list[str]) -> list[str]:
    """A recorded list with the current definitions that it lacks."""
    before = parsed(lines)
    # The sort is by name and keeps the order of an op's definitions.
    every = sorted([*before, *unrecorded(before, current())], key=lambda op_def: op_def.name)
    return [text_format.MessageToString(op_def, as_one_line=True).strip() for op_def in every]


def _program() -> pathlib.Path:
    here = pathlib.Path(__file__).absolute().parent
    built = here.parents[1] / "bazel-bin" / "tests" / "compat"
    for folder in (here, built):
        if (folder / "compare_op_defs").is_file():
            return folder / "compare_op_defs"
    raise FileNotFoundError("bazel build //tests/compat:compare_op_defs")


def incompatible(
    before: Iterable[op_def_pb2.OpDef], now: Iterable[op_def_pb2.OpDef]
) -> dict[str, str]:
    """TensorFlow's complaint about each op that does not accept existing graphs."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("before", "now")]
        for file, ops in zip(files, (before, now), strict=True):
            file.write_bytes(op_def_pb2.OpList(op=ops).SerializeToString())
        libraries = tf.sysconfig.get_lib()
        done = subprocess.run(
            [_program(), *files],
            env=os.environ | {"LD_LIBRARY_PATH": f"{libraries}:{libraries}/python"},
            capture_output=True,
            text=True,
        )
    assert done.returncode in (0, 1), done.stderr
    found = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    assert bool(found) == bool(done.returncode)
    return found
