# SPDX-License-Identifier: Apache-2.0
"""The command `wrappers` of `python -m tensorflow_ext`."""

import argparse
import importlib
import pathlib
import re
import zipfile
from collections.abc import Mapping, Sequence

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2

from tensorflow_ext import _library, _wrappers
from tensorflow_ext._typed_wrappers import language, op_interface

# Each a module of this package, and an option of the command.
LANGUAGES = ("cxx", "go", "java", "rust")

_NAMESPACE = "TfExt>"


class WrappersError(Exception):
    """The wrappers cannot be written; the message says why."""


def find_language(option: str) -> language.Language:
    """The language of an option, such as 'cxx'."""
    return importlib.import_module(f"tensorflow_ext._typed_wrappers.{option}").LANGUAGE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes to its parser."""
    options = parser.add_mutually_exclusive_group(required=True)
    for option in LANGUAGES:
        options.add_argument(
            f"--{option}",
            dest="language",
            action="store_const",
            const=option,
            help=f"wrappers for {find_language(option).title}",
        )
    parser.add_argument(
        "--library",
        action="append",
        default=[],
        metavar="PATH",
        help="an op library; several times for several (default: tensorflow_ext's)",
    )
    parser.add_argument(
        "--name",
        help="what the wrappers are called together: the namespace, the package. By "
        "default that of the first library, without `lib` and `.so`",
    )
    parser.add_argument(
        "--write",
        type=pathlib.Path,
        metavar="PATH",
        help="the file to write (C++: the header; the source is written beside it. "
        "Java: the folder, or an archive *.srcjar). By default they are printed",
    )


def run(arguments: argparse.Namespace) -> None:
    """Writes or prints the wrappers."""
    chosen = find_language(arguments.language)
    end = next(iter(chosen.templates), "")
    path: pathlib.Path | None = arguments.write
    if path is not None and end and path.suffix != end:
        raise WrappersError(
            f"--write {path}: expected a file *{end} for {chosen.title}."
        )
    name = arguments.name or library_name(arguments.library)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name):
        raise WrappersError(f"--name {name!r}: expected a name such as your_ops.")
    try:
        ops = op_interface.describe_all(read_op_defs(arguments.library))
        stem = f"{name}_cc_ops" if path is None else path.stem
        files = language.render(chosen, ops, name, stem)
    except (op_interface.InterfaceError, language.RenderError) as error:
        raise WrappersError(str(error)) from error
    if path is None:
        print(*files.values(), sep="", end="")
    elif chosen.files is not None:
        _write_folder(path, files)
    else:
        for suffix, text in files.items():
            path.with_suffix(suffix).write_text(text)


def _write_folder(path: pathlib.Path, files: Mapping[str, str]) -> None:
    """Writes files into a folder, or, as build tools want it, into an archive."""
    if path.suffix == ".srcjar":
        with zipfile.ZipFile(path, "w") as archive:
            for file, text in sorted(files.items()):
                # ZipInfo's time is always the same.
                archive.writestr(zipfile.ZipInfo(file), text)
        return
    path.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (path / file).write_text(text)


def library_name(libraries: Sequence[str]) -> str:
    """What the wrappers of libraries are called: 'your_op' for ./libyour_op.so."""
    first = pathlib.Path(libraries[0]) if libraries else _library.PATH
    return re.sub(r"\W", "_", first.name.partition(".")[0].removeprefix("lib"))


def read_op_defs(libraries: Sequence[str]) -> list[op_def_pb2.OpDef]:
    """The ops that loading these libraries adds; those of tensorflow_ext for none.

    Raises:
      WrappersError: A library cannot be loaded, or adds no ops.
    """
    if not libraries:
        return _wrappers.op_defs(_NAMESPACE)
    known = {op_def.name for op_def in _wrappers.op_defs()}
    found: list[op_def_pb2.OpDef] = []
    for library in libraries:
        if not pathlib.Path(library).is_file():
            raise WrappersError(f"--library {library}: there is no such file.")
        try:
            tf.load_library(str(pathlib.Path(library).absolute()))
        except tf.errors.OpError as error:
            raise WrappersError(f"--library {library}: {error.message}") from error
        added = [op for op in _wrappers.op_defs() if op.name not in known]
        if not added:
            raise WrappersError(
                f"--library {library}: it adds no ops to those of TensorFlow, "
                "tensorflow_ext and the libraries named before."
            )
        known |= {op.name for op in added}
        found += added
    return found
