# SPDX-License-Identifier: Apache-2.0
"""What programs name of this library: its C interface, its C++, its Python.

Each function gives lines, sorted, of names with what a call has to fit. The lists that
are recorded lie beside this file.
"""

import ast
import enum
import functools
import importlib
import inspect
import pathlib
import pkgutil
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import cpp_names
import keras
import tensorflow as tf

import tensorflow_ext
from tensorflow_ext import _library

_HERE = pathlib.Path(__file__).absolute().parent
_ROOT = pathlib.Path(tensorflow_ext.sysconfig.get_include())
_C_HEADERS = (
    "addons/register_ops.h",
    "gradient/c_api.h",
    "gradient/formula_api.h",
    "saved_model/describe_meta_graph.h",
    "version.h",
)
_CPP_HEADERS = (
    "gradient/define.h",
    "gradient/formula/data_type.h",
    "gradient/formula/formula.h",
    "gradient/formula/formula_ops.h",
    "gradient/formula/unary_grad.h",
    "gradient/register_op_gradient.h",
    "inline_calls.h",
)
# A name whose value moves.
_VERSION = "TFEXT_VERSION"


def _read(header: str) -> str:
    return (_ROOT / "tensorflow_ext" / header).read_text(encoding="utf-8")


@functools.cache
def c_interface() -> list[str]:
    """Functions, with their types; enumerators, structs and macros, with their values.

    The functions as the compiler prints them, without the names of arguments.
    """
    source = "".join(f'#include "tensorflow_ext/{name}"\n' for name in _C_HEADERS)
    flags = ["-I", str(_ROOT), "-isystem", tf.sysconfig.get_include()]
    with tempfile.TemporaryDirectory() as folder:
        prototypes = pathlib.Path(folder, "prototypes")
        subprocess.run(
            ["gcc", "-x", "c", "-", "-S", "-o", "/dev/null", *flags, "-aux-info", prototypes],
            input=source,
            check=True,
            text=True,
        )
        printed = prototypes.read_text()
    functions = re.findall(r"\*/ extern (.*\bTfExt_\w+ \(.*\);)", printed)
    expanded = subprocess.run(
        ["gcc", "-x", "c", "-", "-E", "-P", *flags],
        input=source,
        check=True,
        capture_output=True,
        text=True,
    )
    text = re.sub(r"\s+", " ", expanded.stdout)
    types = re.findall(r"typedef struct TfExt_\w+ (?:\{[^}]*\} )?TfExt_\w+;", text)
    types += re.findall(r"typedef [\w ]+\(\*TfExt_\w+\)\([^)]*\);", text)
    enums = [
        enumerator.strip()
        for body in re.findall(r"enum (?:TfExt_\w+ )?\{([^}]*)\}", text)
        for enumerator in body.split(",")
        if "TFEXT_" in enumerator
    ]
    macros = [
        line
        for header in _C_HEADERS
        for line in re.findall(r"^#define (TFEXT_\w+ .*)", _read(header), re.MULTILINE)
    ]
    values = [_VERSION if line.startswith(_VERSION) else line for line in macros]
    return sorted({*functions, *types, *enums, *values})


def exported() -> set[str]:
    """The symbols of the library that begin as those of the C interface do."""
    library = _library.PATH
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    )
    return {line.split()[-1] for line in listed.stdout.splitlines() if "TfExt_" in line}


@functools.cache
def cpp() -> list[str]:
    """Macros, and what is declared, header by header."""
    lines = []
    for header in _CPP_HEADERS:
        text = _read(header)
        names = [*cpp_names.macros(text), *cpp_names.declarations(text)]
        lines += [f"{header}: {name}" for name in names]
    return sorted(set(lines))


def _parameters(function: Callable[..., Any]) -> str:
    """The parameters with their defaults, without types."""
    try:
        signature = inspect.signature(function)
        # With Keras 3.12 that of Layer.__new__, which says nothing.
        if isinstance(function, type) and str(signature) == "(*args, **kwargs)":
            signature = inspect.signature(function.__init__)
    except (TypeError, ValueError):
        return "(*args, **kwargs)"
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _members(name: str, kind: type) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield from (f"{name}.{member}" for member in kind.__members__)
        return
    if issubclass(kind, keras.layers.Layer | keras.callbacks.Callback):
        return  # What Keras calls.
    for member, value in vars(kind).items():
        if member.startswith("_"):
            continue
        parameters = _parameters(value) if inspect.isfunction(value) else ""
        yield f"{name}.{member}{parameters}"


def _of_module(module: ModuleType) -> Iterator[str]:
    for name in module.__all__:
        value = getattr(module, name)
        line = f"{module.__name__}.{name}"
        if isinstance(value, type):
            yield line if issubclass(value, enum.Enum) else line + _parameters(value)
            yield from _members(line, value)
        else:
            yield line + (_parameters(value) if callable(value) else "")


@functools.cache
def python() -> list[str]:
    """What the modules without an underscore name in __all__."""
    modules = [
        importlib.import_module(f"tensorflow_ext.{found.name}")
        for found in pkgutil.iter_modules(tensorflow_ext.__path__)
        if not found.name.startswith(("_", "lib"))
    ]
    lines: set[str] = set()
    for module in (tensorflow_ext, *modules):
        lines.add(module.__name__)
        lines.update(_of_module(module))
    return sorted(lines)


LISTS = {"c_interface": c_interface, "cpp_names": cpp, "python_names": python}


def recorded(name: str) -> list[str]:
    return (_HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def _arguments(line: str) -> ast.arguments | None:
    """Of a line of Python's names; None where it is not that of something to call."""
    _, bracket, rest = line.partition("(")
    if not bracket:
        return None
    # A default is a value that prints as it is written, or <something>.
    rest = re.sub(r"<[^<>]*>", "'an object'", rest)
    return ast.parse(f"def f({rest}: pass").body[0].args  # type: ignore[attr-defined]


def _takes(now: ast.arguments, before: ast.arguments) -> str:
    """Why a call that fitted does not fit any more, or means another thing."""
    places = [argument.arg for argument in now.posonlyargs + now.args]
    old_places = [argument.arg for argument in before.posonlyargs + before.args]
    if places[: len(old_places)] != old_places:
        return f"its arguments were ({', '.join(old_places)})"
    defaults, old_defaults = _defaults(now), _defaults(before)
    for name, default in old_defaults.items():
        if defaults.get(name, None) != default:
            return f"the default of {name} was {default}"
    required = {name for name in _names(now) if name not in defaults}
    if new := required - set(_names(before)):
        return f"{', '.join(sorted(new))} must be given"
    if gone := set(_names(before)) - set(_names(now)):
        return f"{', '.join(sorted(gone))} is gone"
    if (before.vararg and not now.vararg) or (before.kwarg and not now.kwarg):
        return "it took any arguments"
    return ""


def _names(arguments: ast.arguments) -> list[str]:
    listed = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    return [argument.arg for argument in listed]


def _defaults(arguments: ast.arguments) -> dict[str, str]:
    placed = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    given = dict(zip(reversed(placed), reversed(arguments.defaults), strict=False))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    given |= {argument.arg: value for argument, value in pairs if value is not None}
    return {name: ast.unparse(value) for name, value in given.items()}


def broken(before: list[str], now: list[str]) -> list[str]:
    """What programs may name of `before` that `now` has not, or takes otherwise.

    A line that is another one now is as good as the old one if it is Python's and
    every call that fitted the old one fits it.
    """
    by_name = {line.partition("(")[0]: line for line in now}
    faults = []
    for line in before:
        if line in now:
            continue
        new = by_name.get(line.partition("(")[0], "")
        if not line.startswith("tensorflow_ext") or not new:
            faults.append(f"gone: {line}")
            continue
        old_arguments, arguments = _arguments(line), _arguments(new)
        if old_arguments is None or arguments is None:
            faults.append(f"gone: {line}")
        elif why := _takes(arguments, old_arguments):
            faults.append(f"changed: {new}: {why}")
    return faults
