"""./run release-check: every check that takes hours, step by step.

    ./run release-check [--list] [--only STEP...] [--restart]

It checks the current commit, in its own clone in the cache: uncommitted changes are
ignored, and you can keep working meanwhile. Steps that have passed for this commit do
not run again, so an interrupted check continues where it stopped. It writes a table to
out/release_check.md; steps that did not run keep their rows. Exit status: 0, nothing
failed; 1, a step failed; 2, wrong arguments; 130, interrupted.
"""

import argparse
import fcntl
import fnmatch
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Sequence

from release_check import report, runner, steps
from release_check.progress import Shown
from release_check.steps import Step

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class GitError(Exception):
    """Says what Git cannot do here, and what was expected."""


def _git(*arguments: str, folder: pathlib.Path = _ROOT) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, check=False, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise GitError(
            "no git on PATH; it is needed to check the last commit "
            "(Debian, Ubuntu: sudo apt-get install git)"
        ) from error
    if done.returncode:
        said = done.stderr.strip().partition("\n")[0].removeprefix("fatal: ")
        raise GitError(
            f"git {arguments[0]} in {folder}: {said or done.returncode}; expected a "
            "checkout with a commit to check"
        )
    return done.stdout.strip()


def cache_folder() -> pathlib.Path:
    """The folder of clones and results."""
    home = os.environ.get("XDG_CACHE_HOME") or f"{os.environ['HOME']}/.cache"
    return pathlib.Path(home, "tensorflow_ext", "release_check")


def clone(root: pathlib.Path, commit: str, tree: pathlib.Path) -> None:
    """Checks out the commit. The build outputs of an earlier commit stay."""
    if not (tree / ".git").exists():
        _git("clone", "--quiet", "--no-checkout", str(root), str(tree))
    _git("fetch", "--quiet", str(root), commit, folder=tree)
    _git("checkout", "--quiet", "--force", "--detach", commit, folder=tree)


def choose(all_steps: Sequence[Step], only: Sequence[str]) -> list[Step]:
    """The named steps; names may be patterns such as 'tensorflow-*'.

    Raises:
      ValueError: A name fits no step.
    """
    if not only:
        return list(all_steps)
    names = [step.name for step in all_steps]
    for pattern in only:
        if not fnmatch.filter(names, pattern):
            raise ValueError(f"no step {pattern!r}; there are {', '.join(names)}")
    return [
        step for step in all_steps if any(fnmatch.fnmatch(step.name, pattern) for pattern in only)
    ]


def _terminate(*_: object) -> None:
    raise runner.Interrupted


def run_all(
    chosen: Sequence[Step], tree: pathlib.Path, state: runner.State, durations: pathlib.Path
) -> bool:
    """Runs the steps that have not passed; returns true if it came to the end."""
    took = json.loads(durations.read_text()) if durations.exists() else {}
    left = [step for step in chosen if state[step].status != runner.PASSED]
    expected = {step.name: took.get(step.name, 60.0 * step.minutes) for step in left}
    with Shown(left, expected) as shown:
        hours = sum(expected.values()) / 3600
        most = sum(step.gigabytes for step in left if not step.clean)
        shown.say(
            f"{len(left)} of {len(chosen)} steps will run, about {hours:.1f} h; they need "
            f"up to {most:.0f} GB of disk, and {steps.disk_left(tree):.0f} GB are free in "
            f"{tree}"
        )
        for step in left:
            shown.begin(step, state)
            try:
                result = runner.run(step, tree, state, shown.look)
            except runner.Interrupted:
                shown.end(step, runner.INTERRUPTED, "run this again to continue")
                return False
            shown.end(step, report.result_of(step, state), result.shown)
            if result.status == runner.PASSED:
                took[step.name] = result.seconds
                durations.write_text(json.dumps(took, indent=1))
    return True


def _list(all_steps: Sequence[Step], state: runner.State) -> None:
    for step in all_steps:
        word = report.result_of(step, state)
        print(f"{step.name:18} {word:18} {step.minutes:4} min {step.gigabytes:4g} GB")
        print(f"{'':18} {step.command}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./run release-check",
        description=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="list the steps and their last results")
    parser.add_argument("--only", nargs="+", default=[], metavar="STEP")
    parser.add_argument("--restart", action="store_true", help="run passed steps again")
    options = parser.parse_args(arguments)
    try:
        return _check(parser, options)
    except GitError as error:
        parser.error(str(error))


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    commit = _git("rev-parse", "--verify", "HEAD")
    folder = cache_folder()
    state = runner.State(folder / commit[:12])
    all_steps = steps.steps(_ROOT)
    try:
        chosen = choose(all_steps, options.only)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        _list(chosen, state)
        return 0
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            parser.error("another release check is running; wait until it has ended")
        if options.restart:
            state.forget()
        if _git("status", "--porcelain", "--untracked-files=no"):
            print("uncommitted changes are not checked", file=sys.stderr)
        tree = folder / "tree"
        clone(_ROOT, commit, tree)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _terminate)
        finished = run_all(chosen, tree, state, folder / "durations.json")
    page = _ROOT / "out" / "release_check.md"
    page.parent.mkdir(exist_ok=True)
    subject = _git("log", "-1", "--format=%s", commit)
    before = page.read_text() if page.exists() else ""
    page.write_text(report.page(all_steps, state, commit[:12], subject, before))
    print(f"{report.summary(all_steps, state)}; the table is in {page}")
    if not finished:
        return 130
    return 1 if report.faults(chosen, state) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
