# SPDX-License-Identifier: Apache-2.0
"""What is listed of the differences between versions, and what is the same."""

import pathlib

import pytest
from known_differences_versions import document, said, version

# Under Bazel this file is a link into the source tree.
_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "known_differences.md"
_NEW = _PAGE.read_text(encoding="utf-8")


def _old(*changes: tuple[str, str]) -> str:
    text = _NEW.replace(version(_NEW), "2.9.3")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


def _rows(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| ")]


def test_the_page_is_read() -> None:
    found = said(_NEW)
    assert found["Python gives a wrong gradient", "BesselI0"] == "zero: 1.1e-01"
    assert found["No gradient at all in Python", "AdjustHue"] == "none"
    assert ("No gradient at all in Python", "MapDefun") not in found
    assert len({heading for heading, _ in found}) == 7
    assert len(found) > 350


def test_the_same_in_other_words() -> None:
    same = _old(
        ("| 1.1e-01 |", "| 1.2e-01 |"), ("`Input is not invertible.`", "`The input is singular.`")
    )
    assert _rows(document([_NEW, same])) == []


def test_what_differs() -> None:
    lacks = _old(
        ("| EuclideanNorm | zero and 1 more", "| EuclideanNorm | zero and 3 more"),
        ("| BesselI1 | zero | first", "| BesselI2 | zero | first"),
        ("\nAdjustContrast, ", "\n"),
    )
    page = document([_NEW, lacks])
    assert "of TensorFlow 2.21" in page
    assert "each of TensorFlow 2.9.3, 2.21" in page
    assert _rows(page) == [
        f"| op | 2.9.3 | {version(_NEW)} |",
        "| BesselI1 |  | zero: 2.0e-01 |",
        "| BesselI2 | zero: 2.0e-01 |  |",
        "| EuclideanNorm | zero and 3 more: not finite | zero and 1 more: not finite |",
        f"| op | 2.9.3 | {version(_NEW)} |",
        "| AdjustContrast |  | none |",
    ]


def test_no_page() -> None:
    with pytest.raises(ValueError, match="names no version"):
        document(["# Something else\n"])
