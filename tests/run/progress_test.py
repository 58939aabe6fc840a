"""./run condenses Bazel's progress, and passes on all its other output."""

import io
import json
import pathlib
import subprocess
import sys

import pytest
from machine import ROOT, Machine

PROGRAM = ROOT / "tools" / "run" / "progress.py"
sys.path.append(str(PROGRAM.parent))

import progress  # noqa: E402

FAILURE = (
    b"INFO: Analyzed 8 targets (57 packages loaded, 813 targets configured).\n"
    b"ERROR: /checkout/a/BUILD:3:11: C++ compilation of rule '//a:b' failed (Exit 1): gcc failed\n"
    b"a.cc:7:1: error: expected '}' at end of input, not \xff\xfe\r\n"
    b"  [312 / 520] is no progress where a line does not begin with it\n"
    b"FAILED: Build did NOT complete successfully"
)


def estimate(folder: pathlib.Path, last: object = None, usual: float = 0) -> progress.Estimate:
    history = folder / "history"
    if last is not None:
        history.write_text(last if isinstance(last, str) else json.dumps(last))
    return progress.Estimate(history, usual)


def condensed(lines: list[bytes], folder: pathlib.Path, live: bool = True) -> bytes:
    output = io.BytesIO()
    progress.condense(lines, output, estimate(folder), live)
    return output.getvalue()


def test_other_output_is_passed_on(tmp_path: pathlib.Path) -> None:
    said = (
        b"Loading: 3 packages loaded\n    currently loading: a\n[3 / 9] Compiling a.cc; 3s\n"
        + FAILURE
    )
    done = subprocess.run(
        [sys.executable, "-IS", PROGRAM, tmp_path / "history"],
        input=said,
        capture_output=True,
        check=True,
    )
    assert done.stdout == FAILURE
    assert not done.stderr


def test_live_line(tmp_path: pathlib.Path) -> None:
    """It is erased before any other output."""
    colours = b"\x1b[32m[1,312 / 1,520]\x1b[0m 3 / 141 tests, 1 failed; Testing //a:b; 3s\n"
    said = condensed([colours, b"ERROR: no\n"], tmp_path)
    assert said == b"\r\x1b[Krun: 1312 of 1520 actions, 3 of 141 tests\r\x1b[KERROR: no\n"


def test_a_line_in_ten_seconds(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(0, 1000, 4))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    lines = [b"[%d / 520] Compiling a.cc\n" % done for done in (40, 80, 120, 160)]
    assert condensed(lines, tmp_path, live=False) == (b"run: 120 of 520 actions, 40 s left\n")


@pytest.mark.parametrize(
    ("last", "usual", "at", "said"),
    [
        (None, 0, (26, 520, 30), ""),
        (None, 0, (260, 520, 300), ", about 5 min left by the speed so far"),
        (None, 600, (0, 4, 1), ", about 10 min left by the times of a usual machine"),
        # A machine with half the speed.
        (None, 600, (260, 520, 600), ", about 10 min left by the times of a usual machine"),
        # The second half is fast.
        ("quick", 600, (260, 520, 300), ", 30 s left"),
        ("quick", 0, (0, 520, 1), ", about 6 min left by the times of the last build"),
        # After a change, other actions are compiled.
        ("quick", 0, (50, 100, 300), ", about 5 min left by the speed so far"),
        ("{", 0, (260, 520, 300), ", about 5 min left by the speed so far"),
        ({"actions": 520, "seconds": [1]}, 0, (26, 520, 30), ""),
    ],
)
def test_time_left(
    tmp_path: pathlib.Path, last: object, usual: float, at: tuple[int, int, int], said: str
) -> None:
    if last == "quick":
        last = {
            "actions": 520,
            "seconds": [min(6 * p, 300 + 30 * (p - 50) / 50) for p in range(101)],
        }
    assert estimate(tmp_path, last, usual).left(*at) == said


def test_kept_times(tmp_path: pathlib.Path) -> None:
    first = estimate(tmp_path)
    for done, total, seconds in ((0, 4, 1), (50, 90, 10), (100, 100, 60)):
        first.left(done, total, seconds)
    first.keep()
    assert estimate(tmp_path).left(50, 100, 10) == ", 50 s left"
    few = estimate(tmp_path)
    few.left(5, 5, 1)
    few.keep()
    assert estimate(tmp_path).left(50, 100, 10) == ", 50 s left"


def test_through_run(tmp_path: pathlib.Path) -> None:
    """Bazel's errors and exit status are unchanged; the durations are kept."""
    machine = Machine(tmp_path)
    bazel = "echo '[30 / 30] checking' >&2; echo 'INFO: Build completed successfully' >&2"
    said = machine.works(FAKE_BAZEL=bazel)
    assert "run: build takes about" in said
    assert (
        "run:   1. install TensorFlow and other packages into .venv (3 min on a usual machine)"
        in said
    )
    assert "run:   2. compile the library and everything that build needs (" in said
    assert "INFO: Build completed successfully\n" in said
    assert "[30 / 30]" not in said
    (kept,) = machine.home.rglob("bazel-build-first.progress")
    assert json.loads(kept.read_text())["actions"] == 30
    said = machine.fails(FAKE_BAZEL="echo 'ERROR: a.cc: no' >&2; (exit 8)")
    assert "ERROR: a.cc: no\nrun: bazel build was interrupted" in said
