"""The table is complete and has no failures."""

import judge
import table
from references import LIMIT


def test_every_op_and_client_has_a_deviation() -> None:
    """Runs one case of each op; client_test runs all of them."""
    result = table.deviations(of_each=1)
    assert sorted(result) == judge.OPS
    for op, cells in result.items():
        assert tuple(cells) == table.CLIENTS, op
        for client, deviation in cells.items():
            assert deviation <= LIMIT, (op, client)
