"""Paths of this library and flags to compile against it, like tf.sysconfig for
TensorFlow.

This compiles an op library (docs/kit.md also shows CMake and Bazel):

    flags() { python -c "from tensorflow_ext import sysconfig
    print(*sysconfig.get_$1_flags(op_library=True))"; }
    g++ squareplus.cc -o libyour_op.so $(flags compile) $(flags link)
"""

import pathlib

import tensorflow as tf

from tensorflow_ext._runtime import _library

__all__ = [
    "get_cmake_dir",
    "get_compile_flags",
    "get_include",
    "get_lib",
    "get_link_flags",
    "get_sources",
    "get_tensorflow_libraries",
]

# The package, which holds the libraries and CMake's files. An installed package also
# holds the headers; a source checkout has them in its root.
_PACKAGE = pathlib.Path(__file__).absolute().parent

# The folder of tensorflow_ext/cc's generated files.
_WRITTEN = _PACKAGE / "include"

# Static libraries that op libraries link in addition to libtensorflow_ext.so.
_ARCHIVES = ("libtensorflow_ext_formula.a", "libtensorflow_ext_kernels.a")

# The libraries of TensorFlow's wheel. Each holds a part of the C interface.
_TENSORFLOW_LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_framework.so.2")

# Folders of other headers that XLA's headers include.
_XLA_INCLUDES = ("external/farmhash_archive/src", "external/highwayhash")

# Flags of an op library. Its loops must vectorize as tensorflow_ext/kernels needs
# (simd.h). It exports no symbols, so that libraries built with different versions of the
# headers can share a process.
_OP_LIBRARY_FLAGS = (
    "-fPIC",
    "-O3",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-DTENSORFLOW_EXT_XLA=1",
    # The tables of FunctionDefHelper leave out fields that they do not need.
    "-Wno-missing-field-initializers",
)


def get_lib() -> str:
    """Returns the directory that holds libtensorflow_ext.so."""
    return str(_library.PATH.parent)


def get_tensorflow_libraries() -> list[str]:
    """Returns the paths of TensorFlow's libraries. Together they hold its C interface,
    which other distributions ship as a single libtensorflow.so."""
    return [f"{tf.sysconfig.get_lib()}/{name}" for name in _TENSORFLOW_LIBRARIES]


def get_include() -> str:
    """Returns the directory from which the library's headers are included, as
    `#include "tensorflow_ext/gradient/c_api.h"`.

    Raises:
      FileNotFoundError: This installation has no headers.
    """
    header = pathlib.Path("tensorflow_ext", "gradient", "c_api.h")
    candidates = [_WRITTEN, _PACKAGE.parent.parent]
    for candidate in candidates:
        if (candidate / header).is_file():
            return str(candidate)
    raise FileNotFoundError(
        f"There is no {header} in {' or '.join(map(str, candidates))}: install "
        "tensorflow_ext with its headers, or use a source checkout."
    )


def get_cmake_dir() -> str:
    """Returns the directory that holds tensorflow_extConfig.cmake, for
    `cmake -Dtensorflow_ext_DIR=...`."""
    return str(_PACKAGE / "cmake")


def get_sources() -> list[str]:
    """Returns the C++ files that a program must compile to build graphs: those of
    tensorflow_ext/cc/ops.h (typed ops) and tensorflow_ext/cc/gradients.h.

    Raises:
      FileNotFoundError: This installation lacks one of them.
    """
    folders = [pathlib.Path(get_include()), _WRITTEN]
    found = []
    for name in ("gradients.cc", "ops.cc"):
        source = pathlib.Path("tensorflow_ext", "cc", name)
        files = [folder / source for folder in folders if (folder / source).is_file()]
        if not files:
            raise FileNotFoundError(
                f"There is no {source} in {' or '.join(map(str, folders))}: build it "
                "with './run build', or install tensorflow_ext with its headers."
            )
        found.append(str(files[0]))
    return found


def get_compile_flags(*, op_library: bool = False, c: bool = False) -> list[str]:
    """Returns the flags to compile C or C++ code that includes this library's headers.

    They include TensorFlow's own flags and, in C++, -DNDEBUG: TensorFlow's wheel was
    built with it, and classes in its headers have another layout without it. All headers
    are found by -isystem, so the compiler does not warn about them.

    Args:
      op_library: Also return the flags for an op library: optimized,
        position-independent, without asserts, with hidden symbols. An op with CUDA
        kernels adds -DTENSORFLOW_EXT_CUDA=1.
      c: Omit the flags that a C compiler does not accept.

    Raises:
      FileNotFoundError: As `get_include`.
    """
    includes = [get_include()]
    if _WRITTEN.is_dir() and str(_WRITTEN) not in includes:
        includes.append(str(_WRITTEN))
    flags = []
    for flag in tf.sysconfig.get_compile_flags():
        if flag.startswith("-I"):
            includes.append(flag.removeprefix("-I"))
        elif not (c and "std=" in flag):
            flags.append(flag)
    if not c:
        flags.append("-DNDEBUG")
    includes += [f"{tf.sysconfig.get_include()}/{name}" for name in _XLA_INCLUDES]
    if op_library:
        flags += _OP_LIBRARY_FLAGS
    return [f"-isystem{include}" for include in includes] + flags


def get_link_flags(*, op_library: bool = False, rpath: bool = False) -> list[str]:
    """Returns the flags to link with this library, including TensorFlow's own flags.

    The flags keep the libraries even if the program uses no symbol of them, because
    loading libtensorflow_ext.so registers its ops and gradients, and because it finds
    TensorFlow's libraries through the program.

    Args:
      op_library: Also return the flags for an op library, which contains the short-hand
        and the kernels' helpers. It depends on libtensorflow_ext.so by that name, and so
        uses the copy that the process has loaded.
      rpath: Also set a search path for run time. Without it, the directories of both
        libraries must be in LD_LIBRARY_PATH, unless the process has already loaded the
        libraries. This is so if `tensorflow_ext.load_op_library` loads the op library,
        or TF_LoadLibrary after it has loaded libtensorflow_ext.so.

    Raises:
      FileNotFoundError: This installation lacks files that op libraries link.
    """
    flags = []
    if op_library:
        archives = [_library.PATH.parent / archive for archive in _ARCHIVES]
        for archive in archives:
            if not archive.is_file():
                raise FileNotFoundError(
                    f"There is no {archive}: build it with './run build', or install "
                    "tensorflow_ext with the archives that op libraries link."
                )
        flags += ["-shared", *map(str, archives)]
    flags += [
        "-Wl,--push-state,--no-as-needed",
        f"-L{get_lib()}",
        f"-l:{_library.PATH.name}",
        f"-L{tf.sysconfig.get_lib()}",
        *(f"-l:{name}" for name in _TENSORFLOW_LIBRARIES),
        "-Wl,--pop-state",
    ]
    if rpath:
        flags += [f"-Wl,-rpath,{lib}" for lib in (get_lib(), tf.sysconfig.get_lib())]
    return flags
