# SPDX-License-Identifier: Apache-2.0
"""Two op libraries, made with different versions of the headers, in one process."""

import pathlib
import shutil
import subprocess
import sys

import pytest

from tensorflow_ext import sysconfig

# y = 2 x, as the loops of kernels/ compute it, and what is the same in both: the
# function's name is all that they differ in.
_SOURCE = """
#include "tensorflow_ext/kernels/elementwise_cpu.h"

namespace your {
struct Twice {
  static constexpr int kArity = 1;
  template <typename T>
  TENSORFLOW_EXT_HOST_DEVICE T operator()(T x) const {
    return x + x;
  }
};
}  // namespace your

INSTANTIATE_CPU_ELEMENTWISE("Your>Twice", your::Twice)

extern "C" __attribute__((visibility("default"))) float NAME(float x) {
  const void* inputs[] = {&x};
  float y = 0;
  tensorflow_ext::CpuElementwise<your::Twice>::Run(
      {}, tensorflow_ext::NumericType::kFloat, inputs, &y, 0, 1);
  return y;
}
"""


def _headers_of_another_version(folder: pathlib.Path) -> pathlib.Path:
    """A copy of the headers whose loops add 100."""
    copy = folder / "other"
    source = pathlib.Path(sysconfig.get_include(), "tensorflow_ext", "kernels")
    shutil.copytree(source, copy / "tensorflow_ext" / "kernels")
    header = copy / "tensorflow_ext" / "kernels" / "elementwise_cpu.h"
    before = "first[i] = ValueOf(results[0]);"
    text = header.read_text()
    assert text.count(before) == 1
    header.unlink()
    header.write_text(text.replace(before, "first[i] = ValueOf(results[0]) + C(100);"))
    return copy


def _build(folder: pathlib.Path, flags: list[str]) -> list[pathlib.Path]:
    source = folder / "twice.cc"
    source.write_text(_SOURCE)
    libraries = []
    include = pathlib.Path(sysconfig.get_include())
    for name, headers in (
        ("FirstTwice", include),
        ("SecondTwice", _headers_of_another_version(folder)),
    ):
        library = folder / f"lib{name}.so"
        subprocess.run(
            ["g++", "-shared", f"-I{headers}", f"-DNAME={name}", *flags, source, "-o", library],
            check=True,
        )
        libraries.append(library)
    return libraries


def _flags() -> list[str]:
    """Those of op libraries, without the folders of headers."""
    flags = sysconfig.get_compile_flags(op_library=True)
    return [flag for flag in flags if not flag.startswith("-isystem")]


def _call(*libraries: pathlib.Path, mode: str = "RTLD_LOCAL") -> list[float]:
    """What both functions give in a process that loads these libraries."""
    program = f"""
import ctypes
loaded = [ctypes.CDLL(path, ctypes.{mode}) for path in {list(map(str, libraries))}]
for name, library in (("FirstTwice", loaded[0]), ("SecondTwice", loaded[-1])):
    function = getattr(library, name)
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    print(function(3))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    )
    return [float(line) for line in done.stdout.split()]


def _link(libraries: list[pathlib.Path]) -> pathlib.Path:
    """A third library that needs both."""
    both = libraries[0].with_name("libboth.so")
    subprocess.run(["g++", "-shared", "-Wl,--no-as-needed", *libraries, "-o", both], check=True)
    return both


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    return _build(tmp_path_factory.mktemp("hidden"), _flags())


@pytest.mark.parametrize("mode", ["RTLD_LOCAL", "RTLD_GLOBAL"])
def test_loaded(mode: str, libraries: list[pathlib.Path]) -> None:
    assert _call(*libraries, mode=mode) == [6, 106]


def test_linked_together(libraries: list[pathlib.Path]) -> None:
    assert _call(_link(libraries)) == [6, 106]


def test_without_hidden_symbols_they_meet(tmp_path: pathlib.Path) -> None:
    """Else the above would show nothing."""
    flags = [flag for flag in _flags() if "visibility" not in flag]
    # What GCC clones for the arguments of one call has a name that stays local.
    flags += ["-fno-ipa-cp", "-fno-ipa-sra"]
    first, second = _call(_link(_build(tmp_path, flags)))
    assert first == second


def test_nothing_is_exported(libraries: list[pathlib.Path]) -> None:
    for library in libraries:
        listed = subprocess.run(
            ["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True
        ).stdout
        assert "Twice" in listed
        assert "tensorflow_ext" not in listed
        assert "your::" not in listed


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
