# SPDX-License-Identifier: Apache-2.0
"""new-op's files, without building them: they are complete, each missing part is reported, --remove
leaves no trace, and wrong arguments are refused.
"""

import pathlib
import shlex
import subprocess

import pytest
from completeness.checks import missing
from new_op.__main__ import add, main, op_of, parser, remove
from new_op.errors import NewOpError
from new_op.pieces import Piece
from source_tree import Tree

# Under Bazel this file is a link into the source tree.
_ROOT = pathlib.Path(__file__).resolve().parents[2]

# One of each kind, with attributes of each type.
_OPS = {
    "unary": "generated_one --unary --attr b:float=4 --attr 'c:float>=0'",
    "binary": "generated_one --binary",
    "in a family": (
        "generated_one --binary --same-shape --family activations --attr 'n:int>=1=3' "
        "--attr 'w:float>=-1=0.5' --attr flag:bool=true --attr mode:{up,down}=up"
    ),
    "general": (
        "generated_one --inputs x:T indices:Tindices --outputs y:T argmax:int64 "
        "--attr 'sizes:list(int)>=2=[1,2]' --attr Tout:{float,double}=float "
        "--attr label:string=abc --module generated_ones"
    ),
    "general, of one input": "generated_one --inputs x:T --outputs y:T",
}
every_kind = pytest.mark.parametrize("words", _OPS.values(), ids=_OPS)


def _add(words: str, tree: Tree) -> list[Piece]:
    return add(op_of(parser().parse_args(shlex.split(words))), tree)


@every_kind
def test_it_is_complete_and_each_part_is_missed(words: str) -> None:
    tree = Tree(_ROOT)
    pieces = _add(words, tree)
    assert missing(tree) == []
    for piece in pieces:
        without = Tree(_ROOT, tree.changes())
        piece.revert(without)
        found = missing(without)
        folder = piece.path.rpartition("/")[0] or piece.path
        assert any(folder in sentence for sentence in found), f"without {piece.path}: {found}"


@every_kind
def test_it_goes_without_a_trace(words: str) -> None:
    tree = Tree(_ROOT)
    _add(words, tree)
    assert tree.changes()
    for path, text in tree.changes().items():
        assert not str(text).endswith("\n\n"), path
    remove("generated_one", tree)
    assert tree.changes() == {}


def test_one_of_two_goes_without_a_trace() -> None:
    tree = Tree(_ROOT)
    _add("first_one --inputs x:T --outputs y:T", tree)
    before = tree.changes()
    _add("second_one --inputs x:T --outputs y:T", tree)
    remove("second_one", tree)
    assert tree.changes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("x_y --unary", "the op's name 'x_y' would come back"),
        ("lambda --unary", "'lambda': Python takes this word"),
        ("9x --unary", "the op's name '9x': expected letters"),
        ("relu_grad --unary", "the gradient of an op is so called"),
        ("relu --unary", "there is an op TfExt>Relu in tensorflow_ext/ops/activations"),
        ("layers --unary", "a function or a module 'layers'"),
        ("swiglu --unary", "a function or a module 'swiglu'"),
        ("numpy_op --unary", "a function or a module 'numpy_op'"),
        ("distribute --unary", "a function or a module 'distribute'"),
        ("importlib --unary", "a function or a module 'importlib'"),
        ("no_gradient --unary", "an op TfExt>NoGradient in tensorflow_ext/graph_marks:"),
        ("square --unary", "formula_ops.h has a 'Square', and so would something of"),
        ("client --unary", "client_registry.h has a 'ClientGradient'"),
        ("one", "expected --unary, --binary, --inputs with --outputs, or --remove"),
        ("one --unary --outputs y:T", "--outputs: expected beside --inputs alone"),
        ("one --unary --same-shape", "--same-shape: expected beside --binary alone"),
        ("one --unary --attr b", "--attr b: expected NAME:TYPE"),
        ("one --unary --attr b:real", "'real' is no type; expected NAME:TYPE"),
        ("one --unary --attr b:float=x", "--attr b:float=x: 'x' is no float"),
        ("one --unary --attr b:int=1.5", "'1.5' is no int"),
        ("one --unary --attr 'b:int>=2=1'", "the default is below the minimum"),
        ("one --unary --attr 'b:bool>=2'", "a bool has no minimum"),
        ("one --unary --attr m:{up,down}=left", "the default is none of up, down"),
        ("one --unary --attr 'm:{}'", "no value is allowed"),
        ("one --unary --attr m:string", "expected bool, int, float or the strings"),
        ("one --unary --attr 'm:list(int)=[1]'", "functor has numbers for members"),
        ("one --unary --attr 'm:list(int)'", "expected a default"),
        ("one --unary --attr x:float", "'x' is the name of two"),
        ("one --unary --attr int32:int", "'int32': a type of TensorFlow is so called"),
        ("one --unary --attr double:int", "'double': C++ takes this word"),
        ("one --unary --attr template:int", "'template': C++ takes this word"),
        ("one --unary --attr context:float", "'context': what is written has"),
        ("one --unary --attr One:float", "'One': what is written has"),
        ("one --unary --attr raw_ops:float", "'raw_ops': what is written has"),
        ("one --unary --attr b:int=9223372036854775808", "is no int; expected a whole"),
        ("one --unary --attr b:float=1e39", "'1e39' is no float; expected a number of"),
        ("one --unary --attr b:float=nan", "'nan' is no float"),
        ("one --unary --attr 'm:{up,d\"n}'", "'d\"n' is no string; expected letters"),
        ("one --unary --attr 'm:{up,float}'", "strings of which none names a type"),
        ("one --unary --attr 'm:{up, }'", "'' is no string; expected letters"),
        ("float --unary", "the op's name 'float': C++ takes this word"),
        ("tuple --unary", "Python has a function or a type that is so called"),
        ("one --unary --attr b:int --attr b:int", "'b' is the name of two"),
        ("one --binary --attr b:int", "expected --same-shape beside --binary"),
        ("one --binary --family activations", "expected --same-shape"),
        ("one --unary --family snake", "expected one of activations, gradient_modif"),
        ("one --unary --module relu", "--module relu: a function has this name"),
        ("one --inputs x:T --outputs y:T --family activations", "beside --unary"),
        ("one --inputs x --outputs y:T", "--inputs x: expected NAME:TYPE"),
        ("one --inputs x:T", "expected 1 to 8 inputs and an output"),
        ("one --inputs x:T --outputs y:U", "--outputs y:U: no input has this type"),
        ("one --inputs x:float --outputs y:T", "an attribute such as T"),
        ("one --inputs x:T b:bool --outputs y:T", "b:bool: no kernel computes with"),
        ("one --inputs x:T b:9 --outputs y:T", "the type '9': expected letters"),
        ("one --inputs x:T tf:T --outputs y:T", "'tf': what is written has"),
        ('one --inputs x:T --outputs y:T --attr "s:string=a\'b"', "is no string"),
        ("one --inputs x:T --outputs y:T --attr D:type=foo", "'foo' is no type; exp"),
        ("one --inputs x:T --outputs y:T --attr 'l:list(int)>=-1=[]'", "0 or more"),
        ("one --inputs x:T n:int32 --outputs m:int32", "none has the type of a float"),
        ("one --inputs n:int32 x:T --outputs y:T", "floating-point input first"),
        ("one --inputs x:T --outputs y:T --attr T:string", "a type attribute"),
        ("one --inputs x:T --outputs y:T --attr T:{half,float}", "double all"),
    ],
)
def test_wrong_arguments_are_refused(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(words)) == 2
    error = capsys.readouterr().err
    assert error.startswith("./run new-op: ")
    assert message in error


def test_what_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(NewOpError, match="there is no op 'generated_one'"):
        remove("generated_one", Tree(_ROOT))


def test_no_git(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["generated_one", "--remove"]) == 2
    assert "--remove: no git, which says whether" in capsys.readouterr().err


def _git(folder: pathlib.Path, *arguments: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=b"]
    subprocess.run(["git", "-C", str(folder), *author, *arguments], check=True)


@pytest.mark.parametrize("repository", ["none", "new", "of another tree", "around it"])
def test_what_git_may_have_is_not_removed(
    repository: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tree = tmp_path / "tree"
    cases = tree / "tests" / "clients" / "cases" / "relu.cases"
    cases.parent.mkdir(parents=True)
    cases.touch()
    (tree / "run").touch()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr("new_op.__main__.ROOT", tree)
    message = "git does not say whether relu is part of the last commit ("
    if repository != "none":
        _git(tmp_path, "init", "--quiet")
    if repository == "of another tree":
        _git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=another")
    if repository == "around it":
        _git(tmp_path, "add", "tree")
        _git(tmp_path, "commit", "--quiet", "--message=all")
        message = "relu is part of the last commit; expected"
    assert main(["relu", "--remove"]) == 2
    error = capsys.readouterr().err
    assert f"./run new-op: --remove: {message}" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("path", "anchor"),
    [
        ("tests/python/comparisons.py", "_ACTIVATIONS = ["),
        ("tests/gpu/kernels_alone/pointwise_kernels.py", "ELEMENTWISE = ("),
        ("README.md", "## The ops"),
    ],
)
def test_a_missing_anchor_is_named(path: str, anchor: str) -> None:
    tree = Tree(_ROOT)
    tree.write(path, tree.read(path).replace(f"{anchor}\n", ""))
    with pytest.raises(NewOpError, match=path) as error:
        _add("generated_one --unary", tree)
    assert anchor in str(error.value)


@pytest.mark.parametrize(
    "path", ["tensorflow_ext/ops/generated_one/notes.h", "tests/clients/cases/generated_one.cases"]
)
def test_nothing_is_overwritten(path: str) -> None:
    with pytest.raises(NewOpError, match=path):
        _add("generated_one --unary", Tree(_ROOT, {path: "mine"}))
