import pathlib

import pytest
import rewrite


def _rewritten(tmp_path: pathlib.Path, text: str) -> str:
    """The text after the line that names the file."""
    path = tmp_path / "source.cu.cc"
    path.write_text(text)
    first, *rest = rewrite.rewrite(str(path)).split("\n")
    assert first == f'#line 1 "{path}"'
    return "\n".join(rest)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Add<<<4, 256, 0, s>>>(x, y);", "emulator::Launch(4, 256, 0, s, [=] { Add(x, y); });"),
        (
            "return\n  n::Add<T, 2, Pack<T>>\n  <<<dim3(a, b), block,\n 0, s>>>(\n x);",
            "return\n  emulator::Launch(dim3(a, b), block,\n 0, s, [=] { "
            "n::Add<T, 2, Pack<T>>\n  (\n x); });",
        ),
        (
            "if (a < b) Add<<<1, (a >> 2), 0, s>>>(f(x), y); // <<<\n",
            "if (a < b) emulator::Launch(1, (a >> 2), 0, s, [=] { Add(f(x), y); }); // <<<\n",
        ),
        (
            "__shared__ unsigned int hits[kWarps][8];",
            "unsigned int (&hits)[kWarps][8] = emulator::Shared<unsigned int[kWarps][8]>([] {});",
        ),
        ("  __shared__\n T total;", "  T& total = emulator::Shared<T>([] {});\n"),
        (
            "void K(const __grid_constant__ Group group, int n) {",
            "void K(const Group& group, int n) {",
        ),
        ('text = "__shared__ <<<";', 'text = "__shared__ <<<";'),
    ],
)
def test_rewritten(tmp_path: pathlib.Path, source: str, expected: str) -> None:
    assert _rewritten(tmp_path, source) == expected


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("\nAdd<<<1, 256>>>(x);", ":2: a launch is not kernel"),
        ("Add<<<1, 256, 0, s>>>;", ":1: no ( behind >>>"),
        ("Add<<<1, 256, 0, s>>(x);", ":1: no >>> behind"),
        ("Add<<<1, f(256], 0, s>>>(x);", ":1: no >>> behind"),
        ("Add<<<1, 256, 0, s>>>(x;", ":1: no ) behind"),
        ("e = Add<<<1, 256, 0, s>>>(x) + 1;", ":1: no ; behind a launch"),
        ("(*kernel)<<<1, 256, 0, s>>>(x);", ":1: no name of a kernel"),
        ("\n\nextern __shared__ float values[];", ":3: not __shared__ type name"),
        ("__shared__ float x[2], y[2];", ":1: not __shared__ type name"),
        ("void K(__grid_constant__ const T x)", ":1: not const __grid_constant__"),
    ],
)
def test_refuses(tmp_path: pathlib.Path, source: str, reason: str) -> None:
    with pytest.raises(rewrite.RewriteError) as error:
        _rewritten(tmp_path, source)
    assert reason in str(error.value)


def test_headers_are_included_once_with_their_lines(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("inner.cuh").write_text("inner\n")
    pathlib.Path("outer.cuh").write_text('#include "inner.cuh"\nouter\n')
    source = '#include "inner.cuh"\n#include "a.h"\n#include "outer.cuh"\nsource\n'
    assert _rewritten(tmp_path, source).splitlines() == [
        '#line 1 "inner.cuh"',
        "inner",
        f'#line 2 "{tmp_path}/source.cu.cc"',
        '#include "a.h"',
        '#line 1 "outer.cuh"',
        "",
        "outer",
        f'#line 4 "{tmp_path}/source.cu.cc"',
        "source",
    ]
