"""Tasks that are forked from a process that has only imported TensorFlow, because the import takes
most of the time of a new process."""

import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection

from processes import FORK_SERVER


class Process:
    """Takes the place of loopback.new_process: what Loopback uses of subprocess.Popen."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        reader, writer = FORK_SERVER.Pipe(duplex=False)
        self._process = FORK_SERVER.Process(
            target=_execute, args=(list(command), dict(environment), writer)
        )
        self._process.start()
        writer.close()
        self.stdout = os.fdopen(os.dup(reader.fileno()), errors="replace")

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode


def _execute(command: list[str], environment: dict[str, str], writer: Connection) -> None:
    for descriptor in (1, 2):
        os.dup2(writer.fileno(), descriptor)
    writer.close()
    os.environ.update(environment)
    sys.argv = command
    if command[0] == "-c":
        program = command.pop(1)
        exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_path(command[0], run_name="__main__")
