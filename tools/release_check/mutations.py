"""Plants mistakes in this checkout, one at a time, and checks which test notices.

    PYTHONPATH=tools .venv/bin/python -m release_check.mutations [NAME...] [FLAG...]

mutations*.ini list them, each with the tests that must notice it in an everyday run;
flags go to `bazel test`. Each file is restored afterwards, so it must have no uncommitted
changes. The table is out/mutations.md, and the logs are in out/mutations/. Exit status 1:
a mistake survived, did not build or is no longer in its file, or the tests fail without
any mistake.
"""

import argparse
import configparser
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

LISTS = sorted(pathlib.Path(__file__).resolve().parent.glob("mutations*.ini"))
SURVIVED, NOT_BUILT = "**survived**", "**not built**"
# The first failed test of pytest, and the failed target of another program.
_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?)(?: - .*)?$", re.MULTILINE)
_FAILED_TARGET = re.compile(r"^(//\S+) +(?:FAILED|TIMEOUT) in ", re.MULTILINE)


@dataclass(frozen=True)
class Mutation:
    """One mistake.

    Attributes:
      name: Its name on the command line.
      what: A description of the mistake.
      file: The file, relative to the root.
      old: A part of one line of the file, which occurs once.
      new: The text that replaces it.
      tests: The Bazel targets that must notice.
      cases: The tests to run, in the form of pytest's -k; all if empty.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    cases: str = ""

    def fault(self, root: pathlib.Path) -> str:
        """The reason why it cannot be planted; empty if it can."""
        if self.old == self.new:
            return "it changes nothing"
        if not (root / self.file).is_file():
            return f"there is no {self.file}"
        count = (root / self.file).read_text().count(self.old)
        return "" if count == 1 else f"its text occurs {count} times in {self.file}"


def read() -> list[Mutation]:
    """The lists, in the order of the files."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.read(LISTS)
    found = []
    for name in parser.sections():
        fields = dict(parser[name])
        fields.setdefault("new", "")
        tests, _, cases = fields.pop("tests").partition(" -k ")
        found.append(Mutation(name=name, tests=tuple(tests.split()), cases=cases, **fields))
    return found


def _test(root: pathlib.Path, log: pathlib.Path, arguments: Sequence[str]) -> tuple[int, str]:
    """Runs tests; returns the exit status and the text of the log."""
    command = ["./run", "test", "--cuda=no", "--test_env=PYTEST_ADDOPTS=-x", *arguments]
    with log.open("w", encoding="utf-8") as output:
        status = subprocess.run(
            command, cwd=root, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    return status, log.read_text(encoding="utf-8", errors="replace")


def noticed_by(status: int, log: str) -> str:
    """The test that noticed, or one of the words above."""
    if status == 0:
        return SURVIVED
    if found := _FAILED_TEST.search(log):
        return found[1]
    target = _FAILED_TARGET.search(log)
    return target[1] if target and "no tests ran" not in log else NOT_BUILT


def try_out(root: pathlib.Path, mutation: Mutation, flags: Sequence[str]) -> str:
    """Plants it, runs its tests and restores the file; returns the test that noticed."""
    if why := mutation.fault(root):
        return f"**{why}**"
    log = root / "out" / "mutations" / f"{mutation.name}.log"
    file = root / mutation.file
    text = file.read_bytes()
    cases = [f"--test_filter={mutation.cases}"] if mutation.cases else []
    try:
        file.write_bytes(text.replace(mutation.old.encode(), mutation.new.encode()))
        return noticed_by(*_test(root, log, [*flags, *cases, *mutation.tests]))
    finally:
        file.write_bytes(text)


def run(root: pathlib.Path, chosen: Sequence[Mutation], flags: Sequence[str] = ()) -> int:
    """Tries all mutations and writes the table; returns the exit status."""
    (root / "out" / "mutations").mkdir(parents=True, exist_ok=True)
    targets = sorted({target for mutation in chosen for target in mutation.tests})
    if _test(root, root / "out" / "mutations" / "without.log", [*flags, *targets])[0]:
        print("the tests fail without any mutation: see out/mutations/without.log")
        return 1
    table = ["| mutation | what is wrong | file | noticed by | s |", "|---|---|---|---|--:|"]
    missed = 0
    for mutation in chosen:
        began = time.monotonic()
        by = try_out(root, mutation, flags)
        missed += by.startswith("**")
        row = [mutation.name, mutation.what, f"`{mutation.file}`", by.replace("|", "\\|")]
        table.append(f"| {' | '.join(row)} | {time.monotonic() - began:.0f} |")
        (root / "out" / "mutations.md").write_text("\n".join(table) + "\n")
        print(f"{mutation.name}: {by}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} mutations noticed: out/mutations.md")
    return 1 if missed else 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m release_check.mutations",
        description=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all")
    options, flags = parser.parse_known_args(arguments)
    mutations = {mutation.name: mutation for mutation in read()}
    if unknown := sorted(set(options.names) - set(mutations)):
        parser.error(f"no mutation {unknown[0]!r}; there are {', '.join(mutations)}")
    chosen = [mutations[name] for name in options.names or mutations]
    root = pathlib.Path.cwd()
    files = sorted({mutation.file for mutation in chosen})
    if subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", *files], cwd=root, check=False
    ).returncode:
        parser.error("a file of these mutations has uncommitted changes; commit them first")
    return run(root, chosen, flags)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
