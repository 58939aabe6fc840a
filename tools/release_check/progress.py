"""The progress of a release check: a bar on a terminal, otherwise a line now and then."""

import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from release_check.runner import State, last_line
from release_check.steps import Step

_EVERY = 60  # seconds between lines if there is no terminal


class Shown:
    """A context that shows steps while they run.

    Args:
      seconds: The expected duration of each step.
    """

    def __init__(self, steps: Sequence[Step], seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._done = 0.0
        self._console = Console(file=sys.stderr)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[line]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        total = sum(seconds[step.name] for step in steps)
        self._task = self._bar.add_task("", total=total, line="")

    def __enter__(self) -> "Shown":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Prints a permanent line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def begin(self, step: Step, state: State) -> None:
        self._step, self._state = step, state
        self._began = self._said = time.monotonic()
        expected = self._seconds[step.name] / 60
        self.say(f"{step.name}: {step.command}\n  about {expected:.0f} min; log: {state.log(step)}")
        self._bar.update(self._task, description=step.name, line="")

    def look(self) -> None:
        """Updates the display; call it while the step runs."""
        now = time.monotonic()
        ran = now - self._began
        line = last_line(self._state.log(self._step))
        expected = self._seconds[self._step.name]
        self._bar.update(self._task, completed=self._done + min(ran, expected), line=line[:60])
        if not self._console.is_terminal and now - self._said >= _EVERY:
            self._said = now
            self.say(f"  {ran / 60:.0f} min: {line[:120]}")

    def end(self, step: Step, word: str, shown: str) -> None:
        self._done += self._seconds[step.name]
        self._bar.update(self._task, completed=self._done, line="")
        self.say(f"  {word}" + (f": {shown}" if shown else ""))
