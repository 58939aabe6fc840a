"""The runner of ./run release-check, with quick steps."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

import commands
import pytest
from release_check import __main__ as release_check
from release_check import needs, report, runner, steps
from release_check.steps import Step

_ROOT = pathlib.Path(release_check.__file__).resolve().parents[2]


def _step(name: str, command: str, **rest: object) -> Step:
    return Step(name, command, f"what {name} shows", 1, 0, **rest)  # type: ignore


def _run(folder: pathlib.Path, chosen: Sequence[Step]) -> tuple[runner.State, list[str]]:
    """Runs all steps; returns the state and the result of each."""
    state = runner.State(folder / "state")
    assert release_check.run_all(chosen, folder, state, folder / "durations.json")
    return state, [state[step].status for step in chosen]


def test_passed_steps_do_not_run_again(tmp_path: pathlib.Path) -> None:
    once = _step("once", "echo ran >>ran; wc -l <ran", shown=r"\d+")
    state, words = _run(tmp_path, [once])
    assert words == [runner.PASSED]
    assert state[once].shown == "1"
    state, _ = _run(tmp_path, [once])
    assert (tmp_path / "ran").read_text() == "ran\n"
    assert state[once].shown == "1"
    state.forget()
    state, _ = _run(tmp_path, [once])
    assert state[once].shown == "2"


def test_failed_steps_run_again(tmp_path: pathlib.Path) -> None:
    mended = _step(
        "mended", r"printf '\033[1m3 passed\033[0m\n'; test -e mend || { echo wrong; exit 7; }"
    )
    state, words = _run(tmp_path, [mended, _step("after", "true")])
    assert words == [runner.FAILED, runner.PASSED]
    assert state[mended].shown == "exit status 7: 3 passed"
    assert report.faults([mended], state) == [mended]
    log = state.log(mended).read_text()
    assert log.startswith(f"$ {mended.command}\n")
    assert log.endswith("wrong\n")
    (tmp_path / "mend").touch()
    state, words = _run(tmp_path, [mended])
    assert words == [runner.PASSED]
    assert not report.faults([mended], state)


def test_steps_that_cannot_run_never_pass(tmp_path: pathlib.Path) -> None:
    chosen = [
        _step("program", "true", needs=(needs.program("no-such-program"),)),
        Step("disk", "true", "much room", 1, 1e9),
        _step("needed", "true", needs=(needs.program("bash"),)),
    ]
    state, words = _run(tmp_path, chosen)
    assert words == [runner.NOT_RUN, runner.NOT_RUN, runner.PASSED]
    assert state[chosen[0]].shown == "no-such-program is missing"
    assert re.fullmatch(r"needs 1e\+09 GB of disk, but only .* are free", state[chosen[1]].shown)
    assert not report.faults(chosen, state)
    # It may be there another time.
    state, words = _run(tmp_path, [_step("program", "true")])
    assert words == [runner.PASSED]


def test_a_step_that_may_fail(tmp_path: pathlib.Path) -> None:
    step = _step("candidate", "echo candidate: no; false", may_fail=True)
    state, words = _run(tmp_path, [step])
    assert words == [runner.FAILED]
    assert not report.faults([step], state)
    assert report.result_of(step, state) == "failed (allowed)"


def test_a_step_without_an_end(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_MOST_HOURS", 1 / 3600)
    step = _step("long", "sleep 600")
    state, words = _run(tmp_path, [step])
    assert words == [runner.FAILED]
    assert state[step].shown.startswith("exit status 124: ended after ")


def test_cleaning(tmp_path: pathlib.Path) -> None:
    """A step's files are removed if it passes, and kept if it fails."""
    _run(tmp_path, [_step("passes", "touch left", clean="rm left")])
    assert not (tmp_path / "left").exists()
    _run(tmp_path, [_step("fails", "touch left; false", clean="rm left")])
    assert (tmp_path / "left").exists()


_PROGRAM = """
import pathlib, signal, sys
from release_check import __main__ as release_check
from release_check import runner
from release_check.steps import Step
folder = pathlib.Path(sys.argv[1])
chosen = [
    Step("quick", "echo >>quick", "", 1, 0),
    Step("long", "test -e mend || { sleep 600 & echo $! >pid.new; "
         "mv pid.new pid; wait; }", "", 1, 0),
    Step("last", "true", "", 1, 0),
]
signal.signal(signal.SIGTERM, release_check._terminate)
state = runner.State(folder / "state")
finished = release_check.run_all(chosen, folder, state, folder / "durations.json")
print([state[step].status for step in chosen])
sys.exit(0 if finished else 130)
"""


def _start(folder: pathlib.Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROGRAM, str(folder)]
    return subprocess.Popen(command, env=commands.environment(), stdout=subprocess.PIPE, text=True)


def _has_ended(process: int) -> bool:
    """True also for a process that no record names."""
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True  # The process ended before its file was opened or read.
    return stat.rpartition(")")[2].split()[0] == "Z"


def _wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    pytest.fail("a minute was not enough")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_interrupted_and_resumed(tmp_path: pathlib.Path, number: int) -> None:
    process = _start(tmp_path)
    _wait_until((tmp_path / "pid").exists)
    sleeps = int((tmp_path / "pid").read_text())
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        os.kill(sleeps, signal.SIGTERM)  # nobody could stop it
    else:
        assert process.returncode == 130
        assert output == "['passed', 'interrupted', 'not run yet']\n"
    _wait_until(lambda: _has_ended(sleeps))
    (tmp_path / "mend").touch()
    state = runner.State(tmp_path / "state")
    assert state[_step("long", "")].status == runner.INTERRUPTED
    output, _ = _start(tmp_path).communicate(timeout=60)
    assert output == "['passed', 'passed', 'passed']\n"
    assert (tmp_path / "quick").read_text() == "\n"


def test_page(tmp_path: pathlib.Path) -> None:
    folder = f"{tempfile.gettempdir()}/for.one.run"
    chosen = [
        _step("good", "echo 1 no; echo 5 passed; echo 6   passed", shown=r"\d+ +pas"),
        _step("bad", f"echo '{folder}/a | b'; false", shown=".*"),
        _step("absent", "true", needs=(needs.program("no-such-program"),)),
    ]
    state, _ = _run(tmp_path, chosen)
    chosen.append(_step("later", "true"))
    page = report.page(chosen, state, "abc", "A | commit")
    assert "| commit | `abc` A \\| commit |" in page
    assert "| result | 4 steps: 1 passed, 1 failed, 1 not run, 1 not run at this commit |" in page
    assert re.search(r"\| `good` \| .* \| passed \| .* \| 5 pas; 6 pas \|", page)
    assert re.search(r"\| `bad` .* \| failed \| `abc` \| .* \| exit status 1: a \\\| b \|", page)
    assert re.search(r"\| `absent` .* \| not run \| `abc` \|  \| no-such-program is missing", page)
    assert re.search(r"\| `later` .* \| not run yet \|", page)
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) == len(chosen)

    # Another commit, where one step was run; the other rows stay.
    again = runner.State(tmp_path / "again")
    again[chosen[1]] = runner.Result(runner.PASSED, 2)
    again[chosen[2]] = runner.Result(runner.INTERRUPTED, 3)
    second = report.page(chosen, again, "def", "The next", page)
    assert "| result | 4 steps: 1 passed, 0 failed, 0 not run, 3 not" in second
    assert re.search(r"\| `bad` .* \| passed \| `def` \| 2 s \|", second)
    changed = set(second.splitlines()) - set(page.splitlines())
    assert sum(line.startswith("| `") for line in changed) == 1


def test_choosing() -> None:
    chosen = [_step(name, "true") for name in ("a-1", "a-2", "b")]
    assert release_check.choose(chosen, []) == chosen
    assert release_check.choose(chosen, ["a-*"]) == chosen[:2]
    assert release_check.choose(chosen, ["b", "a-2"]) == chosen[1:]
    with pytest.raises(ValueError, match="no step 'c'; there are a-1, a-2, b"):
        release_check.choose(chosen, ["c"])


def test_a_clone_is_of_the_commit(tmp_path: pathlib.Path) -> None:
    root, tree = tmp_path / "root", tmp_path / "tree"
    git = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=b"]
    commands.run("git", "init", "--quiet", root)
    commits = []
    for text in ("one", "two"):
        (root / "file").write_text(text)
        commands.run(*git, "add", "file")
        commands.run(*git, "commit", "--quiet", "-m", text)
        commits.append(commands.run(*git, "rev-parse", "HEAD").strip())
    for commit, text in zip(reversed(commits), ("two", "one"), strict=True):
        release_check.clone(root, commit, tree)
        assert (tree / "file").read_text() == text
        (tree / "file").write_text("changed by a step")
        (tree / "built").touch()
    release_check.clone(root, commits[0], tree)
    assert (tree / "file").read_text() == "one"
    assert (tree / "built").exists()


@pytest.mark.parametrize(
    ("path", "message"),
    [(None, "git rev-parse in "), ("", "no git on PATH; it is needed to check the last commit")],
)
def test_a_tree_without_git(
    path: str | None,
    message: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(release_check._git, "__kwdefaults__", {"folder": tmp_path})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    if path is not None:
        monkeypatch.setenv("PATH", path)
    with pytest.raises(SystemExit, match="2"):
        release_check.main(["--list"])
    assert message in capsys.readouterr().err


def test_the_table() -> None:
    table = steps.steps(_ROOT)
    names = [step.name for step in table]
    assert len(set(names)) == len(names)
    for minor in steps.tensorflow_versions(_ROOT):
        assert f"tensorflow-{minor}" in names
    for step in table:
        assert re.fullmatch(r"[a-z][a-z0-9.-]*", step.name)
        assert step.what
        re.compile(step.shown)
        words = step.command.split()
        for word in words:
            assert not word.startswith(("tools/", "tests/")) or (_ROOT / word).exists(), word
        program = next(word for word in words if not word.startswith("PYTHON="))
        assert program.startswith(("./run", "tools/")), program


def test_every_tensorflow_meets_a_python_that_it_has_wheels_for() -> None:
    assert set(steps.PYTHON_OF) == set(steps.tensorflow_versions(_ROOT))
    assert set(steps.PYTHON_OF.values()) == set(needs.PYTHONS)
    for minor, python in steps.PYTHON_OF.items():
        lock = _ROOT / "requirements" / f"tensorflow-cpu-{minor}.txt"
        (pythons,) = re.findall(r"^# Pythons: (.*)$", lock.read_text(), re.MULTILINE)
        assert python in pythons.split()


def test_a_broken_python_hides_no_working_one(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def python(folder: str, status: int) -> str:
        made = tmp_path / folder / "python3.12"
        made.parent.mkdir(parents=True)
        made.write_text(f"#!/bin/sh\nexit {status}\n")
        made.chmod(0o755)
        return str(made.parent)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{python('shims', 127)}:{os.environ['PATH']}")
    installed = python(".pyenv/versions/3.12.1/bin", 0)
    folders = needs.search_path().split(":")
    assert str(tmp_path / "shims") not in folders
    assert folders[-1] == installed
    assert needs.program("python3.12")() == ""
