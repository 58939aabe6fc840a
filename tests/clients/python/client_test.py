# SPDX-License-Identifier: Apache-2.0
"""Every case of tests/clients/cases in every way from Python to a gradient."""

import pathlib

import cases
import check
import clients
import pytest
import tensorflow as tf
from cases import Case

_FOLDER = pathlib.Path(__file__).absolute().parents[1] / "cases"
_ALL = cases.read(*sorted(_FOLDER.glob("*.cases")))
_GOOD = [case for case in _ALL if not case.error]
_BAD = [case for case in _ALL if case.error]
# SymbolicGradient itself has no gradient.
_TWICE = [name for name in clients.CLIENTS if name != "SymbolicGradient"]
# XLA's kernels see no values that they could check.
_CHECKED = ["eager", "tf.function", "tf.gradients"]


def _case_id(case: Case) -> str:
    return case.id


def _assert_ok(checks: list[check.Check]) -> None:
    failures = [str(c) for c in checks if not c.ok]
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("case", _GOOD, ids=_case_id)
@pytest.mark.parametrize("client", clients.CLIENTS)
def test_gradients(client: str, case: Case) -> None:
    for dtype in case.types:
        _assert_ok(check.check_first(case, clients.CLIENTS[client], dtype))


@pytest.mark.parametrize("case", _GOOD, ids=_case_id)
@pytest.mark.parametrize("client", _CHECKED[1:])
def test_unknown_shapes(client: str, case: Case) -> None:
    dtype = case.types[-1]
    run = clients.CLIENTS[client]
    _assert_ok(check.check_first(case, run, dtype, known_shapes=False))


@pytest.mark.parametrize("case", _GOOD, ids=_case_id)
@pytest.mark.parametrize("client", _TWICE)
def test_second_order(client: str, case: Case) -> None:
    _assert_ok(check.check_second(case, clients.CLIENTS[client]))


@pytest.mark.parametrize("case", _BAD, ids=_case_id)
@pytest.mark.parametrize("client", _CHECKED)
def test_errors(client: str, case: Case) -> None:
    expected = getattr(tf.errors, f"{case.error}Error")
    for dtype in case.types:
        for known_shapes in (True, False):
            problem = clients.Problem(case, case.make_inputs(dtype))
            problem.known_shapes = known_shapes
            # ValueError: how a graph reports what its shape functions refuse.
            with pytest.raises((expected, ValueError)) as error:
                clients.CLIENTS[client](problem)
            message = str(error.value)
            assert any(text in message for text in case.fragments), message
