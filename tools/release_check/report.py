"""The report of a release check: for a terminal, and out/release_check.md."""

import datetime
import os
import pathlib
import platform
import re
import tempfile
from collections.abc import Sequence

from release_check.runner import FAILED, NOT_RUN, PASSED, WAITING, State
from release_check.steps import Step

_HEAD = """\
# Release check

`./run release-check` wrote this. A row names the commit that was checked; if that is not
the one at the top, the step has not been run since.

| | |
|---|---|
"""
# A temporary folder of one run.
_TEMPORARY = re.compile(re.escape(tempfile.gettempdir()) + r"/[^/\s]+/")


def _time(seconds: float) -> str:
    if not seconds:
        return ""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _cell(text: str) -> str:
    """Escapes text for a table on the page, and removes this machine's folders from it."""
    text = _TEMPORARY.sub("", text).replace(str(pathlib.Path.home()), "~")
    return text.replace("|", "\\|").replace("<", "&lt;")


def _machine() -> str:
    name = next(
        (
            line.partition("=")[2].strip('"')
            for line in pathlib.Path("/etc/os-release").read_text().splitlines()
            if line.startswith("PRETTY_NAME=")
        ),
        platform.system(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{name}, {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"


def result_of(step: Step, state: State) -> str:
    """The word for the table."""
    status = state[step].status
    if status == FAILED and step.may_fail:
        return "failed (allowed)"
    return status


def faults(steps: Sequence[Step], state: State) -> list[Step]:
    """The steps that failed although they must pass."""
    return [step for step in steps if state[step].status == FAILED and not step.may_fail]


def summary(steps: Sequence[Step], state: State) -> str:
    """The number of steps with each result."""
    count = dict.fromkeys((PASSED, FAILED, NOT_RUN), 0)
    rest = 0
    for step in steps:
        status = state[step].status
        if status in count:
            count[status] += 1
        else:
            rest += 1
    text = ", ".join(f"{number} {word}" for word, number in count.items())
    return f"{len(steps)} steps: {text}, {rest} not run at this commit"


def _rows(page: str) -> dict[str, str]:
    """The rows of a report, by step name."""
    return {row[1]: row[0] for row in re.finditer(r"^\| `(.+?)` \| .*$", page, re.M)}


def page(steps: Sequence[Step], state: State, commit: str, subject: str, before: str = "") -> str:
    """out/release_check.md.

    Args:
      steps: All steps.
      state: The results for this commit.
      commit: Its short name.
      subject: Its first line.
      before: The present page. Steps that were not run at this commit keep their rows.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    kept = _rows(before)
    lines = [
        f"| date | {now:%Y-%m-%d %H:%M} UTC |",
        f"| commit | `{commit}` {_cell(subject)} |",
        f"| machine | {_machine()} |",
        f"| result | {summary(steps, state)} |",
        "",
        "| step | what | result | commit | took | it says |",
        "|---|---|---|---|--:|---|",
    ]
    for step in steps:
        result = state[step]
        if result.status not in (PASSED, FAILED, NOT_RUN) and step.name in kept:
            lines.append(kept[step.name])
            continue
        checked = "" if result.status == WAITING else f"`{commit}`"
        lines.append(
            f"| `{step.name}` | {_cell(step.what)} | {result_of(step, state)} "
            f"| {checked} | {_time(result.seconds)} | {_cell(result.shown)} |"
        )
    return _HEAD + "\n".join(lines) + "\n"
