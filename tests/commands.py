"""Runs programs for tests."""

import os
import subprocess
import sys
from typing import Any


def run(*command: object, fails: bool = False, **options: Any) -> str:
    """Runs a program that must succeed; returns what it prints.

    Args:
      *command: The program and its arguments.
      fails: The program must fail instead; the result then includes its errors.
      **options: Options of subprocess.run.

    Raises:
      AssertionError: The program does not succeed (or fail) as asked; the message has its output
        and errors.
    """
    words = list(map(str, command))
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    said = f"{done.stdout}{done.stderr}"
    failure = f"{' '.join(words)[:500]}: exit status {done.returncode}\n{said[-6000:]}"
    assert (done.returncode != 0) == fails, failure
    return said if fails else done.stdout


def environment(**more: str) -> dict[str, str]:
    """This process' variables and more, for a Python that must find the same modules."""
    search = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": search, **more}


def python(*arguments: object, **options: Any) -> str:
    """The same as `run` for this Python, which finds the modules of this process."""
    return run(sys.executable, *arguments, **{"env": environment(), **options})
