"""tools/prose.py finds what it must and nothing else."""

import pathlib

import prose
import pytest


def _found(name: str, text: str) -> list[str]:
    """The findings in a file of this name, without the name."""
    return [finding.removeprefix(f"{name}:") for finding in prose.findings(_path(name), text)]


def _path(name: str) -> pathlib.PurePath:
    return pathlib.PurePath(name)


@pytest.mark.parametrize(
    "sentence",
    [
        "Of a tensor to be eager is quicker seen than of the context.",
        "What a build needs.",
        "Whether it depends on constants and shapes alone.",
        "Who feeds it cannot fetch it.",
        "The file must exist. Whoever needs the list reads it here.",
        "An input that is to have none.",
        "The loops are\nto be vector code.",
        "It mends the gradient.",
        "It is skipped for want of a toolchain.",
        "These are tensors, of which nothing is known.",
        "It sorts the rows so that there is one order.",
        "Each does all there is to do.",
        "It reads a value, be it a list.",
        "The test waits, for they share a cache.",
        "It is a jar and the classes therein.",
        "The rows agree but for rounding.",
        "Each version stands here.",
        "No class of an op may be called so.",
        "It looks whether the name is taken.",
        "An op has no gradient. Nor has its gradient.",
        "A library of yours.",
    ],
)
def test_bad_sentences(sentence: str) -> None:
    (found,) = _found("page.md", f"- {sentence}\n")
    assert " -> " in found


@pytest.mark.parametrize(
    "sentence",
    [
        "Returns true if the step depends only on constants and shapes.",
        "What happens if the file is missing?",
        "Of course the order matters.",
        "Whatever the order, the sum is the same.",
        "The goal is to read the file once.",
        "It is to the left of the other; the source is to be found in the tree.",
        "The functions, some of which have no gradient, are listed.",
        "The module amends the graph and has the function `mend()`.",
        "It waits for it. Not this one, but for the first time it works.",
        "An error says who registered the op and what to write.",
        "It reads all the files that are there and all of what follows.",
        "The lesson is so short that nobody forgets it, so has no summary.",
        "Neither is loaded.",
    ],
)
def test_good_sentences(sentence: str) -> None:
    assert not _found("page.md", f"- {sentence}\n")


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "a.md",
            "# Title\n\nIt mends.\n\n```\nmend\n```\n\n    mend\n\n`mend`\n\n1. What it has\n",
            [3, 13],
        ),
        ("a.h", '// It\n// mends.\nauto s = "mend // mend";\nint i;  // What it has.\n', [2, 4]),
        ("a.cc", "/* It\n * mends. */\nchar c = '\"';\n/// Of both, the first.\n", [2, 4]),
        ("a.go", "// It mends.\nmend := 1 // mended\n", [1, 2]),
        ("a.rs", "//! It mends.\nfn mend<'a>() {}\n", [1]),
        (
            "a.py",
            '"""It mends.\n\nWhat it has.\n"""\ns = "# mend"\nt = """mend"""\n# mended\n',
            [1, 3, 7],
        ),
        ("BUILD", "# It mends.\nmend()\n", [1]),
        ("a.sh", "mend  # It mends.\nn=$#mend\n", [1]),
    ],
)
def test_where_prose_is(name: str, text: str, lines: list[int]) -> None:
    found = _found(name, text)
    assert sorted(int(finding.split(":")[0]) for finding in found) == lines


def test_files_with_prose() -> None:
    assert prose.has_prose(_path("tools/prose.py"))
    assert not prose.has_prose(_path("tools/prose.py.orig"))
    assert not prose.has_prose(_path("LICENSE"))
