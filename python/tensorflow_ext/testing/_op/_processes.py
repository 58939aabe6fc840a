"""Checks ops in separate processes, which an op may crash.

A process that has imported everything is forked for each op. This takes a fraction of a
second, while a new process would take seconds. After a crash, the next process continues
with the next check.
"""

import atexit
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any

from tensorflow_ext.testing._op import _worker
from tensorflow_ext.testing._op._report import OpFinding, Verdict
from tensorflow_ext.testing._op._worker import Task

_MOST_CRASHES = 16  # of one op
_START_SECONDS = 300.0
_START = (
    "import sys; from tensorflow_ext.testing._op import _processes; "
    "_processes.serve(int(sys.argv[1]), sys.argv[2])"
)


_lock = threading.Lock()
# Workplaces that are ready for the next check, because starting one takes seconds.
_idle: list["Workplace"] = []
_MOST_IDLE = 2


class LoadError(RuntimeError):
    """A library, or a module, cannot be loaded."""


def serve(descriptor: int, errors: str) -> None:
    """Forks a process for each request until there are no more."""
    talk: connection.Connection = connection.Connection(descriptor)
    talk.send(("ready", None))
    while True:
        try:
            request = talk.recv()
        except EOFError:
            return
        child = os.fork()
        if child == 0:
            _answer(request, talk, errors)
        _, status = os.waitpid(child, 0)
        talk.send(("ended", os.waitstatus_to_exitcode(status)))


def _answer(request: Any, talk: connection.Connection, errors: str) -> None:
    """Answers a request in the forked process; does not return."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    status = 1
    try:
        if isinstance(request, Task):
            _worker.perform(request, talk.send)
        else:
            library, modules = request
            _worker.list_ops(library, modules, talk.send)
        status = 0
    except BaseException as error:
        talk.send(("raised", f"{type(error).__name__}: {error}"))
    finally:
        os._exit(status)


class Workplace:
    """A process that checks ops; `workplace` lends one.

    Attributes:
      timeout: Seconds after which a silent process is ended.
      busy: Whether an answer is pending.
    """

    def __init__(self) -> None:
        self.timeout = 0.0
        self.busy = False
        self.surroundings = _surroundings()
        self._process: subprocess.Popen[bytes] | None = None
        self._talk: Any = None
        self._folder = tempfile.TemporaryDirectory()
        self._errors = pathlib.Path(self._folder.name, "stderr")

    def close(self) -> None:
        """Ends its processes."""
        self._end()
        self._folder.cleanup()

    def _start(self) -> None:
        ours, theirs = connection.Pipe()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(theirs.fileno()), str(self._errors)],
            pass_fds=[theirs.fileno()],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._talk = ours
        try:
            started = ours.poll(_START_SECONDS) and ours.recv() == ("ready", None)
        except EOFError:
            started = False
        if not started:
            self._end()
            raise LoadError(f"{sys.executable} cannot import {__name__}")

    def _end(self) -> None:
        if self._process is None:
            return
        self._talk.close()
        with_its_forks = self._process.pid
        with contextlib.suppress(ProcessLookupError):
            os.killpg(with_its_forks, signal.SIGKILL)
        self._process.wait()
        self._process = None
        self.busy = False

    def _request(self, request: Any) -> tuple[list[tuple[str, Any]], str]:
        """A process' answers, and how it ended; empty if it ended normally."""
        if self._process is None:
            self._start()
        said: list[tuple[str, Any]] = []
        raised = ""
        self.busy = True
        self._talk.send(request)
        while True:
            if not self._talk.poll(self.timeout):
                self._end()
                return said, f"does not finish within {self.timeout:g} s"
            try:
                kind, value = self._talk.recv()
            except (EOFError, OSError):
                self._end()
                return said, "ends the process"
            if kind == "raised":
                raised = value
            elif kind == "ended":
                self.busy = False
                if raised:
                    raise LoadError(raised)
                return said, self._cause(value) if value else ""
            else:
                said.append((kind, value))

    def _cause(self, status: int) -> str:
        """Describes how a process ended, with the last line that it wrote."""
        how = f"with exit status {status}"
        if status < 0:
            how = f"by {signal.Signals(-status).name}"
        written = self._errors.read_text(errors="replace").splitlines()
        fatal = [line for line in written if "Check failed" in line]
        aborts = status == -signal.SIGABRT
        last = (fatal or (written if aborts else []))[-1:]
        return f"ends the process {how}" + (f": {last[0][:300]}" if last else "")

    def list_ops(self, library: str, modules: tuple[str, ...]) -> list[bytes]:
        """The serialized OpDefs of a library's ops, sorted by name.

        Raises:
          LoadError: The library cannot be loaded.
        """
        said, ended = self._request((library, modules))
        if ended:
            raise LoadError(f"loading {library} {ended}")
        return said[-1][1]

    def check(self, task: Task) -> list[OpFinding]:
        """The findings about an op."""
        findings: list[OpFinding] = []
        op = task.op
        for _ in range(_MOST_CRASHES):
            said, ended = self._request(task)
            done = [value for kind, value in said if kind == "done"]
            found = [value for kind, value in said if kind == "finding"]
            findings += [finding for finding in found if finding.check in done]
            task.checks = [check for check in task.checks if check not in done]
            if not ended:
                return findings
            tried = [value for kind, value in said if kind == "trying"]
            if not tried:
                return [*findings, OpFinding(op, "inputs", Verdict.FAILED, ended)]
            check, what = tried[-1]
            task.crashed.setdefault(check, {})[what] = ended
        for check in task.checks:
            message = f"not checked, because the op has already crashed {_MOST_CRASHES} processes"
            findings.append(OpFinding(op, check, Verdict.FAILED, message))
        return findings


def _surroundings() -> object:
    """The state that a process inherits from this one when it starts."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    return list(sys.path), own


@contextlib.contextmanager
def workplace(timeout: float) -> Iterator[Workplace]:
    """Lends a place to check ops in, for one thread at a time.

    Args:
      timeout: Seconds after which a silent process is ended.
    """
    surroundings = _surroundings()
    with _lock:
        fitting = [place for place in _idle if place.surroundings == surroundings]
        place = fitting[0] if fitting else Workplace()
        if fitting:
            _idle.remove(place)
    place.timeout = timeout
    try:
        yield place
    finally:
        with _lock:
            if not place.busy and len(_idle) < _MOST_IDLE:
                _idle.append(place)
            else:
                place.close()


@atexit.register
def _close_all() -> None:
    while _idle:
        _idle.pop().close()
