"""Trains the digits network on a cluster of processes of this machine, and compares.

    launch.py multi-worker [--workers 4] [--kill worker:1@25]
    launch.py parameter-server [--workers 2] [--kill worker:0@25 --kill chief:0@40]
    launch.py session

The first two start each process as you would on a separate machine: multi_worker.py or
parameter_server.py with a TF_CONFIG. --kill ends a task after a step, as `kill -9`
does. Tasks that have ended are started again and continue from the last backup. Then
one process trains alone on the same batches, and the losses are compared in a table and
in out/cluster.png.

The last one: a client in C, session.c, runs ops and their gradients on two servers,
server.py.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import NamedTuple

import arguments
from loopback import Loopback, Task

_FOLDER = pathlib.Path(__file__).absolute().parent
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_STEP = re.compile(r"step (\d+) loss (\S+)")


class Kill(NamedTuple):
    """A task to end when a step has been made."""

    task: Task
    step: int


class Run(NamedTuple):
    """The results of a cluster.

    Attributes:
      losses: The loss of each step; for a repeated step the last one.
      restarts: The number of restarts of each task.
      repeated: The number of steps that were repeated from a backup.
    """

    losses: list[float]
    restarts: dict[Task, int]
    repeated: int


def train(
    strategy: str,
    workers: int,
    options: argparse.Namespace,
    kills: Sequence[Kill] = (),
    watch: Callable[[int], None] = lambda step: None,
) -> Run:
    """Trains on a cluster.

    Args:
      strategy: "multi-worker" or "parameter-server".
      workers: The number of workers.
      options: steps, batch and every, and the limit in seconds.
      kills: The tasks to end, and when; each once.
      watch: Called with each step.

    Raises:
      TimeoutError, RuntimeError: See Loopback.lines.
    """
    jobs = {"worker": workers}
    if strategy == "parameter-server":
        jobs = {"chief": 1, **jobs, "ps": 1}
    program = _FOLDER / f"{strategy.replace('-', '_')}.py"
    leader = Task(next(iter(jobs)), 0)
    waited_for = [Task("worker", i) for i in range(workers)]
    losses: dict[int, float] = {}
    pending = list(kills)
    repeated = 0
    with tempfile.TemporaryDirectory() as backup:
        command = [str(program), "--backup", backup]
        for name in ("steps", "batch", "every"):
            command += [f"--{name}", str(getattr(options, name))]
        for kill in kills:
            command += ["--pause", str(kill.step)]
        with Loopback(command, jobs, options.limit) as cluster:
            ends = [leader] if leader.job == "chief" else waited_for
            for task, line in cluster.lines(until=ends):
                found = _STEP.fullmatch(line)
                if not found or task != leader:
                    continue
                step = int(found[1])
                repeated += step in losses
                losses[step] = float(found[2])
                watch(step)
                for kill in [kill for kill in pending if kill.step == step]:
                    pending.remove(kill)
                    cluster.kill(kill.task)
            restarts = dict(cluster.restarts)
    return Run([losses[step] for step in range(options.steps)], restarts, repeated)


def train_alone(options: argparse.Namespace) -> list[float]:
    """The losses of one process, by Keras' `fit`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import training

    data = training.make_data(options.steps, options.batch)
    losses, _ = training.train(training.make_network(), data, lambda loss: None)
    return losses.tolist()


def run_session(limit: float) -> "subprocess.CompletedProcess[str]":
    """Runs the C client on two servers; returns its output.

    Raises:
      FileNotFoundError: The client is not built.
      subprocess.TimeoutExpired: The client takes longer than `limit` seconds.
    """
    from tensorflow_ext import sysconfig

    built = _ROOT / "bazel-bin" / "examples" / "cluster" / "session"
    found = [path for path in (_FOLDER / "session", built) if path.is_file()]
    if not found:
        raise FileNotFoundError("run './run build //examples/cluster:session' first")
    library = f"{sysconfig.get_lib()}/libtensorflow_ext.so"
    with Loopback([str(_FOLDER / "server.py")], {"worker": 2}, limit) as cluster:
        target = f"grpc://{cluster.cluster['worker'][0]}"
        return subprocess.run(
            [found[0], library, target], capture_output=True, text=True, check=False, timeout=limit
        )


def _kill(text: str) -> Kill:
    found = re.fullmatch(r"(\w+):(\d+)@(\d+)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r}: expected JOB:INDEX@STEP")
    return Kill(Task(found[1], int(found[2])), int(found[3]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("multi-worker", "parameter-server", "session"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--kill",
        type=_kill,
        action="append",
        default=[],
        metavar="JOB:INDEX@STEP",
        help="kill this task after this step; may be given several times",
    )
    parser.add_argument("--limit", type=float, default=300, help="time limit in seconds")
    arguments.add_options(parser)
    return parser.parse_args()


def main() -> int:
    options = _options()
    if options.what == "session":
        done = run_session(options.limit)
        print(done.stdout or done.stderr, end="")
        return done.returncode
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    console = Console()
    with Progress(console=console) as progress:
        bar = progress.add_task(f"{options.workers} workers", total=options.steps)
        run = train(
            options.what,
            options.workers,
            options,
            options.kill,
            lambda step: progress.update(bar, completed=step + 1),
        )
    alone = train_alone(options)
    table = Table("step", "one process", f"{options.workers} workers", "difference")
    for step in range(0, options.steps, max(1, options.steps // 10)):
        one, many = alone[step], run.losses[step]
        table.add_row(str(step), f"{one:.12f}", f"{many:.12f}", f"{many - one:.1e}")
    console.print(table)
    for task, count in run.restarts.items():
        console.print(f"{task} was started again, {count} time{'s' * (count > 1)}")
    if run.repeated:
        console.print(f"{run.repeated} steps were repeated from the last backup")
    largest = max(abs(a - b) for a, b in zip(alone, run.losses, strict=True))
    console.print(f"largest difference between losses: {largest:.1e}")
    picture = _ROOT / "out" / "cluster.png"
    draw(picture, options, run, alone)
    console.print(f"picture: {picture}")
    return 0 if largest <= 1e-5 else 1


def draw(picture: pathlib.Path, options: argparse.Namespace, run: Run, alone: list[float]) -> None:
    """Draws the losses of the cluster over those of one process."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(alone, linewidth=5, alpha=0.3, label="one process")
    label = f"{options.what}, {options.workers} workers"
    axes.plot(run.losses, linewidth=1, label=label)
    for kill in options.kill:
        label = f"{kill.task} is killed"
        axes.axvline(kill.step, color="gray", linestyle=":", label=label)
    axes.set(xlabel="step", ylabel="loss of the batch")
    axes.legend()
    picture.parent.mkdir(exist_ok=True)
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    sys.exit(main())
