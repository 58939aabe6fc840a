"""The judge notices faults in every client."""

import dataclasses
import pathlib
import subprocess
from collections.abc import Callable

import case_files
import check
import clients
import judge
import languages
import numpy as np
import pytest
from cases import Case
from clients import Problem, Results

_HERE = pathlib.Path(__file__).absolute().parent
_WRONG = case_files.read(_HERE / "wrong.cases")


@pytest.mark.parametrize("case", _WRONG, ids=lambda case: case.id)
@pytest.mark.parametrize("client", judge.CLIENTS)
def test_every_wrong_case_fails(client: str, case: Case) -> None:
    if case.error and client not in judge.WITH_ERRORS:
        assert not list(judge.all_checks(case, client))
    else:
        assert not all(c.ok for c in judge.all_checks(case, client))


_RIGHT = """
op TfExt>SwiGlu
types float double
case a; gate: T [2,3] uniform 1 -2 2; value: T [2,3] uniform 2 -2 2
"""


def _changed(array: np.ndarray | None) -> np.ndarray:
    assert array is not None
    return array * (1 + 1e-3)


def _every_gradient(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Results], Results]:
    return lambda r: dataclasses.replace(
        r, gradients=[None if g is None else change(g) for g in r.gradients]
    )


_FAULTS: dict[str, Callable[[Results], Results]] = {
    "an output differs": lambda r: dataclasses.replace(r, outputs=[_changed(r.outputs[0])]),
    "an output is missing": lambda r: dataclasses.replace(r, outputs=[]),
    "an output has another type": lambda r: dataclasses.replace(
        r, outputs=[r.outputs[0].astype(np.float16)]
    ),
    "a gradient differs": lambda r: dataclasses.replace(
        r, gradients=[r.gradients[0], _changed(r.gradients[1])]
    ),
    "a gradient is missing": lambda r: dataclasses.replace(r, gradients=[r.gradients[0], None]),
    "a gradient has another type": _every_gradient(lambda g: g.astype(np.float32)),
    "a gradient has another shape": _every_gradient(np.ravel),
}


def _checks(fault: Callable[[Results], Results]) -> dict[str, bool]:
    """For each kind of run, true if it succeeds with a client that has this fault."""

    def client(problem: Problem) -> Results:
        return fault(clients.eager(problem))

    (case,) = case_files.parse(_RIGHT)
    runs = {
        "double": check.check_first(case, client, "double"),
        "unknown shapes": check.check_unknown_shapes(case, client),
        "second order": check.check_second(case, client),
    }
    return {name: all(c.ok for c in checks) for name, checks in runs.items()}


def test_a_right_client_passes() -> None:
    assert all(_checks(lambda results: results).values())


@pytest.mark.parametrize("fault", _FAULTS)
def test_a_fault_in_first_order_is_noticed(fault: str) -> None:
    passed = _checks(_FAULTS[fault])
    assert not passed["double"]
    assert not passed["unknown shapes"]
    assert passed["second order"]


@pytest.mark.parametrize("position", range(3))  # two inputs, one upstream gradient
@pytest.mark.parametrize("fault", ["differs", "is missing", "has another shape"])
def test_a_fault_in_second_order_is_noticed(position: int, fault: str) -> None:
    def changed(results: Results) -> Results:
        second = list(results.second)
        if not second:
            return results
        array = second[position]
        assert array is not None
        second[position] = {
            "differs": _changed(array),
            "is missing": None,
            "has another shape": array.ravel(),
        }[fault]
        return dataclasses.replace(results, second=second)

    passed = _checks(changed)
    assert passed["double"]
    assert not passed["second order"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case a", "1: the first statement is op TYPE"),
        ("op A\ncase a", "2: op and types come before the first"),
        ("op A B\n", "1: the first statement is op TYPE"),
        ("op A\nop A B\n", "2: expected op TYPE"),
        ("op A\ntypes", "2: expected types TYPE..."),
        ("op A\ntypes float complex", "2: 'complex' is not a type"),
        ("op A\ntypes float\ncase a\nx: T [2 values", "4: '[2' is not a shape"),
        ("op A\ntypes float\ncase a\nx: T [2] guess 1", "4: expected values V"),
        ("op A\nx: T [2]", "2: expected NAME: TYPE SHAPE VALUES"),
        ("op A\nx: U [2] values 1", "2: 'U' is neither T nor compute nor a type"),
        ("op A\n# more\nx: T [] values 1 b", "3: 'b' is not a number"),
        ("op A\nx: T [] uniform 1 2", "2: expected values V..., uniform SEED"),
        ("op A\nx: T [] \\\n values \\\n 1 b", "4: 'b' is not a number"),
        ("op A\nattr a float b", "2: 'b' is not a float"),
        ("op A\nattr a bool 1", "2: '1' is not a bool"),
        ("op A\nattr a number 1", "2: 'number' is not a kind"),
        ("op A\nattr a float", "2: expected attr NAME KIND VALUE"),
        ("op A\nupstream 99 values 1", "2: expected upstream INDEX"),
        ("op A\ngradient x values 1", "2: expected gradient INDEX (0 to 15)"),
        ("op A\noutput 0", "2: expected output INDEX"),
        ("op A\nloss y", "2: expected loss NAME OP ARGUMENT"),
        ("op A\ntolerance x", "2: 'x' is not a number"),
        ("op A\nerror NotFound", "2: expected error CODE TEXT"),
        ("op A; types float; case a; x: T [] guess 1", "1: expected values V"),
        ("op A\nx: T [] values 1; y: T [] values b", "2: 'b' is not a number"),
        ("op A\nnonsense", "2: 'nonsense' begins no statement"),
    ],
)
def test_malformed_cases_are_refused(
    text: str, message: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "malformed.cases"
    path.write_text(text)
    assert judge.main(["--client=eager", str(path)]) == 2
    assert f"{path}:{message}" in capsys.readouterr().err


def test_an_input_of_a_case_replaces_that_of_its_op() -> None:
    of_op = "op A; types float; x: T [] values 1; y: T [] values 2"
    (case,) = case_files.parse(f"{of_op}\ncase a; x: T [3] values 4")
    assert [(i.argument, i.shape) for i in case.inputs] == [("x", (3,)), ("y", ())]


def test_missing_files_and_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert judge.main(["--client=eager", "/nowhere.cases"]) == 2
    assert "/nowhere.cases" in capsys.readouterr().err
    for argument in ("--nonsense", "--client=Fortran", "--type=complex"):
        with pytest.raises(SystemExit) as end:
            judge.main([argument])
        assert end.value.code == 2


@pytest.mark.parametrize("client", judge.PROGRAMS)
def test_a_library_that_cannot_be_loaded_is_an_error(
    client: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judge, "LIBRARY", "/nowhere.so")
    monkeypatch.setattr(judge, "find_client", judge.find_client.__wrapped__)
    assert judge.main([f"--client={client}"]) == 2
    assert "/nowhere.so" in capsys.readouterr().err


def test_the_report_says_what_was_checked(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "right.cases"
    path.write_text(_RIGHT)
    assert judge.main(["--client=C", str(path)]) == 0
    line, summary = capsys.readouterr().out.splitlines()
    assert line.split()[:4] == ["ok", "C", "TfExt>SwiGlu", "a"]
    assert "gradient" in line
    assert "second" in line
    assert summary == "1 passed, 0 failed"
    arguments = ["--client=C", "--type=double", "--quick", "--tsv", str(path)]
    assert judge.main(arguments) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert {row[3] for row in rows} == {"double"}
    assert {row[4] for row in rows} == {"output", "gradient"}
    assert {row[7] for row in rows} == {"ok"}
    assert judge.main(["--client=C", "--case=Nothing", str(path)]) == 0
    assert capsys.readouterr().out == "0 passed, 0 failed\n"


@pytest.mark.parametrize("client", judge.PROGRAMS)
def test_a_client_ends_with_its_input_and_refuses_nonsense(client: str) -> None:
    program = judge.find_program(client)
    unknown = b"\1" + bytes(7) + b"x"
    for request, expected in ((b"", 0), (b"\1", 1), (unknown, 1)):
        run = subprocess.run([program], input=request, check=False)
        assert run.returncode == expected


def test_the_smoke_program_prints_a_gradient() -> None:
    command = [languages.find("C", "smoke"), judge.LIBRARY]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 0
    assert run.stdout == "relu(x) = [0, 0.5, 2]\nd relu(x) / dx = [0, 1, 1]\n"
    assert subprocess.run(command[:1], check=False).returncode == 2
    assert subprocess.run([*command[:1], "/nowhere.so"], check=False).returncode == 1
