"""Loads other op libraries, with their gradients."""

import ctypes
import inspect
import os
import pathlib
import struct
import threading
import types
import warnings
from collections.abc import Iterator

import tensorflow as tf

from tensorflow_ext import gradients as _gradients
from tensorflow_ext._explain import _clients, _explain, _node
from tensorflow_ext._runtime import _library
from tensorflow_ext._runtime._wrappers import load as load_functions

_lock = threading.Lock()

# The result of loading each file, and the file's status then, by real path.
_loaded: dict[str, tuple[types.ModuleType | RuntimeError, os.stat_result]] = {}

# The file of each op, by op.
FILES: dict[str, str] = {}


def load_op_library(path: str | os.PathLike[str]) -> types.ModuleType:
    """Loads an op library and makes its gradients available to every client.

    It extends tf.load_op_library. Python and C use the gradients that the library has in
    C++ (TFEXT_REGISTER_GRADIENT, TFEXT_REGISTER_OP_GRADIENT, REGISTER_OP_GRADIENT). Each
    wrapper's docstring ends with the op's gradient and its provider. Errors say how to
    fix them. A second call for the same file returns the same module.

    Meanwhile other threads may differentiate, in any language. If REGISTER_OP_GRADIENT
    names an op that already has a gradient, TensorFlow itself ends the process; with
    TFEXT_REGISTER_OP_GRADIENT this is an error.

    Args:
      path: The library file, such as 'build/libyour_op.so'.

    Returns:
      A module with a function for each op of the library: `Your>Squareplus` is
      `your_squareplus(x, b=4, name=None)`.

    Raises:
      FileNotFoundError: There is no such file.
      ImportError: This process cannot load the file: it is not a shared library, was
        built for another TensorFlow, or was linked without a library that it needs.
      RuntimeError: A gradient was not registered, for example because the op has one
        (the ops are loaded nevertheless); or the file has changed since this process
        loaded it.
    """
    file = pathlib.Path(path).absolute()
    if not file.is_file():
        raise FileNotFoundError(f"There is no op library {file}: build it first.")
    key = os.path.realpath(file)
    with _lock:
        if key not in _loaded:
            _check_whole(file)
            _loaded[key] = _load(file), file.stat()
        loaded, stat = _loaded[key]
    now = file.stat()
    if (now.st_mtime_ns, now.st_size) != (stat.st_mtime_ns, stat.st_size):
        raise RuntimeError(
            f"{file} has changed since this process loaded it: restart the process, "
            "because it can load a library only once."
        )
    if isinstance(loaded, RuntimeError):
        raise loaded
    return loaded


def _load(file: pathlib.Path) -> types.ModuleType | RuntimeError:
    _warn_of_earlier_errors()
    try:
        module = load_functions(str(file))
    except (tf.errors.OpError, OSError, RuntimeError) as error:
        message = getattr(error, "message", str(error))
        raise ImportError(
            f"Cannot load {file} into TensorFlow {tf.__version__}: {message}{_fix(message)}"
        ) from None
    wrong = _library.take_registration_errors()
    _gradients.register_all()
    for op, wrapper in _wrappers(module):
        FILES[op] = str(file)
        wrapper.__doc__ = f"{wrapper.__doc__ or ''}\n{_describe(op, file.name)}"
    if wrong:
        lines = "\n".join(wrong)
        return RuntimeError(f"Some gradients of {file} were not registered:\n{lines}")
    return module


def _warn_of_earlier_errors() -> None:
    """Reports earlier errors now, so they are not attributed to the next library."""
    if earlier := _library.take_registration_errors():
        lines = "\n".join(earlier)
        warnings.warn(
            f"Some gradients of libraries loaded earlier were not registered:\n{lines}",
            RuntimeWarning,
            stacklevel=5,
        )


# ----- Docstrings of the wrappers. -----

_PROVIDED = "Gradient provided by:"


def _wrappers(module: types.ModuleType) -> Iterator[tuple[str, types.FunctionType]]:
    """The ops' functions in a generated module, found by the op's name in their code."""
    ops = set(_node.registered_ops())
    for name, function in list(vars(module).items()):
        if name.startswith("_") or not isinstance(function, types.FunctionType):
            continue
        if function.__doc__ and _PROVIDED in function.__doc__:
            continue  # Another file with the same ops has set it.
        strings = inspect.unwrap(function).__code__.co_consts
        named = [word for word in strings if isinstance(word, str) and word in ops]
        if named:
            yield named[0], function


def _describe(op: str, library: str) -> str:
    """The end of a wrapper's docstring."""
    try:
        explanation = _explain.explain(op, library=library)
    except _node.ExplainError as error:
        lines = [f"Gradient: {error}"]
    else:
        lines = ["Gradient:", *(f"  {line}" for line in explanation.gradient.text)]
    lines += ["", _PROVIDED]
    lines += [f"  {provider.client}: {provider}" for provider in _clients.providers(op, library)]
    return "\n".join(f"  {line}".rstrip() for line in lines) + "\n"


# ----- Errors of files. -----

_ELF64 = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")


def _check_whole(file: pathlib.Path) -> None:
    """Checks that the file is an ELF file with all its segments. The loader ends the
    process if one is truncated, for example by an unfinished copy.

    Raises:
      ImportError: The file is not complete.
    """
    with file.open("rb") as opened:
        header = opened.read(_ELF64.size)
        if not header.startswith(b"\x7fELF"):
            raise ImportError(f"{file} is not a shared library (not an ELF file).")
        size = os.fstat(opened.fileno()).st_size
        segments: list[tuple] = []
        if len(header) == _ELF64.size:
            fields = _ELF64.unpack(header)
            offset, entry, count = fields[5], fields[9], fields[10]
            opened.seek(offset)
            table = opened.read(entry * count)
            if entry == _SEGMENT.size and len(table) == entry * count:
                segments = list(_SEGMENT.iter_unpack(table))
    if not segments or any(s[2] + s[5] > size for s in segments):
        raise ImportError(f"{file} is incomplete: build or copy it again.")


def _fix(message: str) -> str:
    """The fix for an error of the dynamic loader; empty if it is unknown."""
    _, found, symbol = message.rpartition("undefined symbol: ")
    if found:
        return _fix_for_symbol(symbol.split(",")[0].strip())
    missing, found, _ = message.partition(": cannot open shared object file")
    if found:
        return (
            f". The library needs {missing.split()[-1]}: add its folder to "
            "LD_LIBRARY_PATH before the process starts, or link with "
            "-Wl,-rpath,FOLDER."
        )
    return ""


def _fix_for_symbol(symbol: str) -> str:
    name = _demangle(symbol)
    says = f" ({name})" if name != symbol else ""
    if symbol.startswith("TfExt_"):
        return (
            f". tensorflow_ext {_library.VERSION} has no such function: the library "
            "was built with a newer version. Build it with the installed version, or "
            "install the newer one."
        )
    if "tensorflow_ext::" in name:
        return (
            f"{says}. Link the library with "
            "tensorflow_ext.sysconfig.get_link_flags(op_library=True)."
        )
    if any(f"{space}::" in name for space in ("tensorflow", "tsl", "xla", "absl")):
        return (
            f"{says}. The library was not built for TensorFlow {tf.__version__}: "
            "build it with the flags of this interpreter's tensorflow_ext.sysconfig."
        )
    return (
        f"{says}. Link the library with the library that defines the symbol "
        "(-Wl,-z,defs reports such symbols when linking)."
    )


def _demangle(symbol: str) -> str:
    """A C++ name demangled; any other name unchanged."""
    demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle.restype = ctypes.c_void_p
    free = ctypes.CDLL(None).free
    free.argtypes = (ctypes.c_void_p,)
    status = ctypes.c_int()
    written = demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not written:
        return symbol
    try:
        return ctypes.string_at(written).decode()
    finally:
        free(written)
