"""Runs steps one by one, and continues after an interruption."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass

from release_check import needs
from release_check.steps import Step, disk_left

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
INTERRUPTED, RUNNING, WAITING = "interrupted", "running", "not run yet"

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MOST_HOURS = 10.0  # per step: a step that waits forever is a fault
_MOST_LINES = 16  # of a step's output, in the table


@dataclass
class Result:
    """The result of a step.

    Attributes:
      status: One of the words above.
      seconds: Its duration.
      shown: The text for the table: a line of its output, or why it was not run.
    """

    status: str
    seconds: float = 0
    shown: str = ""


class State:
    """The state of one commit, in a folder: results and logs.

    Every change is written to the disk at once.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._file = folder / "results.json"
        self._results: dict[str, Result] = {}
        if self._file.exists():
            for name, fields in json.loads(self._file.read_text()).items():
                self._results[name] = Result(**fields)
        for result in self._results.values():
            if result.status == RUNNING:  # The previous process ended.
                result.status = INTERRUPTED

    def log(self, step: Step) -> pathlib.Path:
        return self.folder / f"{step.name}.log"

    def __getitem__(self, step: Step) -> Result:
        return self._results.get(step.name, Result(WAITING))

    def __setitem__(self, step: Step, result: Result) -> None:
        self._results[step.name] = result
        new = self._file.with_suffix(".new")
        fields = {name: asdict(result) for name, result in self._results.items()}
        new.write_text(json.dumps(fields, indent=1))
        new.replace(self._file)

    def forget(self) -> None:
        """Forgets all results."""
        self._results.clear()
        self._file.unlink(missing_ok=True)


class Interrupted(Exception):
    """The user interrupted the run; the running step was ended."""


def last_line(log: pathlib.Path) -> str:
    """The last line of a log that is not empty."""
    with log.open(encoding="utf-8", errors="replace") as file:
        lines = [_COLOURS.sub("", line).strip() for line in deque(file, 40)]
    return next((line for line in reversed(lines) if line), "")


def matches(log: pathlib.Path, pattern: str) -> str:
    """The matches of a pattern in the lines of a log: the last ones, without duplicates."""
    found: dict[str, None] = {}
    with log.open(encoding="utf-8", errors="replace") as file:
        next(file, "")  # the command
        for line in file:
            if match := re.search(pattern, _COLOURS.sub("", line)):
                found[re.sub(r"\s+", " ", match[0].strip())] = None
    return "; ".join(list(found)[-_MOST_LINES:])


def _is_gone(process: subprocess.Popen[bytes]) -> bool:
    """True if a step and all its processes have ended."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a step with all its processes; a process that ignores a signal gets stronger ones."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if _is_gone(process):
            break
        with contextlib.suppress(ProcessLookupError):  # It may have just ended.
            os.killpg(process.pid, number)
        until = time.monotonic() + (1 if process.poll() is not None else 20)
        while time.monotonic() < until and not _is_gone(process):
            time.sleep(0.1)
            if process.poll() is not None:
                until = min(until, time.monotonic() + 1)
    process.wait()


def _shell(command: str, tree: pathlib.Path, log: pathlib.Path, look: Callable) -> int:
    """Runs a command line with low priority in a new session; calls `look` every second."""
    until = time.monotonic() + 3600 * _MOST_HOURS
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHON", "TF_PACKAGE")
    } | {"PATH": needs.search_path()}
    with log.open("ab") as output:
        process = subprocess.Popen(
            ["nice", "-n", "10", "bash", "-c", command],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while True:
                try:
                    return process.wait(timeout=1)
                except subprocess.TimeoutExpired:
                    look()
                if time.monotonic() > until:
                    output.write(f"ended after {_MOST_HOURS:g} hours\n".encode())
                    return 124
        finally:
            if process.poll() is None:
                _end(process)


def why_not(step: Step, tree: pathlib.Path) -> str:
    """The reason why a step cannot be run here; empty if it can."""
    for need in step.needs:
        if why := need():
            return why
    left = disk_left(tree)
    if left < step.gigabytes:
        return f"needs {step.gigabytes:g} GB of disk, but only {left:.1f} GB are free"
    return ""


def run(step: Step, tree: pathlib.Path, state: State, look: Callable[[], None]) -> Result:
    """Runs one step; also records its result in the state.

    Args:
      step: The step.
      tree: The checkout in which its command runs.
      state: Records the step before, during and after the run.
      look: Called every second. An exception that it raises ends the step.

    Raises:
      Interrupted: `look` raised it, or KeyboardInterrupt.
    """
    if why := why_not(step, tree):
        state[step] = Result(NOT_RUN, shown=why)
        return state[step]
    state[step] = Result(RUNNING)
    log = state.log(step)
    log.write_text(f"$ {step.command}\n")
    began = time.monotonic()
    try:
        code = _shell(step.command, tree, log, look)
    except (KeyboardInterrupt, Interrupted) as error:
        state[step] = Result(INTERRUPTED, time.monotonic() - began)
        raise Interrupted(step.name) from error
    seconds = time.monotonic() - began
    shown = matches(log, step.shown)
    if code:
        shown = f"exit status {code}: {shown or last_line(log)}"
    elif step.clean:
        _shell(step.clean, tree, log, look)
    state[step] = Result(FAILED if code else PASSED, seconds, shown)
    return state[step]
