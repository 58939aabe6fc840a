"""python -m tensorflow_ext explain: its output, its drawings and its errors."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from collections.abc import Callable

import processes
import pytest
from commit_sampling import turn_of_commit

import tensorflow_ext as tfe
from tensorflow_ext.__main__ import main
from tensorflow_ext._explain import _clients, _explain, _lines, _node

Run = Callable[[str], list[str]]
Refused = Callable[[str], str]

with_graphviz = pytest.mark.skipif(
    shutil.which("dot") is None, reason="no Graphviz: apt-get install graphviz"
)


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command; returns its output lines, stripped."""

    def run(line: str) -> list[str]:
        status = main(["explain", *shlex.split(line)])
        printed = capsys.readouterr()
        assert status == 0, printed.err
        return [line.strip() for line in printed.out.splitlines()]

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Runs the command, which fails; returns the line that it writes."""

    def run(line: str) -> str:
        assert main(["explain", *shlex.split(line)]) == 1
        printed = capsys.readouterr()
        assert not printed.out
        assert printed.err.count("\n") == 1, printed.err
        return printed.err.removeprefix("python -m tensorflow_ext: ").strip()

    return run


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "'TfExt>RoiPool' --attr pooled_height=7 --attr pooled_width=5 --definition",
            [
                "inputs      data: float, rois: float",
                "outputs     pooled: float, argmax: int32",
                "attributes  T = float (not given), pooled_height = 7, pooled_width = 5, "
                "spatial_scale = 1.0 (not given)",
                "shape = Shape(data)\nddata = TfExt>RoiPoolGrad(dpooled, rois, argmax, shape)",
                "Outputs of the op that are reused: argmax",
                "Inputs without a gradient: rois (float)",
                "Python            tensorflow_ext (this definition, replayed node by node)",
                "C and C++         tensorflow_ext (this definition, expanded into nodes)",
                "function runtime  tensorflow_ext",
                "inputs    data: T, rois: T, dpooled: T, dargmax: int32",
                "shape = Shape(data, T=$T, out_type=int32)",
                "return ddata = ddata:backprops:0",
            ],
        ),
        (
            "Erfc --attr T=double",
            [
                "mul = Mul(dy, -1.1283791670955126)\n"
                "square = Square(x)\n"
                "neg = Neg(square)\n"
                "exp = Exp(neg)\n"
                "dx = Mul(mul, exp)",
                "Python            TensorFlow (its own, written in Python)",
            ],
        ),
        (
            "ConcatV2 --attr N=2 T=half",
            [
                "inputs      values_0: half, values_1: half, axis: int32",
                "dvalues_0, dvalues_1 = SplitV(doutput, pack, axis, num_split=2)",
            ],
        ),
        (
            "'TfExt>ReverseGradientN' --attr T=[float,int32] scale=0.5",
            [
                "dinputs_0 = TfExt>Scale(doutputs_0, factor=-0.5)",
                "Inputs without a gradient: inputs_1 (int32)",
            ],
        ),
        ("Identity", ["dinput = doutput"]),
        ("ArgMax", ["No input has a gradient."]),
    ],
)
def test_explained(line: str, expected: list[str], explain: Run) -> None:
    """Checks for whole lines, some of them consecutive."""
    printed = "\n".join(["", *explain(line), ""])
    for lines in expected:
        assert f"\n{lines}\n" in printed


@pytest.mark.parametrize(
    ("op", "who", "how"),
    [
        ("Cumprod", "TensorFlow", "fix() gives it this library's"),
        ("Bincount", "tensorflow_ext", "replayed"),
        ("StringJoin", "none", ""),
        ("Shape", "none", "declared to have none"),
    ],
)
def test_python_providers(op: str, who: str, how: str) -> None:
    provider = _clients.providers(op)[0]
    assert provider.who == who
    assert how in provider.how


def test_fixed_provider() -> None:
    tfe.gradients.fix(["Cumprod"])
    try:
        provider = _clients.providers("Cumprod")[0]
    finally:
        tfe.gradients.restore(["Cumprod"])
    assert provider.who == "tensorflow_ext"
    assert provider.how == "by tensorflow_ext.gradients.fix()"


@pytest.mark.parametrize(
    ("op", "client", "runtime"),
    [
        ("Neg", "TensorFlow (its own, written in C++)", "TensorFlow"),
        *(
            (
                op,
                "tensorflow_ext (passes the upstream gradient on, in place of TensorFlow's own)",
                runtime,
            )
            for op, runtime in (("Identity", "TensorFlow"), ("ReadVariableOp", None))
        ),
        (
            "MaxPool",
            "tensorflow_ext (this definition, expanded into nodes, in place of TensorFlow's own)",
            "tensorflow_ext (in place of TensorFlow's)",
        ),
        (
            "PartitionedCall",
            "tensorflow_ext (differentiates the functions that the node calls, in "
            "place of TensorFlow's own)",
            None,
        ),
    ],
)
def test_other_providers(op: str, client: str, runtime: str | None) -> None:
    _, of_client, of_runtime = _clients.providers(op)
    assert str(of_client) == client
    if runtime:
        assert str(of_runtime) == runtime


def test_every_gradient_reads() -> None:
    """Every tensor of every line is an earlier name, or a constant."""
    read = 0
    for op in tfe.gradients.list_ops():
        try:
            gradient = _explain.explain(op).gradient
        except _node.ExplainError:
            continue  # It has attributes without a default.
        read += 1
        known = {*gradient.inputs, *gradient.upstream, *gradient.reused}
        for line in gradient.lines:
            for argument in line.inputs:
                for name in [argument] if isinstance(argument, str) else argument:
                    is_constant = name[:1] in "[('<-0123456789" or name in _WORDS
                    assert name in known or is_constant, (op, str(line))
            made = {name for name in line.outputs if name}
            assert not known & made, (op, str(line))
            known |= made
        assert str(gradient.text)
    assert read > 300


_WORDS = ("True", "False", "inf", "nan")


def test_other_library(explain: Run) -> None:
    library = processes.other_library()
    lines = explain(f"'Other>WeightedSum' --attr N=2 --library {library}")
    assert "dvalues_0, dvalues_1 = Other>ReshapeEach(" in "".join(lines)
    assert "function runtime  libother_ops.so" in lines
    assert any(line.startswith("Python            libother_ops.so") for line in lines)


_STAND_INS = """
    import sys
    from tensorflow_ext.__main__ import main
    for op in ("Tanh", "TfExt>Mish", "Erfc"):
        assert main(["explain", op, "--library", *sys.argv[1:]]) == 0
    """


def test_stand_ins_of_another_library() -> None:
    """Other gradients are named where they replace some, this library's where they do not."""
    library = processes.built_library("gradient", "liboutside_formulas.so")
    output = processes.run(_STAND_INS, library)
    tanh, mish, erfc = output.split("The gradient of ")[1:]
    for text, factor in ((tanh, 5), (mish, 11)):
        assert f" = Mul({factor}.0, dy)" in text
        theirs = re.findall(r"^  (Python|C and C\+\+|function runtime)  +(.*)", text, re.M)
        assert [who.split()[0] for _, who in theirs] == ["liboutside_formulas.so"] * 3
    assert "in place of any other" in tanh
    assert "C and C++         tensorflow_ext (this definition" in erfc


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("Ercf", ["no op 'Ercf'", "--library", "'Erfc'"]),
        ("relu_grad", ["'ReluGrad', 'TfExt>ReluGrad'"]),
        ("Zzzzzzzz", ["no op 'Zzzzzzzz'"]),
        ("'TfExt>RoiPool'", ["needs pooled_height (int), pooled_width (int)"]),
        ("Concat", ["Concat needs N (int): --attr N=VALUE"]),
        ("Erfc --attr T", ["--attr T: expected NAME=VALUE"]),
        ("Erfc --attr U=half", ["no attribute 'U'; it has T (type)"]),
        ("Erfc --attr T=quarter", ["T is 'quarter'", "a type such as half"]),
        ("Erfc --attr T=string", ["Value for attr 'T' of string"]),
        ("Cumsum --attr reverse=2", ["reverse is '2'; expected true or false"]),
        ("MaxPool --attr ksize=[a]", ["ksize is '[a]'; expected a list", "integer"]),
        ("Const --attr value=1", ["Const has no gradient: it has no inputs"]),
        ("StringJoin", ["no gradient: its outputs are string"]),
        ("Equal", ["no gradient: its outputs are bool"]),
        ("Shape", ["declared to have none (Python; C and C++; function runtime)"]),
        ("NoOp", ["no outputs"]),
        ("While", ["no definition", "C and C++: tensorflow_ext"]),
        ("Erfc --library nowhere.so", ["nowhere.so: There is no op library"]),
        ("Erfc --draw a.jpg", ["a.jpg", ".svg, .png, .dot"]),
        ("Erfc --draw /nowhere/a.dot", ["no folder /nowhere"]),
    ],
)
def test_errors(line: str, parts: list[str], refused: Refused) -> None:
    message = refused(line)
    for part in parts:
        assert part in message


def test_command() -> None:
    """Runs the module as users do; an error is not a traceback."""
    command = [sys.executable, "-m", "tensorflow_ext", "explain", "Ercf"]
    done = subprocess.run(command, cwd=pathlib.Path(tfe.__file__).parents[1], capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1].startswith("python -m tensorflow_ext")
    assert b"Traceback" not in done.stderr


def test_a_file_that_is_not_a_library(tmp_path: pathlib.Path, refused: Refused) -> None:
    (tmp_path / "no.so").write_text("no")
    assert "no.so" in refused(f"Erfc --library {tmp_path / 'no.so'}")


def test_dot_text(tmp_path: pathlib.Path, explain: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text needs no Graphviz."""
    monkeypatch.setenv("PATH", str(tmp_path))
    text = "\n".join(explain("'TfExt>Relu' --dot"))
    assert "<b>TfExt&gt;ReluGrad</b>" in text
    for kind in ("input", "upstream gradient", "gradient"):
        assert f">{kind}</font>" in text
    explain(f"'TfExt>Relu' --draw {tmp_path / 'relu.dot'}")
    assert (tmp_path / "relu.dot").read_text().startswith("digraph gradient {")


def test_without_graphviz(
    tmp_path: pathlib.Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    message = refused(f"Erfc --draw {tmp_path / 'erfc.svg'}")
    assert "apt-get install graphviz" in message
    assert not (tmp_path / "erfc.svg").exists()


@with_graphviz
@pytest.mark.parametrize(
    "op",
    turn_of_commit("drawing", ["Erfc", "Cumprod", "BlockLSTM", "Identity", "Svd"], "/_explain/"),
)
def test_drawing(op: str, tmp_path: pathlib.Path, explain: Run) -> None:
    """A box for each line, input and output; PNGs are large enough."""
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    explain(f"{op} --draw {svg} --draw {png}")
    gradient = _explain.explain(op).gradient
    root = xml.etree.ElementTree.parse(svg).getroot()
    boxes = [
        group
        for group in root.iter("{http://www.w3.org/2000/svg}g")
        if group.get("class") == "node"
        and group.find("{http://www.w3.org/2000/svg}path") is not None
    ]
    ends = [*gradient.inputs, *gradient.upstream, *gradient.reused]
    ends += [name for name, result in gradient.results.items() if result]
    assert len(boxes) == len(gradient.lines) + len(ends)
    content = png.read_bytes()
    assert content[:4] == b"\x89PNG"
    assert int.from_bytes(content[16:20], "big") >= 120


def test_names_that_clash() -> None:
    """An output with the name of an input, and two equal gradients."""
    names = _lines._Names()
    assert names.add("i0", "x") == "x"
    assert names.add("o0", "x", "x_out") == "x_out"
    assert names.add("g0", "x_out") == "x_out_1"
    assert names.add("s0", "x_out") == "x_out_2"
