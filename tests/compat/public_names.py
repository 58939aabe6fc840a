"""The public names of this library: its C interface, its C++ and its Python.

Each function returns sorted lines of names, with what a call must match. recorded.py has the
recorded ones.
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
from tensorflow_ext._runtime import _library

_ROOT = pathlib.Path(tensorflow_ext.sysconfig.get_include())
_C_HEADERS = (
    "addons/register_ops.h",
    "functionalize/functionalize_graph_def.h",
    "gradient/c_api.h",
    "gradient/formula_api.h",
    "saved_model/describe_meta_graph.h",
    "saved_model/use_model_gradients.h",
    "tape/tape.h",
    "train/train.h",
    "version.h",
)
_CPP_HEADERS = (
    "gradient/define.h",
    "gradient/formula/data_type.h",
    "gradient/formula/formula.h",
    "gradient/formula/formula_ops.h",
    "gradient/formula/unary_grad.h",
    "gradient/register_op_gradient.h",
    "gradient_tape.h",
    "inline_calls.h",
    "minimize.h",
    "slice_gradients.h",
    "trainable_model.h",
    "use_model_gradients.h",
    "variables.h",
)
# A name whose value changes with versions.
_VERSION = "TFEXT_VERSION"


def _read(header: str) -> str:
    return (_ROOT / "tensorflow_ext" / header).read_text(encoding="utf-8")


@functools.cache
def c_interface() -> list[str]:
    """Functions, with their types; enumerators, structs and macros, with their values.

    Functions are written as the compiler prints them, without argument names.
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
    """The library's symbols that have a prefix of the C interface."""
    library = _library.PATH
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    )
    return {line.split()[-1] for line in listed.stdout.splitlines() if "TfExt_" in line}


@functools.cache
def cpp() -> list[str]:
    """Macros and declarations, header by header."""
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
        # With Keras 3.12 this is the signature of Layer.__new__, which says nothing.
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
        return  # Keras calls it.
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
    """The names in __all__ of the modules without an underscore."""
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


class _Parameters:
    """The parameters in a line of Python's names.

    Attributes:
      places: Parameters that a call may give by position, in order.
      names: All parameters.
      defaults: The defaults by name, as text.
      any: True if a call may give others, by position and by name.
    """

    def __init__(self, line: str) -> None:
        # A default is a value that prints as it is written, or <something>.
        text = re.sub(r"<[^<>]*>", "'an object'", line.partition("(")[2])
        (function,) = ast.parse(f"def f({text}: pass").body
        assert isinstance(function, ast.FunctionDef)
        given = function.args
        placed = given.posonlyargs + given.args
        pairs = [
            *zip(reversed(placed), reversed(given.defaults), strict=False),
            *zip(given.kwonlyargs, given.kw_defaults, strict=True),
        ]
        self.places = [argument.arg for argument in placed]
        self.names = {argument.arg for argument in placed + given.kwonlyargs}
        self.defaults = {argument.arg: ast.unparse(value) for argument, value in pairs if value}
        self.any = (bool(given.vararg), bool(given.kwarg))


def _why_not(now: _Parameters, before: _Parameters) -> str:
    """The reason why a call that was valid is not valid any more, or means something else."""
    if now.places[: len(before.places)] != before.places:
        return f"its arguments were ({', '.join(before.places)})"
    for name, default in before.defaults.items():
        if now.defaults.get(name) != default:
            return f"the default of {name} was {default}"
    if new := now.names - now.defaults.keys() - before.names:
        return f"{', '.join(sorted(new))} must be given"
    if gone := before.names - now.names:
        return f"{', '.join(sorted(gone))} is gone"
    if any(old and not new for old, new in zip(before.any, now.any, strict=True)):
        return "it took any arguments"
    return ""


def broken(before: list[str], now: list[str]) -> list[str]:
    """The lines of `before` that are missing in `now` or are incompatible with it.

    A changed line is compatible if it is Python's and every call that was valid for the old
    line is valid for the new one.
    """
    by_name = {line.partition("(")[0]: line for line in now}
    faults = []
    for line in before:
        if line in now:
            continue
        new = by_name.get(line.partition("(")[0], "")
        if not line.startswith("tensorflow_ext") or not ("(" in line and "(" in new):
            faults.append(f"gone: {line}")
        elif why := _why_not(_Parameters(new), _Parameters(line)):
            faults.append(f"changed: {new}: {why}")
    return faults
