"""Passes on Bazel's output, with the share of finished actions in place of its progress.

    bazel build --curses=no ... 2>&1 | progress.py HISTORY [USUAL_SECONDS]

Errors, warnings and everything else except progress are passed on byte by byte. HISTORY is a file
that records when each hundredth of the actions was done, to estimate the remaining time of the next
build; without it USUAL_SECONDS is the estimate for the whole build.
"""

import json
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

_COLOUR = rb"(?:\x1b\[[\d;]*m)*"
_PROGRESS = re.compile(
    _COLOUR + rb"\[([\d,]+) / ([\d,]+)\]" + _COLOUR + rb"(?: ([\d,]+) / ([\d,]+) tests?\b)?"
)
_PREPARING = re.compile(_COLOUR + rb"(?:Loading:|Analyzing:|    currently loading:)")
_COMPLETED = re.compile(_COLOUR + rb"INFO:" + _COLOUR + rb" Build completed")
_SECONDS_BETWEEN_LINES = 10
_FEWEST_ACTIONS = 20  # Fewer actions say nothing about the time of others.


class Estimate:
    """The remaining time of a build, based on when each hundredth of it was done the last time."""

    def __init__(self, history: Path, usual_seconds: float = 0) -> None:
        self._history = history
        self._done: list[tuple[int, float]] = []
        self._curve: Sequence[float] = [usual_seconds * percent / 100 for percent in range(101)]
        self._actions, self._by = 0, "the times of a usual machine" if usual_seconds else ""
        try:
            last = json.loads(history.read_text(encoding="utf-8"))
            self._actions, self._curve = int(last["actions"]), [*map(float, last["seconds"])]
            self._curve[100]
            self._by = "the times of the last build"
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            pass  # No history was kept, or only a part of it.

    def left(self, done: int, total: int, seconds: float) -> str:
        """Returns ", about 3 min left by ...", or nothing while the time is unknown."""
        self._done.append((done, seconds))
        percent = min(100, 100 * done // max(total, 1))
        curve, by = self._curve, self._by
        if not by or (self._actions and not 0.75 < total / self._actions < 1.33):
            curve, by = range(101), "the speed so far"
            if percent <= 5 or seconds < 10 or total < _FEWEST_ACTIONS:
                return ""
        scale = seconds / curve[percent] if seconds > 10 and curve[percent] > 5 else 1
        left = (curve[100] - curve[percent]) * scale
        return f", about {left / 60:.0f} min left by {by}" if left >= 90 else f", {left:.0f} s left"

    def keep(self) -> None:
        """Writes this build's times, for the next one."""
        total = max((done for done, _ in self._done), default=0)
        if total < _FEWEST_ACTIONS:
            return
        seconds = [
            next(s for done, s in self._done if 100 * done >= percent * total)
            for percent in range(101)
        ]
        try:
            text = json.dumps({"actions": total, "seconds": seconds})
            self._history.write_text(text, encoding="utf-8")
        except OSError:
            pass  # The build does not fail because of it.


def condense(lines: Iterable[bytes], output: BinaryIO, estimate: Estimate, live: bool) -> None:
    """Passes on lines at once, but progress only every 10 seconds, or in one live line."""
    started, said, shown = time.monotonic(), 0.0, False
    for line in lines:
        seconds = time.monotonic() - started
        found = _PROGRESS.match(line)
        if found or _PREPARING.match(line):
            text = "reading the build's description"
            if found:
                done, total, tests, all_tests = (
                    int((n or b"0").replace(b",", b"")) for n in found.groups()
                )
                text = f"{done} of {total} actions"
                text += f", {tests} of {all_tests} tests" if all_tests else ""
                text += estimate.left(done, total, seconds)
            if live:
                width = shutil.get_terminal_size().columns - 1
                output.write(b"\r\x1b[K" + f"run: {text}"[:width].encode())
                shown = True
            elif seconds - said >= _SECONDS_BETWEEN_LINES:
                output.write(f"run: {text}\n".encode())
                said = seconds
        else:
            if _COMPLETED.match(line):
                estimate.keep()
            output.write((b"\r\x1b[K" if shown else b"") + line)
            shown = False
        output.flush()
    if shown:
        output.write(b"\r\x1b[K")
        output.flush()


if __name__ == "__main__":
    # If both are interrupted, Bazel ends by itself and says how.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    condense(
        sys.stdin.buffer,
        sys.stdout.buffer,
        Estimate(Path(sys.argv[1]), float((sys.argv[2:] or ["0"])[0])),
        live=sys.stdout.isatty(),
    )
