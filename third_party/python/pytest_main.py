"""Runs pytest as a Bazel test, with results where Bazel expects them."""

import gc
import os
import pathlib
import shutil
import sys

import pytest


class _Collector:
    """Excludes imported objects from garbage collection, because they live as long as the process,
    and collects others as usual (sitecustomize.py sets other thresholds)."""

    def pytest_collection_finish(self) -> None:
        gc.freeze()
        gc.set_threshold(700, 10, 10)


class _Shard:
    """Keeps only the tests of this process's shard (shard_count), every n-th test.

    Tests with the same parameter `case` stay together and run in turn, so that they share the cost
    of the case.
    """

    def __init__(self, index: int, count: int) -> None:
        self._index = index
        self._count = count

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        groups: dict[object, list[pytest.Item]] = {}
        for item in items:
            parameters = item.callspec.params if hasattr(item, "callspec") else {}
            key = id(parameters["case"]) if "case" in parameters else item.nodeid
            groups.setdefault(key, []).append(item)
        own = list(groups.values())[self._index :: self._count]
        items[:] = [item for group in own for item in group]


def _shard() -> list[_Shard]:
    """The shard, according to Bazel's test encyclopedia; none if the test has one shard."""
    status_file = os.environ.get("TEST_SHARD_STATUS_FILE")
    if not status_file:
        return []
    pathlib.Path(status_file).touch()  # Otherwise Bazel would run all tests in every shard.
    index, count = (os.environ[f"TEST_{n}"] for n in ("SHARD_INDEX", "TOTAL_SHARDS"))
    return [_Shard(int(index), int(count))]


def _link_with_gold(folder: pathlib.Path) -> None:
    """Compilers that tests call use gold, if it exists: GNU ld takes five seconds longer to read
    libtensorflow_cc. tests/config and tests/wheel link with the default linker."""
    gold = shutil.which("ld.gold")
    if gold:
        folder.mkdir(exist_ok=True)
        (folder / "ld").unlink(missing_ok=True)
        (folder / "ld").symlink_to(gold)
        os.environ["COMPILER_PATH"] = str(folder)


def main() -> int:
    # Libraries that write below the home directory get a writable one.
    scratch = os.environ.get("TEST_TMPDIR")
    if scratch:
        os.environ["HOME"] = scratch
        _link_with_gold(pathlib.Path(scratch, "linker"))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    arguments = ["-q", "-p", "no:cacheprovider"]
    report = os.environ.get("XML_OUTPUT_FILE")
    if report:
        arguments.append(f"--junitxml={report}")
    selected = os.environ.get("TESTBRIDGE_TEST_ONLY")  # bazel test --test_filter
    if selected:
        arguments += ["-k", selected]
    shard = _shard()
    plugins = [_Collector(), *shard]
    status = pytest.main(arguments + sys.argv[1:], plugins=plugins)
    # A filter may leave a shard without tests.
    if shard and selected and status == pytest.ExitCode.NO_TESTS_COLLECTED:
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
