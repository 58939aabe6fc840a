"""The list of mutations matches the tree, and its runner reports which tests noticed."""

import pathlib

import pytest
from release_check import mutations
from release_check.mutations import Mutation

_ROOT = mutations.LISTS[0].parents[2]
_LIST = mutations.read()
_RUN = """#!/bin/sh
grep -q planted file || exit 0
case "$*" in
  *pytest*) echo 'FAILED tests/a_test.py::test_it[a b] - 1 differs' ;;
  *program*) echo '//tests:program    FAILED in 0.1s' ;;
  *nothing*) echo 'no tests ran in 0.1s'; echo '//tests:nothing  FAILED in 0.1s' ;;
  *compiler*) echo '//tests:compiler  FAILED TO BUILD' ;;
  *) exit 0 ;;
esac
exit 3
"""


def test_the_list() -> None:
    targets = (_ROOT / "tests" / "budget.bzl").read_text()
    assert len(_LIST) >= 50
    for mutation in _LIST:
        assert mutation.fault(_ROOT) == "", mutation.name
        assert mutation.what, mutation.name
        assert mutation.tests, mutation.name
        for target in mutation.tests:
            assert f'"{target}":' in targets, target


@pytest.mark.parametrize(
    ("target", "by"),
    [
        ("//tests:pytest", "tests/a_test.py::test_it[a b]"),
        ("//tests:program", "//tests:program"),
        ("//tests:nothing", mutations.NOT_BUILT),
        ("//tests:compiler", mutations.NOT_BUILT),
        ("//tests:blind", mutations.SURVIVED),
    ],
)
def test_noticed_by(target: str, by: str, tmp_path: pathlib.Path) -> None:
    program, file = tmp_path / "run", tmp_path / "file"
    program.write_text(_RUN)
    program.chmod(0o755)
    file.write_text("a factor\n")
    mutation = Mutation("one", "what", "file", "factor", "planted", (target,))
    assert mutations.run(tmp_path, [mutation]) == (1 if by.startswith("**") else 0)
    assert f"| one | what | `file` | {by} |" in (tmp_path / "out/mutations.md").read_text()
    assert file.read_text() == "a factor\n"


def test_tests_that_fail_anyway_notice_nothing(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "run"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    assert mutations.run(tmp_path, _LIST[:1]) == 1
    assert "the tests fail without any mutation" in capsys.readouterr().out


def test_a_missing_text(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("one one\n")
    for old, why in (("one", "occurs 2 times"), ("two", "occurs 0 times")):
        assert why in Mutation("m", "what", "file", old, "new", ()).fault(tmp_path)
    assert Mutation("m", "what", "file", "one", "one", ()).fault(tmp_path)
    assert Mutation("m", "what", "other", "one", "two", ()).fault(tmp_path)
