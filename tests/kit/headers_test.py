"""The public parts are complete: the headers, their list, the names of the C interface."""

import pathlib
import re

import commands

from tensorflow_ext import sysconfig

_ROOT = pathlib.Path(sysconfig.get_include())
_STUB = _ROOT / "tensorflow_ext" / "op_library" / "stub" / "libtensorflow_ext.so"


def _headers() -> list[pathlib.Path]:
    """All headers here; under Bazel there are only public ones."""
    folder = _ROOT / "tensorflow_ext"
    return sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cuh"})


def test_headers_include_public_ones() -> None:
    headers = _headers()
    assert len(headers) > 25
    missing = [
        f"{header.relative_to(_ROOT)} includes {name}"
        for header in headers
        for name in re.findall(r'^#include "(.*)"', header.read_text(), re.MULTILINE)
        if name.startswith("tensorflow_ext/") and not (_ROOT / name).is_file()
    ]
    assert not missing, "these are not among public_headers"


def _expanded(name: str) -> list[str]:
    """'broadcast_{op,cpu}.h' stands for both."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    if not found:
        return [name]
    return [f"{found[1]}{one}{found[3]}" for one in found[2].split(",")]


def test_readme_lists_them() -> None:
    readme = (_ROOT / "tensorflow_ext" / "kernels" / "README.md").read_text()
    _, public = readme.split("\n## Public\n")
    public, private = public.split("\n## Not public\n")
    private = private.partition("\n## ")[0]
    listed, others = (
        {name for quoted in re.findall(r"`([^`]*\.c?u?h)`", text) for name in _expanded(quoted)}
        for text in (public, private)
    )
    listed.discard("registration.h")  # the header says that it is internal
    folder = _ROOT / "tensorflow_ext"
    names = {p.name for p in (folder / "kernels").iterdir() if p.suffix != ".md"}
    names |= {f"xla/{p.name}" for p in (folder / "xla").iterdir()}
    assert listed == names - {"launch.cu.cc"}
    assert not listed & others


def _exported(library: pathlib.Path) -> set[str]:
    return set(re.findall(r"\bTfExt_\w+", commands.run("nm", "-D", "--defined-only", library)))


def test_the_stub_has_the_names_of_the_library() -> None:
    library = pathlib.Path(sysconfig.get_lib(), "libtensorflow_ext.so")
    assert _exported(_STUB) == _exported(library)
