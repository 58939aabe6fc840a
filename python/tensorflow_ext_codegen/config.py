"""The command `config`, which prints the build settings of a program in C, C++, Go, Rust
or Java."""

import argparse
import os
import pathlib
import sys

import tensorflow as tf

from tensorflow_ext._runtime import _library
from tensorflow_ext_codegen.config_texts import KINDS, WRITTEN, ConfigError, check_path

__all__ = ["ConfigError", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    kinds = parser.add_mutually_exclusive_group(required=True)
    for name, (description, _) in KINDS.items():
        kinds.add_argument(
            f"--{name}",
            action="store_const",
            const=name,
            dest="kind",
            help=description.replace("%", "%%"),
        )
    parser.add_argument(
        "--write",
        metavar="FOLDER",
        help="write the files into FOLDER, and print the settings that refer to them",
    )


def run(arguments: argparse.Namespace) -> None:
    """Prints the settings that a language needs, and writes them to files if requested.

    Raises:
      ConfigError: A path cannot be used, a folder cannot be written to, or this
        installation has no headers.
    """
    _, make = KINDS[arguments.kind]
    folder = None
    if arguments.write is not None:
        folder = pathlib.Path(os.path.abspath(arguments.write))
        check_path(folder)
    for path in (_library.PATH, tf.sysconfig.get_lib(), sys.executable):
        check_path(path)
    try:
        setting = make(folder)
    except FileNotFoundError as error:
        raise ConfigError(f"config: {error}") from error
    if folder is None:
        print(setting.text.rstrip("\n"))
        return
    for name, text in setting.files.items():
        _write(folder, folder / name, text)
    if setting.after:
        print(setting.after)


def _write(folder: pathlib.Path, path: pathlib.Path, text: str) -> None:
    """Writes a file below a folder, which is created if its parent exists.

    Raises:
      ConfigError: The file cannot be written, or this command did not write it.
    """
    if not folder.parent.is_dir():
        raise ConfigError(
            f"config: --write={folder}: there is no folder {folder.parent}; create it first"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text(errors="replace") if path.exists() else text
        if old != text and WRITTEN not in old:
            raise ConfigError(
                f"config: --write={folder}: {path} exists and was not written by this "
                "command; add the settings to it yourself (leave out --write to print "
                "them), or write to another folder"
            )
        path.write_text(text)
    except OSError as error:
        raise ConfigError(
            f"config: --write={folder}: {path} cannot be written: {error.strerror}"
        ) from error
    print(f"wrote {path}", file=sys.stderr)
