"""Every code block of README.md and docs/ does what its page says.

Python runs. C, C++, Go, Java and Rust appear word for word in a source that is compiled, or C
and C++ are compiled here. Commands exist. Blocks of no such kind are listed here with a reason.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil

import code_blocks
import commands
import processes
import pytest
from code_blocks import ROOT, Block
from commit_sampling import is_turn_of_commit

import tensorflow_ext as tfe
from tensorflow_ext import _compatibility

# The reason why nothing here runs a block, by page and beginning of the block ("*": every block of
# the page except commands).
_APPLIED = "tests/new_op/building_test.py applies it to a copy of the tree"
_EXEMPT = {
    ("docs/adding_an_op.md", "*"): _APPLIED,
    (
        "docs/tensorflow_addons.md",
        "import tensorflow_ext.addons",
    ): "loads a model of the reader's; tests/addons/saved_model_test.py loads one",
}
_SHELL = {"bash", "console", "sh", "shell"}
# Output of programs, tables and similar text.
_TEXT = {"", "text"}
# Blocks of C are put into this function, which has the variables that they use.
_C = """
#include <stddef.h>
#include "tensorflow/c/c_api.h"
#include "tensorflow_ext/addons/register_ops.h"
#include "tensorflow_ext/gradient/c_api.h"
#include "tensorflow_ext/saved_model/use_model_gradients.h"
void Block(int argc, char** argv, TF_Status* status, TF_Graph* graph,
           TF_SessionOptions* options, TF_Session* session, const char* tag, TF_Buffer* meta_graph,
           TF_Output x, TF_Output y, TF_Output loss, TF_Output dx, int n,
           TF_Output* variables, TF_Output* gradients) {
#line 1 "%s"
%s
(void)session;
}
"""
# Formulas are put into this namespace.
_FORMULA = """
#include "tensorflow_ext/gradient/formula/formula_ops.h"
namespace tensorflow_ext {
#line 1 "%s"
%s
}  // namespace tensorflow_ext
"""


def _is_command(block: Block) -> bool:
    """True for a shell block; indented blocks count if they begin like one."""
    starts = r"(\w+=\S+ )*(\./run|bazel|\.venv/bin/)"
    return block.language in _SHELL or (
        block.language in _TEXT and re.match(starts, block.text) is not None
    )


def _exemption(block: Block) -> tuple[str, str] | None:
    for page, start in _EXEMPT:
        fits = not _is_command(block) if start == "*" else block.text.startswith(start)
        if block.page == page and fits:
            return page, start
    return None


_ALL = code_blocks.blocks()
_BLOCKS = [block for block in _ALL if not _exemption(block)]


def _every_block(*languages: str) -> pytest.MarkDecorator:
    blocks = [block for block in _BLOCKS if block.language in languages]
    return pytest.mark.parametrize("block", blocks, ids=str)


def test_every_exemption_is_needed() -> None:
    assert {_exemption(block) for block in _ALL} - {None} == _EXEMPT.keys()


def test_every_block_is_checked() -> None:
    known = {"c", "cpp", "go", "java", "python", "rust", "toml"} | _SHELL | _TEXT
    others = [str(block) for block in _BLOCKS if block.language not in known]
    assert not others, f"a language that code_blocks_test does not run: {others}"
    assert len(_BLOCKS) >= 20


@pytest.mark.parametrize(
    ("page", "pattern"),
    [
        ("examples/README.md", "examples/*/"),
        ("examples/fine_tune/README.md", "bindings/*/"),
        ("bindings/README.md", "bindings/*/"),
    ],
)
def test_every_example_is_listed(page: str, pattern: str) -> None:
    readme = ROOT / page
    for folder in ROOT.glob(pattern):
        if any(folder.rglob("BUILD")):
            link = f"]({os.path.relpath(folder, readme.parent)}"
            assert link in readme.read_text(), f"{readme} names no {folder}"


def _is_turn(page: str) -> bool:
    """True if this commit runs what the page says; about a third of the commits do, and each that
    changes the page."""
    return is_turn_of_commit(page, 3, page)


_PYTHON = [block for block in _BLOCKS if block.language == "python"]


@pytest.mark.parametrize("page", filter(_is_turn, sorted({block.page for block in _PYTHON})))
def test_python(page: str, tmp_path: pathlib.Path) -> None:
    pieces = [(str(block), block.text) for block in _PYTHON if block.page == page]
    (tmp_path / "blocks.json").write_text(json.dumps(pieces))
    program = """
    import os, sys
    os.chdir(sys.argv[1])
    import python_page
    python_page.run("blocks.json")
    """
    processes.run(program, str(tmp_path))


def _check_syntax(source: pathlib.Path, block: Block, frame: str, compiler: str, c: bool) -> None:
    """Compiles a block, inside a frame unless it is complete."""
    if not _is_turn(block.page):
        return
    whole = "#include" in block.text
    source.write_text(block.text if whole else frame % (block.page, block.text))
    flags = [*tfe.sysconfig.get_compile_flags(c=c), f"-I{ROOT}", "-Wall", "-Wextra"]
    quiet = ["-Wno-unused-parameter", "-Wno-unused-variable"]
    standard = "-std=c11" if c else "-std=c++17"
    commands.run(compiler, "-fsyntax-only", standard, *flags, *quiet, source)


def _is_compiled(block: Block) -> bool:
    return code_blocks.tokens(block.text) in code_blocks.compiled_code()


@_every_block("c")
def test_c(block: Block, tmp_path: pathlib.Path) -> None:
    if not _is_compiled(block):
        _check_syntax(tmp_path / "block.c", block, _C, os.environ.get("CC", "gcc"), c=True)


@_every_block("cpp")
def test_cpp(block: Block, tmp_path: pathlib.Path) -> None:
    if _is_compiled(block):
        return
    assert "#include" in block.text or "(Gradient& g)" in block.text, (
        f"{block} stands in no source that is compiled, but for comments and spaces; take it "
        "from one, or give it its #include lines, so that it is compiled here"
    )
    _check_syntax(tmp_path / "block.cc", block, _FORMULA, os.environ.get("CXX", "g++"), c=False)


@_every_block("go", "java", "rust")
def test_go_java_and_rust(block: Block) -> None:
    assert _is_compiled(block), (
        f"{block} stands in no source that is compiled, but for comments and spaces"
    )


@_every_block("toml")
def test_toml(block: Block) -> None:
    manifests = (ROOT / "bindings" / "rust" / "examples").glob("*/Cargo.toml")
    assert any(block.text in path.read_text() for path in manifests), (
        f"{block} stands in no Cargo.toml of an example"
    )


def _lines(block: Block) -> list[list[str]]:
    """The words of each command, without comments and leading variables."""
    found = []
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"\w+=.*", words[0]):
            del words[0]
            while words and words[0].endswith(")"):  # X=$(command with arguments)
                del words[0]
        if words:
            found.append(words)
    return found


@functools.cache
def _run_commands() -> set[str]:
    """The commands of ./run."""
    usage = (ROOT / "run").read_text().partition("HELP'\n")[2].partition("\nHELP")[0]
    return set(re.findall(r"^  ([a-z][\w-]*)  ", usage, re.MULTILINE))


def _check_label(label: str) -> None:
    if "..." in label:
        return
    package, _, name = label.removeprefix("//").partition(":")
    build = ROOT / package / "BUILD"
    assert build.is_file(), label
    name = name or pathlib.PurePath(package).name
    assert f'"{name}"' in build.read_text(), label


@pytest.mark.parametrize("block", filter(_is_command, _BLOCKS), ids=str)
def test_commands(block: Block, tmp_path: pathlib.Path) -> None:
    for program, *arguments in _lines(block):
        if program == "./run":
            assert arguments[0] in _run_commands(), f"{block}: ./run {arguments[0]}"
            for label in (word for word in arguments if word.startswith("//")):
                _check_label(label)
        elif program == "bazel":
            for label in (word for word in arguments[1:] if word[0] != "-"):
                _check_label(label)
        elif program == ".venv/bin/python" and arguments[:2] == ["-m", "tensorflow_ext"]:
            if _is_turn(block.page):
                _run_module(arguments[2:], tmp_path)
        elif program in (".venv/bin/python", ".venv/bin/pip"):
            assert (ROOT / arguments[0]).is_file(), f"{block}: {arguments[0]}"
        else:
            pytest.fail(f"{block}: {program} is no command that this test knows")


def _run_module(arguments: list[str], folder: pathlib.Path) -> None:
    """Runs python -m tensorflow_ext, without drawing if there is no Graphviz. Commands about
    TensorFlow Java must say that it has no release for this TensorFlow."""
    if "--java" in arguments and _compatibility.java_release() is None:
        with pytest.raises(AssertionError, match="TensorFlow Java has releases for"):
            _run_as_program(arguments, folder)
        return
    if shutil.which("dot") is None and "--draw" in arguments:
        at = arguments.index("--draw")
        arguments = arguments[:at] + arguments[at + 2 :]
    _run_as_program(arguments, folder)


def _run_as_program(arguments: list[str], folder: pathlib.Path) -> None:
    program = """
    import os, sys
    os.chdir(sys.argv[1])
    from tensorflow_ext.__main__ import main
    sys.exit(main(sys.argv[2:]))
    """
    processes.run(program, str(folder), *arguments)
