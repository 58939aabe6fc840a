"""docs/tensorflow_addons.md: the names on the page exist, and its example trains, saves and
loads."""

import functools
import pathlib
import re

import commands
import keras
import tensorflow as tf

import tensorflow_ext as tfe

_PAGE = pathlib.Path(__file__).absolute().parents[2] / "docs" / "tensorflow_addons.md"
_MODULES = {"keras": keras, "layers": tfe.layers, "tf": tf, "tfe": tfe}


def _rows() -> list[list[str]]:
    rows = [line.split("|") for line in _PAGE.read_text().splitlines()]
    return [cells for cells in rows if len(cells) == 5 and "`tfa." in cells[1]]


def test_replacements_exist() -> None:
    names = [name for row in _rows() for name in re.findall(r"`([\w.]+)`", row[2])]
    assert len(names) >= 25
    for name in names:
        module, _, path = name.partition(".")
        assert functools.reduce(getattr, path.split("."), _MODULES[module]), name


def test_every_layer_and_function_of_the_page_is_exported() -> None:
    for row in _rows():
        for module, name in re.findall(r"`(tfe|layers)\.(\w+)`", row[2]):
            assert name in _MODULES[module].__all__


def test_example(tmp_path: pathlib.Path) -> None:
    section = _PAGE.read_text().partition("\n## A model, there and here\n")[2]
    program = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    assert len([line for line in program.splitlines() if line]) <= 20
    printed = commands.python("-c", program, cwd=tmp_path)
    assert (tmp_path / "texts.keras").is_file()
    assert float(re.search(r"accuracy ([\d.]+)", printed)[1]) > 0.95
