"""The tests' shares of the time: each target has one, and they fit into the total."""

import pathlib
import re
import sys

# Under Bazel this file is a link into the source tree.
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import test_budget  # noqa: E402

SHARES = test_budget.read_shares()


def test_sum() -> None:
    assert sum(SHARES.values()) <= test_budget.MOST_IN_ALL, "make tests shorter"
    assert all(share > 0 for share in SHARES.values())


def test_every_test_has_a_share() -> None:
    """The macros of tests/defs.bzl ensure that no test is made without a share."""
    made = [
        str(path)
        for folder in ROOT.iterdir()
        if not folder.name.startswith((".", "bazel-", "out"))
        for path in folder.rglob("BUILD")
        if re.search(r"^ *\w+_test\(", path.read_text(encoding="utf-8"), re.MULTILINE)
        and "your_op" not in path.parts  # It is a separate workspace.
    ]
    assert not made, "py_suite and cc_suite make tests"


def _is_there(label: str) -> bool:
    """True if a BUILD file names a test, by itself, as one of a family or with its whole folder."""
    folder, name = label.removeprefix("//").split(":")
    if any((ROOT / folder / f"{name}{ending}").exists() for ending in (".py", ".cc")):
        return True
    build = (ROOT / folder / "BUILD").read_text(encoding="utf-8")
    if name == folder.rpartition("/")[2] + "_test" and "together = " in build:
        return True
    families = re.findall(r'"(\w*%s\w*_test)" %', build)
    matches = [re.fullmatch(family.replace("%s", r"(\w+)"), name) for family in families]
    return f'"{name}"' in build or any(m and f'"{m[1]}"' in build for m in matches)


def test_no_share_is_left_over() -> None:
    over = [label for label in SHARES if not _is_there(label)]
    assert not over, "tests/budget.bzl has shares of tests that are gone"


def _result(name: str, milliseconds: int, **other: object) -> dict[str, object]:
    run = other.pop("run", 1)
    key = {"label": f"//a:{name}_test", "run": run, "shard": 1, "attempt": 1}
    return {
        "id": {"testResult": key},
        "testResult": {"testAttemptDurationMillis": str(milliseconds), **other},
    }


def test_measured_seconds() -> None:
    events = [
        _result("two_shards", 1500),
        _result("two_shards", 2000),
        _result("cached", 2000, cachedLocally=True),
        _result("repeated", 2000),
        _result("repeated", 2000, run=2),
        {"id": {"targetCompleted": {"label": "//a:two_shards_test"}}},
    ]
    assert test_budget.measured_seconds(events) == {
        "//a:two_shards_test": 3.5,
        "//a:repeated_test": 2,
    }


def test_table_of_the_worst() -> None:
    shares = {f"//a:t{number}_test": 100 for number in range(20)}
    took = {name: 105.0 + 5 * number for number, name in enumerate(shares)}
    head, _, first, *others = test_budget.over_share(took, shares)
    assert head.endswith(": 18 targets")
    assert first.split() == ["200", "100", "//a:t19_test"]
    assert len(others) == 9
    assert not test_budget.over_share({"//a:t0_test": 110.0, "//a:other_test": 9.0}, shares)


def test_measured_shares_are_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "budget.bzl"
    path.write_text('"""Shares."""\n\nCORE_SECONDS = {\n    "//a:a_test": 5,\n}\n')
    test_budget.write_shares({"//a:b_test": 2.1}, path)
    assert path.read_text() == (
        '"""Shares."""\n\nCORE_SECONDS = {\n    "//a:a_test": 5,\n    "//a:b_test": 3,\n}\n'
    )
