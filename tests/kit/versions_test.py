"""Two op libraries, built with different versions of the headers, in one process."""

import pathlib
import shutil
import sys

import commands
import pytest

from tensorflow_ext import sysconfig

# y = 2 x, as the loops of kernels/ compute it. Both libraries have the same code; only the
# function's name differs.
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
    other = _headers_of_another_version(folder)
    for name, headers in (("FirstTwice", sysconfig.get_include()), ("SecondTwice", other)):
        libraries.append(folder / f"lib{name}.so")
        settings = [f"-I{headers}", f"-DNAME={name}", *flags]
        commands.run("g++", "-shared", *settings, source, "-o", libraries[-1])
    return libraries


def _flags() -> list[str]:
    """The flags of op libraries, without the folders of headers."""
    flags = sysconfig.get_compile_flags(op_library=True)
    return [flag for flag in flags if not flag.startswith("-isystem")]


def _call(*libraries: pathlib.Path, mode: str = "RTLD_LOCAL") -> list[float]:
    """The results of both functions in a process that loads these libraries."""
    program = f"""
import ctypes
loaded = [ctypes.CDLL(path, ctypes.{mode}) for path in {list(map(str, libraries))}]
for name, library in (("FirstTwice", loaded[0]), ("SecondTwice", loaded[-1])):
    function = getattr(library, name)
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    print(function(3))
"""
    return [float(line) for line in commands.run(sys.executable, "-I", "-c", program).split()]


def _link(libraries: list[pathlib.Path]) -> pathlib.Path:
    """A third library that needs both."""
    both = libraries[0].with_name("libboth.so")
    commands.run("g++", "-shared", "-Wl,--no-as-needed", *libraries, "-o", both)
    return both


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    return _build(tmp_path_factory.mktemp("hidden"), _flags())


@pytest.mark.parametrize("mode", ["RTLD_LOCAL", "RTLD_GLOBAL"])
def test_loaded(mode: str, libraries: list[pathlib.Path]) -> None:
    assert _call(*libraries, mode=mode) == [6, 106]


def test_linked_together(libraries: list[pathlib.Path]) -> None:
    assert _call(_link(libraries)) == [6, 106]


def test_without_hidden_symbols_they_clash(tmp_path: pathlib.Path) -> None:
    """Otherwise the test above would prove nothing."""
    flags = [flag for flag in _flags() if "visibility" not in flag]
    # Functions that GCC clones for the arguments of one call have local names.
    flags += ["-fno-ipa-cp", "-fno-ipa-sra"]
    first, second = _call(_link(_build(tmp_path, flags)))
    assert first == second


def test_nothing_is_exported(libraries: list[pathlib.Path]) -> None:
    for library in libraries:
        listed = commands.run("nm", "-DC", "--defined-only", library)
        assert "Twice" in listed
        assert "tensorflow_ext" not in listed
        assert "your::" not in listed
