"""The table is complete and has no failures."""

import case_files
import judge
import pytest
import table
from references import LIMIT
from sampling import is_turn_of_commit


def test_every_op_and_client_has_a_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs one case of some ops; client_test compares the same numbers of all of them."""
    cases = judge.in_one_type(case_files.read_all(), "double")
    assert sorted({case.op for case in cases if not case.error}) == judge.OPS
    chosen = [op for op in judge.OPS if is_turn_of_commit(f"table {op}", 4)]
    monkeypatch.setattr(case_files, "read_all", lambda: [c for c in cases if c.op in chosen])
    result = table.deviations(of_each=1)
    assert sorted(result) == chosen
    for op, cells in result.items():
        assert tuple(cells) == table.CLIENTS, op
        for client, deviation in cells.items():
            assert deviation <= LIMIT, (op, client)
