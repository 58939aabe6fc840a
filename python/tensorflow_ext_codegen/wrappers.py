"""The command `wrappers` of `python -m tensorflow_ext`."""

import argparse
import importlib
import pathlib
import re
import zipfile
from collections.abc import Mapping, Sequence

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2

from tensorflow_ext._runtime import _library, _wrappers
from tensorflow_ext_codegen import language, op_interface

_FOLDER = pathlib.Path(__file__).parent
# Each is a package in this one and an option of the command.
LANGUAGES = sorted(path.parent.name for path in _FOLDER.glob("*/__init__.py"))

_NAMESPACE = "TfExt>"

# Words separated by dots. Packages of Go and Java drop the underscores.
_NAME = re.compile(r"_*[A-Za-z]\w*(\._*[A-Za-z]\w*)*", re.ASCII)


class WrappersError(Exception):
    """The wrappers cannot be written; the message says why."""


def find_language(option: str) -> language.Language:
    """The language of an option, such as 'cxx'."""
    return importlib.import_module(f"tensorflow_ext_codegen.{option}").LANGUAGE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
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
        help="an op library; may be repeated (default: tensorflow_ext's)",
    )
    parser.add_argument(
        "--name",
        help="the namespace or package of the wrappers (default: the name of the first "
        "library without `lib` and `.so`)",
    )
    parser.add_argument(
        "--eager",
        action="store_true",
        help="Rust: also GradientTape, which needs the feature `eager` of the crate tensorflow",
    )
    parser.add_argument(
        "--train",
        action="store_true",
        help="variables, savers and the optimizers of Keras in place of ops",
    )
    parser.add_argument(
        "--write",
        type=pathlib.Path,
        metavar="PATH",
        help="the file to write (C++: the header, with the source next to it; Java: a "
        "folder or an archive *.srcjar). By default the wrappers are printed",
    )


def run(arguments: argparse.Namespace) -> None:
    """Writes or prints the wrappers."""
    chosen = find_language(arguments.language)
    end = next(iter(chosen.templates), "")
    path: pathlib.Path | None = arguments.write
    if path is not None and end and path.suffix != end:
        raise WrappersError(f"--write {path}: expected a file *{end} for {chosen.title}.")
    if arguments.eager and (arguments.language != "rust" or arguments.library):
        raise WrappersError(
            "--eager: expected --rust and no --library, because it adds Rust's GradientTape to the "
            "ops of tensorflow_ext."
        )
    if arguments.train and (arguments.eager or arguments.library):
        raise WrappersError(
            "--train: expected no --library and no --eager, because it writes no ops."
        )
    name = arguments.name or ("train" if arguments.train else library_name(arguments.library))
    if not _NAME.fullmatch(name):
        raise WrappersError(
            f"--name {name!r}: expected a name such as your_ops or com.example.ops."
        )
    try:
        op_defs = [] if arguments.train else read_op_defs(arguments.library)
        ops = op_interface.describe_all(op_defs)
        stem = f"{name}_cc_ops" if path is None else path.stem
        folder = _FOLDER / arguments.language
        files = language.render(
            chosen, ops, name, stem, folder, eager=arguments.eager, own=not arguments.library
        )
    except (op_interface.InterfaceError, language.RenderError) as error:
        raise WrappersError(str(error)) from error
    if path is None:
        print(*files.values(), sep="", end="")
        return
    try:
        if chosen.files is None:
            _write({path.with_suffix(end): text for end, text in files.items()})
        elif path.suffix == ".srcjar":
            _write_archive(path, files)
        else:
            path.mkdir(parents=True, exist_ok=True)
            _write({path / file: text for file, text in files.items()})
    except OSError as error:
        raise WrappersError(
            f"--write {path}: {error.filename or path}: {error.strerror or error}."
        ) from error


def _write(files: Mapping[pathlib.Path, str]) -> None:
    """Writes all files, or none if one of them must not be replaced."""
    for path, text in files.items():
        if path.exists():
            _check_replaced(path, [path.read_bytes()], text)
    for path, text in files.items():
        path.write_bytes(text.encode())


def _write_archive(path: pathlib.Path, files: Mapping[str, str]) -> None:
    """Writes the files into an archive, the form in which build tools take a folder."""

    if path.exists():
        old = [path.read_bytes()]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                old = [archive.read(member) for member in archive.namelist()]
        _check_replaced(path, old, next(iter(files.values())))
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in sorted(files.items()):
            # ZipInfo's default time is constant.
            archive.writestr(zipfile.ZipInfo(file), text)


def _check_replaced(path: pathlib.Path, old: Sequence[bytes], new: str) -> None:
    """Raises a WrappersError if a file exists that is not a wrapper of this language, judged
    by its first line."""
    first = new.encode().partition(b"\n")[0]
    if not all(not text or text.startswith(first) for text in old):
        raise WrappersError(
            f"--write {path}: the file exists and was not written by this command; name "
            "another path, or remove the file first."
        )


def library_name(libraries: Sequence[str]) -> str:
    """The name of the wrappers of libraries: 'your_op' for ./libyour_op.so."""
    first = pathlib.Path(libraries[0]) if libraries else _library.PATH
    return re.sub(r"\W", "_", first.name.partition(".")[0].removeprefix("lib"))


def read_op_defs(libraries: Sequence[str]) -> list[op_def_pb2.OpDef]:
    """The ops that loading these libraries adds; without libraries, those of tensorflow_ext.

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
                "tensorflow_ext and the libraries before it."
            )
        known |= {op.name for op in added}
        found += added
    return found
