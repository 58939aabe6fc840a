"""python -m tensorflow_ext wrappers: its output, its files and its errors."""

import os
import pathlib
import sys

import pytest
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2

from tensorflow_ext import _names as names
from tensorflow_ext.__main__ import main
from tensorflow_ext._runtime import _library, _wrappers
from tensorflow_ext_codegen import language, op_interface, wrappers


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error of the command when it writes nothing."""
    assert main(["wrappers", *arguments]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    return printed.err


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wrappers", "--cxx"]) == 0
    _, header, source = capsys.readouterr().out.split("// Written by ")
    assert "namespace tensorflow_ext::ops {" in header
    assert "/// * data: Images, [N, H, W, C]." in header
    assert "Attrs SpatialScale(float x)" in header
    assert 'builder.Attr("spatial_scale", attrs.spatial_scale_);' in source
    assert '#include "tensorflow_ext_cc_ops.h"' in source


def test_writes(tmp_path: pathlib.Path) -> None:
    library = os.environ["KINDS"]
    path = tmp_path / "typed.h"
    arguments = ["--library", library, "--name", "some.kinds", "--write", str(path)]
    assert main(["wrappers", "--cxx", *arguments]) == 0
    assert {file.name for file in tmp_path.iterdir()} == {"typed.h", "typed.cc"}
    header = path.read_text()
    assert "namespace some::kinds::ops {" in header
    # Neither ends a comment or continues it on the next line.
    assert "/// Text that ends a comment: */ and \\ .\n" in header
    assert "class KindsSource {" in header
    assert '#include "typed.h"' in (tmp_path / "typed.cc").read_text()


@pytest.mark.parametrize(
    ("option", "file", "foreign"),
    [
        ("--cxx", "ops.h", "ops.h"),
        ("--cxx", "ops.h", "ops.cc"),
        ("--rust", "ops.rs", "ops.rs"),
        ("--java", "folder", "folder/RoiPool.java"),
        ("--java", "ops.srcjar", "ops.srcjar"),
    ],
)
def test_replaces_only_its_own_files(
    option: str, file: str, foreign: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Writes nothing if one of the files is not its own."""
    arguments = [option, "--write", str(tmp_path / file)]
    assert main(["wrappers", *arguments]) == 0
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in written]
    for path in written:
        path.write_bytes(b"" if path.suffix != ".srcjar" else texts[0])
    assert main(["wrappers", *arguments]) == 0
    assert [path.read_bytes() for path in written] == texts
    for path in written:
        path.unlink()
    (tmp_path / foreign).write_text("by hand\n")
    refused = _refused(capsys, *arguments)
    assert (
        f"--write {tmp_path / foreign}: the file exists and was not written by this command"
        in refused
    )
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / foreign]
    assert (tmp_path / foreign).read_text() == "by hand\n"


def test_unwritable_paths(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = tmp_path / "none" / "ops.h"
    refused = _refused(capsys, "--cxx", "--write", str(nowhere))
    assert f"{nowhere}: No such file or directory." in refused
    (tmp_path / "folder.h").mkdir()
    refused = _refused(capsys, "--cxx", "--write", str(tmp_path / "folder.h"))
    assert "folder.h: Is a directory." in refused
    (tmp_path / "file").write_text("")
    refused = _refused(capsys, "--java", "--write", str(tmp_path / "file"))
    assert "file: File exists." in refused
    assert len(refused.splitlines()) == 1


def test_a_tape_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    for options, expected in ([], False), (["--eager"], True):
        assert main(["wrappers", "--rust", *options]) == 0
        assert ("pub struct GradientTape" in capsys.readouterr().out) is expected


@pytest.mark.parametrize(
    ("option", "adam", "minimize"),
    [
        ("--cxx", "struct Adam {", "class Optimizer {"),
        ("--go", "func NewAdam() Adam {", "func Minimize("),
        ("--rust", "pub struct Adam {", "pub fn minimize("),
        ("--java", "public final class Adam extends Optimizer {", "Training minimize("),
    ],
)
def test_optimizers_in_place_of_ops(
    option: str, adam: str, minimize: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wrappers", option, "--train"]) == 0
    printed = capsys.readouterr().out
    assert adam in printed
    assert minimize in printed
    assert "RoiPool" not in printed


@pytest.mark.parametrize(
    ("option", "functions"),
    [
        ("go", ["func Load() error {", "func Gradients("]),
        ("rust", ["pub fn load() ", "pub fn gradients(", "pub fn minimize("]),
        ("java", ["public static void load() {", "public final class Gradients {"]),
    ],
)
def test_functions_beside_the_ops_of_this_library_alone(
    option: str, functions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wrappers", f"--{option}"]) == 0
    printed = capsys.readouterr().out
    assert all(text in printed for text in functions)
    ops = op_interface.describe_all(wrappers.read_op_defs([])[:3])
    folder = pathlib.Path(wrappers.__file__).parent / option
    files = language.render(
        wrappers.find_language(option), ops, "yours", "yours", folder, eager=False
    )
    assert not any(text in file for text in functions for file in files.values())


def test_a_keyword_in_a_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wrappers", "--cxx", "--name", "new.scope"]) == 0
    assert "namespace new_::scope::ops {" in capsys.readouterr().out


def test_refuses(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = str(tmp_path / "ops.txt")
    assert "expected a file *.h for C++" in _refused(capsys, "--cxx", "--write", wrong)
    for name in ("a b", "a..b", "a.", ".a", "1a", "_", "ä"):
        refused = _refused(capsys, "--cxx", "--name", name)
        assert f"--name {name!r}: expected a name" in refused
    no_file = _refused(capsys, "--cxx", "--library", "none.so")
    assert "--library none.so: there is no such file" in no_file
    text = tmp_path / "text.so"
    text.write_text("no library")
    assert f"--library {text}: " in _refused(capsys, "--cxx", "--library", str(text))
    for options in (["--java"], ["--rust", "--library", str(text)]):
        refused = _refused(capsys, "--eager", *options)
        assert "--eager: expected --rust and no --library" in refused
    for more in (["--library", str(text)], ["--eager"]):
        refused = _refused(capsys, "--rust", "--train", *more)
        assert "--train: expected no --library and no --eager" in refused
    own = _refused(capsys, "--cxx", "--library", str(_library.PATH))
    assert "it adds no ops" in own
    for options in ([], ["--cxx", "--fortran"]):
        with pytest.raises(SystemExit):
            main(["wrappers", *options])


def test_without_jinja(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "pip install 'tensorflow-ext[wrappers]'" in _refused(capsys, "--cxx")


def test_one_name_for_two_ops() -> None:
    ops = [op_def_pb2.OpDef(name=name) for name in ("A>Same", "B>Same", "_Hidden")]
    with pytest.raises(op_interface.InterfaceError, match="'A>Same' and 'B>Same'"):
        op_interface.describe_all(ops)
    assert [op.op for op in op_interface.describe_all(ops[1:])] == ["B>Same"]


def test_description() -> None:
    tf.load_library(os.environ["KINDS"])
    op_defs = {op.name: op for op in _wrappers.op_defs()}
    op = op_interface.describe(op_defs["Kinds>Arguments"])
    assert [a.name for a in op.inferred] == ["T", "N", "M", "Types"]
    assert [a.name for a in op.required] == ["K", "Others"]
    assert op.inputs[2].types == ("DT_INT32",)
    assert op.inputs[3].arity is op_interface.Arity.LIST_OF_TYPES
    optional = op_interface.describe(op_defs["Kinds>Optional"]).optional
    defaults = {a.name: a.default for a in optional}
    assert defaults["shape"] == (3, None)
    assert defaults["any_shape"] is None
    assert defaults["result"] == "DT_INT32"
    assert defaults["s"] == b'say "no" \\ twice'


def test_names() -> None:
    assert names.snake_case("RoiPoolGradGrad") == "roi_pool_grad_grad"
    assert names.snake_case("SwiGLUGrad") == "swi_glu_grad"
    assert names.pascal_case("spatial_scale") == "SpatialScale"
    assert names.camel_case("spatial_scale") == "spatialScale"
    assert names.camel_case("RoiPool") == "roiPool"
    assert names.safe("class", {"class", "class_"}) == "class__"
    assert language.quoted(b'"\\\n\0\xc3') == '"\\"\\\\\\n\\000\\303"'
