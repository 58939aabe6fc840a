# SPDX-License-Identifier: Apache-2.0
"""Where this library lies and how to compile against it, as tf.sysconfig says it
of TensorFlow.

An op library in one line (docs/kit.md has CMake and Bazel beside it):

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

# The package, which holds the libraries, the files of CMake and, where it is
# installed, the headers; a source checkout has these in its root.
_PACKAGE = pathlib.Path(__file__).absolute().parent

# Where a build puts what it writes of tensorflow_ext/cc.
_WRITTEN = _PACKAGE / "include"

# What op libraries link into themselves, beside libtensorflow_ext.so.
_ARCHIVES = ("libtensorflow_ext_formula.a", "libtensorflow_ext_kernels.a")

# Of TensorFlow's wheel; the C interface is shared out between them.
_TENSORFLOW_LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_framework.so.2")

# XLA's headers include others that lie apart.
_XLA_INCLUDES = ("external/farmhash_archive/src", "external/highwayhash")

# Of an op library: loops as tensorflow_ext/kernels needs them (simd.h); nothing
# exported, so that libraries made with different versions of the headers live in one
# process.
_OP_LIBRARY_FLAGS = (
    "-fPIC",
    "-O3",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-DTENSORFLOW_EXT_XLA=1",
    # The tables of FunctionDefHelper leave out what they do not need.
    "-Wno-missing-field-initializers",
)


def get_lib() -> str:
    """Returns the directory that holds libtensorflow_ext.so."""
    return str(_library.PATH.parent)


def get_tensorflow_libraries() -> list[str]:
    """Returns the paths of TensorFlow's libraries. Together they hold its C interface,
    which elsewhere is one libtensorflow.so."""
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
    """Returns the C++ files that a program which builds graphs compiles with its own:
    those of tensorflow_ext/cc/ops.h (typed ops) and tensorflow_ext/cc/gradients.h.

    Raises:
      FileNotFoundError: This installation has not both.
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
    """Returns the flags to compile C or C++ that includes this library's headers,
    TensorFlow's own flags included, and in C++ -DNDEBUG, with which its wheel was
    built: classes of its headers have another layout without.

    All headers are found by -isystem: the compiler is silent about what is not the
    caller's.

    Args:
      op_library: Also those for an op library: optimised, position-independent,
        without asserts, with hidden symbols. An op with CUDA kernels adds
        -DTENSORFLOW_EXT_CUDA=1.
      c: Without the flags that a C compiler does not take.

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
    """Returns the flags to link with this library, TensorFlow's own included.

    The libraries are kept even if the program uses nothing of them: loading
    libtensorflow_ext.so is what registers its ops and gradients, and it finds
    TensorFlow's through the program.

    Args:
      op_library: Also those for an op library, which carries the short-hand and the
        kernels' helpers within itself. It asks for libtensorflow_ext.so by that
        name, and so meets the copy that the process has loaded.
      rpath: Also a search path for run time. Without it the directories of both
        libraries are to be in LD_LIBRARY_PATH, unless the process has loaded them, as
        it has where `tensorflow_ext.load_op_library` or TF_LoadLibrary, called for
        libtensorflow_ext.so first, load an op library.

    Raises:
      FileNotFoundError: This installation has not what op libraries link.
    """
    flags = []
    if op_library:
        archives = [_library.PATH.parent / archive for archive in _ARCHIVES]
        for archive in archives:
            if not archive.is_file():
                raise FileNotFoundError(
                    f"There is no {archive}: build it with './run build', or install "
                    "tensorflow_ext with what op libraries link."
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
