"""The arguments of a task, and its place in the cluster."""

import argparse
import json
import os
import pathlib


def options(description: str | None) -> argparse.Namespace:
    """The arguments of a task, which are the same on all machines."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    parser.add_argument("--backup", type=pathlib.Path, help="a folder that all tasks can write")
    parser.add_argument(
        "--pause",
        type=int,
        action="append",
        default=[],
        metavar="STEP",
        help="wait for two seconds after this step, so that the task can be killed there",
    )
    arguments = parser.parse_args()
    if "TF_CONFIG" not in os.environ:
        parser.error("TF_CONFIG must name the cluster and this task")
    return arguments


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the launcher also has."""
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64, help="batch size of all workers together")
    parser.add_argument("--every", type=int, default=10, help="steps between backups")


def task() -> tuple[str, int]:
    """The job and the index of this process."""
    described = json.loads(os.environ["TF_CONFIG"])["task"]
    return described["type"], int(described["index"])
