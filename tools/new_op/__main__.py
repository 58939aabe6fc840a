"""Writes the folder of a new op, which builds and passes its tests:

    ./run new-op softsign              of one input
    ./run new-op hypotenuse --binary   of two inputs that broadcast
    ./run new-op first --like zero_out a copy of an op's folder, with the names replaced

An op of one or two inputs has a placeholder formula, x^3 or x^2 y^2. docs/adding_an_op.md says how
to change it. To remove an op, delete its folder.
"""

import argparse
import builtins
import keyword
import pathlib
import re
import subprocess
import sys
from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_OPS = _ROOT / "tensorflow_ext" / "ops"
_TEMPLATES = pathlib.Path(__file__).parent
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z][a-z0-9]+)*")
# Modules of tensorflow_ext.ops that are not of ops.
_TAKEN = {"common", "modules"}


class _NewOpError(Exception):
    """The op cannot be written; the message says why."""


def _forms(name: str) -> dict[str, str]:
    """A name as files and functions have it, as types and ops, and as macros."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    return {"snake": name, "camel": camel, "upper": name.upper()}


def _check(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise _NewOpError(f"'{name}': expected words of lower-case letters, such as max_pool")
    if keyword.iskeyword(name) or hasattr(builtins, name) or name in _TAKEN:
        raise _NewOpError(f"'{name}': Python or this package has something of this name")
    registered = f'REGISTER_OP("TfExt>{_forms(name)["camel"]}")'
    for path in (_ROOT / "tensorflow_ext").glob("*/**/*.cc"):
        if registered in path.read_text(encoding="utf-8"):
            raise _NewOpError(f"'{name}': there is such an op in {path.relative_to(_ROOT)}")
    for path in (_ROOT / "tensorflow_ext" / "gradient" / "formula").glob("*.h"):
        if re.search(rf"\b{_forms(name)['camel']}\(", path.read_text(encoding="utf-8")):
            raise _NewOpError(f"'{name}': {path.relative_to(_ROOT)} has such a function")
    for path in [*(_ROOT / "python").glob("tensorflow_ext/*"), *_OPS.glob("*/*.py")]:
        text = path.read_text(encoding="utf-8") if path.suffix == ".py" else ""
        if path.stem == name or re.search(rf"^def {name}\(", text, re.MULTILINE):
            raise _NewOpError(f"'{name}': {path.relative_to(_ROOT)} has this name")


def _copy(source: pathlib.Path, old: str, name: str) -> list[pathlib.Path]:
    """Copies the files of an op, with the names replaced."""
    folder = _OPS / name
    if folder.exists():
        raise _NewOpError(f"there is a folder {folder.relative_to(_ROOT)}")
    replaced = dict(zip(_forms(old).values(), _forms(name).values(), strict=True))

    def renamed(text: str) -> str:
        for before, after in replaced.items():
            text = text.replace(before, after)
        return text

    paths = [p for p in sorted(source.iterdir()) if p.is_file() and old in p.name]
    folder.mkdir()
    for path in paths:
        text = renamed(path.read_text(encoding="utf-8"))
        (folder / renamed(path.name)).write_text(text, encoding="utf-8")
    _format(folder)
    return [folder / renamed(path.name) for path in paths]


def _format(folder: pathlib.Path) -> None:
    """Formats the files, whose names are longer or shorter now, if the formatters are there."""
    for command, pattern in (("clang-format -i", "*.[ch]*"), ("ruff format --quiet", "*.py")):
        tool, *options = command.split()
        program = pathlib.Path(sys.executable).parent / tool
        if program.is_file():
            files = [path for path in folder.glob(pattern) if path.suffix != ".cases"]
            subprocess.run([program, *options, *files], check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        "./run new-op", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="the function's name, such as max_pool")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--binary", action="store_true", help="two inputs that broadcast")
    kind.add_argument("--like", metavar="FOLDER", help="copy this folder of tensorflow_ext/ops")
    options = parser.parse_args(arguments)
    old = options.like or ("my_binary" if options.binary else "my_unary")
    source = _OPS / options.like if options.like else _TEMPLATES
    try:
        _check(options.name)
        if not source.is_dir():
            raise _NewOpError(f"--like {options.like}: there is no such folder")
        for path in _copy(source, old, options.name):
            print(path.relative_to(_ROOT))
    except _NewOpError as error:
        print(f"./run new-op: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
