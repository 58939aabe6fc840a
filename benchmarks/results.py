"""The rows of a run, kept in a file, and what moved since an earlier one."""

import dataclasses
import datetime
import gzip
import itertools
import json
import math
import pathlib
import zlib
from collections.abc import Iterator, Mapping, Sequence

from limits import Needs

# A row moved if its ratio changed by more than this fraction, and by more than this multiple of the
# spread of the two runs' rounds. The median of 15 rounds has a standard error of half the spread,
# so the multiple equals three standard errors of both runs.
_SMALLEST_MOVE = 0.05
_SPREADS = 2.0

# The fraction of our time that the machine's limit must reach.
LIMIT_BAR = 0.85


@dataclasses.dataclass
class Result:
    """One row of the table.

    Attributes:
      group: The thing measured, e.g. "eager replay".
      case: The inputs of the measurement.
      seconds: The median time of our side, if the ratio is one of times.
      rival: The contender that it is compared with.
      ratio: Our time over the rival's: the median of the rounds' ratios.
      bar: The ratio that we must reach, if there is one.
      memory: The bytes at the peak of a step, for us and the rival; None if not measured.
      note: Other information.
      needs: The least bytes and operations of a call, if counted.
      of_limit: The fraction of our time that these alone take (see `limits`): 1 at the limit. It
        can exceed 1 if more is read than written.
      spread: Half the interquartile range of the rounds' ratios.
      size: The position of the row in the picture of its group, if the picture shows a cost that
        grows.
    """

    group: str
    case: str
    seconds: float | None
    rival: str
    ratio: float
    bar: float | None = None
    memory: tuple[int | None, int | None] = (None, None)
    note: str = ""
    needs: Needs | None = None
    of_limit: float | None = None
    spread: float = 0.0
    size: float | None = None

    @property
    def reached(self) -> bool:
        """True if the ratio, as printed, is within its bar, or if there is no bar."""
        return self.bar is None or round(self.ratio, 2) <= self.bar

    def is_clearly_above(self, limit: float) -> bool:
        """True if the ratio, as printed, is above a limit by more than the spread of its rounds."""
        noise = _SPREADS * self.spread
        return round(self.ratio, 2) > limit and self.ratio - limit > noise

    @property
    def is_at_limit(self) -> bool | None:
        """True if the machine's limit is a large enough fraction of our time; None if unknown."""
        return None if self.of_limit is None else self.of_limit >= LIMIT_BAR

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the same row in another run."""
        return self.group, self.case, self.rival


def by_group(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    """The rows of each group."""
    for group, members in itertools.groupby(results, lambda result: result.group):
        yield group, list(members)


@dataclasses.dataclass
class Suite:
    """The rows of one suite.

    Attributes:
      date: The day they were measured, in ISO format.
      machine: The machine (see `machine.describe`); empty if an older file lacks it.
      results: The rows.
    """

    date: str
    machine: dict[str, str]
    results: list[Result]


Record = dict[str, Suite]


def measured_today(rows: Sequence[Result], machine: Mapping[str, str]) -> Suite:
    """A suite that has just been measured, on a machine (see `machine.describe`)."""
    return Suite(datetime.date.today().isoformat(), dict(machine), list(rows))


def save(record: Mapping[str, Suite], file: pathlib.Path) -> None:
    """Writes a record for `load`: as JSON, compressed if the name ends in .gz."""
    suites = {name: dataclasses.asdict(suite) for name, suite in record.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    text = (json.dumps(suites, indent=1) + "\n").encode()
    # Without the time, so that the same rows give the same file.
    file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)


def load(file: pathlib.Path) -> Record:
    """Reads a record that `save` wrote.

    Raises:
      ValueError: The file is not from an earlier run.
    """
    text = file.read_bytes()
    try:
        if file.suffix == ".gz":
            text = gzip.decompress(text)
        return {
            name: Suite(
                suite["date"], suite.get("machine", {}), [_result(row) for row in suite["results"]]
            )
            for name, suite in json.loads(text).items()
        }
    except (
        AttributeError,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
        gzip.BadGzipFile,
        zlib.error,
    ) as error:
        raise ValueError(
            f"{file}: expected a file that ./run bench wrote, such as "
            "docs/benchmarks.json.gz or out/benchmarks.json"
        ) from error


def _result(row: dict) -> Result:
    needs = row.pop("needs")
    memory = tuple(row.pop("memory"))
    return Result(**row, memory=memory, needs=Needs(**needs) if needs else None)


def other_machines(before: Mapping[str, Suite], now: Mapping[str, Suite]) -> Iterator[str]:
    """The differences between the machines of the suites in both, a line for each."""
    pairs = [(before[name].machine, now[name].machine) for name in before.keys() & now.keys()]
    lines = {
        f"{fact}: was {was[fact]}, is {here[fact]}"
        for was, here in pairs
        for fact in was.keys() & here.keys()
        if was[fact] != here[fact]
    }
    return iter(sorted(lines))


@dataclasses.dataclass(frozen=True)
class Move:
    """A row whose ratio changed by more than the noise, from `was` to `now`."""

    row: Result
    was: float
    now: float

    @property
    def is_slower(self) -> bool:
        """True if we lost against the rival."""
        return self.now > self.was


def moves(before: Mapping[str, Suite], now: Mapping[str, Suite]) -> Iterator[Move]:
    """The rows in both whose ratios differ by more than noise, worst first."""
    old = {row.key: row for suite in before.values() for row in suite.results}
    found = []
    for suite in now.values():
        for row in suite.results:
            was = old.get(row.key)
            if was is None:
                continue
            noise = _SPREADS * math.hypot(was.spread, row.spread)
            if abs(row.ratio - was.ratio) > max(noise, _SMALLEST_MOVE * was.ratio):
                found.append(Move(row, was.ratio, row.ratio))
    return iter(sorted(found, key=lambda move: move.was / max(move.now, 1e-12)))
