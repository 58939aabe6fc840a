"""check_op and check_library find the faults of planted_ops.cc, and name them."""

import os
import pathlib
import re

import commands
import planted_gradients
import pytest
import tensorflow as tf

from tensorflow_ext import testing
from tensorflow_ext.__main__ import main

LIBRARY = str(pathlib.Path(os.environ["PLANTED_OPS"]).absolute())
# By op: the check that must find its fault, the verdict, and a part of the message.
FAULTS = {
    "AbortsOnEmpty": ("empty tensors", "FAILED", r"x \[0, 3\]: the kernel ends"),
    "AbortsOnMatrices": ("wrong inputs", "FAILED", "SIGABRT: .*no cube, please"),
    "AddsCalls": ("stateful", "FAILED", "the same inputs give different values"),
    "InternalErrors": ("wrong inputs", "FAILED", "expected an InvalidArgumentError"),
    "LosesPrecision": ("types", "FAILED", "T=float32; .* as in double"),
    "NoDocumentation": ("documentation", "missing", r"REGISTER_OP a \.Doc"),
    "NoDouble": ("kernel", "missing", "1 of 2 .* admits: T=float64"),
    "NoGradient": ("gradient", "missing", "REGISTER_OP_GRADIENT"),
    "NoGradientOfX": ("gradient", "FAILED", "input x has no gradient"),
    "NoShapeFunction": ("shape function", "missing", r"\.SetShapeFn"),
    "OtherInC": ("c", "FAILED", "TF_AddGradients, .* the gradient of x is"),
    "OtherInXla": ("xla", "FAILED", "compiled by XLA, .* output y is"),
    "OtherWhenVectorized": ("vectorized_map", "FAILED", "output y .* as in a loop"),
    "ReadsAnyIndex": ("wrong inputs", "FAILED", "indices .* SIGSEGV"),
    "SecondOrderWrong": ("second order", "FAILED", "gradient 0, expected"),
    "ShapeDisagrees": ("shape function", "FAILED", r"says y is \(7,\); the kernel"),
    "ShapeOfUnknownRankAborts": (
        "shape function",
        "FAILED",
        "unknown ranks: the shape function ends the process by SIGABRT",
    ),
    "TakesAnyRank": ("wrong inputs", "FAILED", "accepts what the shape function refuses"),
    "WrongForOneValue": ("gradient", "FAILED", "mode=twice; .* gradient .*, expected"),
}


@pytest.fixture(scope="module")
def report() -> testing.OpReport:
    """Runs on every op the check that must find its fault, and on the correct op all checks."""
    return testing.check_library(
        LIBRARY,
        {f"Planted>{op}": {"checks": [check]} for op, (check, _, _) in FAULTS.items()},
        ops=[*(f"Planted>{op}" for op in FAULTS), "Planted>Right"],
        modules=[planted_gradients.__name__],
        raise_error=False,
    )


@pytest.mark.parametrize("op", FAULTS)
def test_a_fault_is_found(report: testing.OpReport, op: str) -> None:
    check, verdict, message = FAULTS[op]
    name = f"Planted>{op}"
    assert report.verdict(name, check) is testing.Verdict(verdict)
    found = [f.message for f in report.failures if f.op == name]
    assert any(re.search(message, text) for text in found), found
    assert {f.check for f in report.failures if f.op == name} == {check}


def test_an_op_without_a_fault_passes(report: testing.OpReport) -> None:
    assert [f for f in report.failures if f.op == "Planted>Right"] == []
    cells = {check: report.verdict("Planted>Right", check) for check in testing.CHECKS}
    assert cells.pop("gpu") is testing.Verdict.NONE  # the op has no kernel there
    assert set(cells.values()) == {testing.Verdict.PASSED}, cells


def test_the_table(report: testing.OpReport) -> None:
    heading, *rows = str(report).splitlines()
    assert re.split(r"  +", heading) == ["op", *testing.CHECKS]
    assert rows[len(FAULTS)].startswith("Planted>Right")
    row = next(row for row in rows if row.startswith("Planted>NoDocumentation "))
    assert row.split()[1] == "missing"
    assert f"{len(FAULTS) + 1} ops, {len(report.failures)} faults" == rows[-1]
    with pytest.raises(testing.OpCheckError, match="Planted>AbortsOnEmpty: empty tensors: "):
        report.raise_if_failed()


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", LIBRARY, "--check=documentation"])
    assert stopped.value.code == 1
    printed = capsys.readouterr().out
    assert "Planted>NoDocumentation: documentation: none" in printed
    assert main(["check", "TfExt>Mish", "--check=kernel"]) == 0
    assert main(["check", "TfExt>Mischief"]) == 1
    assert "There is no op 'TfExt>Mischief'" in capsys.readouterr().err


def test_a_kernel_that_never_ends_is_found() -> None:
    found = testing.check_library(
        LIBRARY,
        ops=["Planted>HangsOnEmpty"],
        checks=["empty tensors"],
        timeout=3,
        raise_error=False,
    )
    (fault,) = found.failures
    assert "x [0, 3]: the kernel does not finish within 3 s" in fault.message


def test_the_libraries_stay_out_of_this_process(report: testing.OpReport) -> None:
    assert report.ops
    with pytest.raises(tf.errors.NotFoundError, match="There is no op 'Planted>Right'"):
        testing.check_op("Planted>Right")


def test_a_library_that_cannot_be_loaded() -> None:
    with pytest.raises(RuntimeError, match=r"does not exist.*/nowhere\.so"):
        testing.check_library("/nowhere.so")


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"has no op \['Planted>Wrong'\]"):
        testing.check_library(LIBRARY, ops=["Planted>Wrong"])
    with pytest.raises(ValueError, match="there is no check 'speed'"):
        testing.check_op("TfExt>Mish", checks=["speed"])
    with pytest.raises(ValueError, match="TfExt>Mish has no attribute 'alpha'"):
        testing.check_op("TfExt>Mish", attrs={"alpha": [1.0]})
    with pytest.raises(ValueError, match=r"TfExt>Mish has no input \['y'\]"):
        testing.check_op("TfExt>Mish", without_gradient=["y"])
    with pytest.raises(ValueError, match="2 inputs are given, expected 1"):
        testing.check_op("TfExt>Mish", [[1.0], [2.0]])


def test_a_sample_reports_the_total() -> None:
    found = testing.check_op(
        "TfExt>PruneByMagnitude", checks=["inputs"], samples=3, raise_error=True
    )
    assert found.verdict("TfExt>PruneByMagnitude", "inputs") is testing.Verdict.SAMPLED
    assert "TfExt>PruneByMagnitude: 3 of 8 combinations of attributes" in str(found)


@pytest.mark.parametrize(
    "inputs",
    [
        [tf.constant([[0.5, -1.5], [3.0, 4.0]])],
        {"x": tf.TensorSpec([None, 4])},
        lambda attrs: [[0.5]] if attrs["T"] == tf.float64 else None,
    ],
    ids=["tensors", "specs", "function"],
)
def test_given_inputs(inputs: object) -> None:
    """In this process, which is faster and which a debugger needs."""
    testing.check_op(
        "TfExt>Mish",
        inputs,
        checks=["inputs", "stateful", "gradient", "types", "function"],
        isolated=False,
    )


def test_unguessable_inputs_are_requested() -> None:
    found = testing.check_op(
        "TfExt>CorrelationCostAGrad",
        checks=["inputs"],
        samples=1,
        isolated=False,
        raise_error=False,
    )
    assert "give inputs=..., a list of tensors or a function" in str(found)


def test_an_unguessable_attribute_is_requested() -> None:
    with pytest.raises(ValueError, match=r"'f', a func; give attrs=\{'f': "):
        testing.check_op("RemoteCall")


def test_a_script_may_call_it_anywhere(tmp_path: pathlib.Path) -> None:
    """Without `if __name__ == "__main__"`, which multiprocessing needs."""
    script = tmp_path / "script.py"
    script.write_text(
        "import tensorflow as tf\n"
        "from tensorflow_ext import testing\n"
        f"tf.load_library({LIBRARY!r})\n"
        "print(testing.check_op('Planted>Right', checks=['shape function', 'types']))\n"
    )
    assert "1 ops, no faults" in commands.python(script)
