"""The tasks of a cluster as processes of this machine, restarted when they fail."""

import collections
import contextlib
import ctypes
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_RESTARTS = 3  # per task
_PR_SET_PDEATHSIG = 1
_C = ctypes.CDLL(None)


class Task(NamedTuple):
    """The name of a task in TF_CONFIG."""

    job: str
    number: int

    def __str__(self) -> str:
        return f"{self.job}:{self.number}"


class Loopback:
    """A cluster. Use it in a `with` statement, which leaves no processes behind.

    Args:
      command: The command of each task; TF_CONFIG says which task it is.
      jobs: The number of tasks of each job.
      limit: The time limit for the whole run, in seconds.

    Attributes:
      cluster: The addresses, in the form of tf.train.ClusterSpec.
      restarts: The number of restarts of each task.
    """

    def __init__(self, command: Sequence[str], jobs: Mapping[str, int], limit: float) -> None:
        self.restarts: collections.Counter[Task] = collections.Counter()
        self._command = command
        self._deadline = time.monotonic() + limit
        self._limit = limit
        self._processes: dict[Task, subprocess.Popen[str]] = {}
        self._written: dict[Task, collections.deque[str]] = {}
        self._events: queue.Queue[tuple[Task, str | None]] = queue.Queue()
        self._tasks = [Task(job, i) for job, count in jobs.items() for i in range(count)]
        self._sockets = [_reserve_port() for _ in self._tasks]
        self.cluster: dict[str, list[str]] = {job: [] for job in jobs}
        for task, reserved in zip(self._tasks, self._sockets, strict=True):
            host, port = reserved.getsockname()
            self.cluster[task.job].append(f"{host}:{port}")

    def __enter__(self) -> "Loopback":
        for task in self._tasks:
            self._start(task)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        for reserved in self._sockets:
            reserved.close()

    def kill(self, task: Task) -> None:
        """Ends a task like a failing machine."""
        self._processes[task].kill()

    def lines(self, until: Sequence[Task]) -> Iterator[tuple[Task, str]]:
        """Yields the lines that tasks print, until the tasks in `until` have ended well.

        A task that ends otherwise is restarted.

        Raises:
          TimeoutError: The limit has passed.
          RuntimeError: A task has failed too often.
        """
        running = set(until)
        while running:
            task, line = self._next()
            if line is not None:
                yield task, line
            elif self._processes[task].wait() == 0:
                running.discard(task)
            elif self.restarts[task] == _RESTARTS:
                raise RuntimeError(f"{task} keeps failing:{self._last(task)}")
            else:
                self.restarts[task] += 1
                self._start(task)

    def _next(self) -> tuple[Task, str | None]:
        with contextlib.suppress(queue.Empty):
            return self._events.get(timeout=max(0, self._deadline - time.monotonic()))
        tails = "".join(f"\n{task}:{self._last(task)}" for task in self._tasks)
        raise TimeoutError(f"Not done within {self._limit:g} s:{tails}")

    def _last(self, task: Task) -> str:
        return "".join(f"\n  {line}" for line in self._written[task])

    def _start(self, task: Task) -> None:
        config = {"cluster": self.cluster, "task": {"type": task.job, "index": task.number}}
        environment = {
            "TF_CPP_MIN_LOG_LEVEL": "2",
            **os.environ,
            "TF_CONFIG": json.dumps(config),
            "TF_GRPC_REUSE_PORT": "1",  # the port is shared with the socket that reserves it
            "PYTHONUNBUFFERED": "1",
        }
        process = new_process(self._command, environment)
        self._processes[task] = process
        written = self._written[task] = collections.deque(maxlen=30)
        threading.Thread(target=self._read, args=(task, process, written), daemon=True).start()

    def _read(
        self, task: Task, process: "subprocess.Popen[str]", written: collections.deque[str]
    ) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            written.append(line.rstrip())
            self._events.put((task, line.rstrip()))
        self._events.put((task, None))


def new_process(command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    """Starts Python with these arguments."""
    return subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=_die_with_parent,
    )


def _reserve_port() -> socket.socket:
    """Reserves a free port for this cluster, even while a task restarts: the socket is bound, but
    does not listen, and shares the port with the task."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


def _die_with_parent() -> None:
    _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
