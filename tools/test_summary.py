"""Prints what a `bazel test` did: what took too long, the failures, a line with the counts.

    bazel test --build_event_json_file=EVENTS //...
    tools/test_summary.py EVENTS [--all | --all-languages] [--write-budget]

Counted are the single cases in the test.xml files; a target that does not build
counts as one failure. Exits 1 when something failed.
"""

import argparse
import json
import os
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import test_budget

_PASSED = {"PASSED", "FLAKY"}
# The requirements of each language's tests, which are skipped without them.
LANGUAGES = {
    "go": "Go 1.19 or newer (Debian, Ubuntu: sudo apt-get install golang)",
    "rust": "Rust 1.85 or newer, with cargo (https://rustup.rs installs it)",
    "java": "a JDK of Java 17 or newer and Maven (Debian, Ubuntu: "
    "sudo apt-get install default-jdk-headless maven), and a TensorFlow that has a "
    "release of TensorFlow Java (one of requirements/java-*.txt)",
}


def _read_events(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return  # Bazel was stopped in the middle of a line.


def count_cases(report: Path) -> Counter[str]:
    """The number of cases in a JUnit report by outcome: passed, failed, skipped."""
    counts: Counter[str] = Counter()
    try:
        root = ET.parse(report).getroot()
    except (OSError, ET.ParseError):
        return counts
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
        elif case.find("skipped") is not None:
            counts["skipped"] += 1
        else:
            counts["passed"] += 1
    return counts


def summarize(events: Iterable[dict[str, Any]]) -> tuple[Counter[str], list[str]]:
    """Adds up the build events of one `bazel test`.

    Returns:
      The number of cases by outcome, and a line for each target that failed.
    """
    counts: Counter[str] = Counter()
    failures = []
    results: dict[tuple[str, ...], tuple[str, Counter[str]]] = {}
    for event in events:
        identity = event["id"]
        if "testResult" in identity:
            key = identity["testResult"]
            outputs = event.get("testResult", {}).get("testActionOutput", [])
            cases: Counter[str] = Counter()
            for output in outputs:
                if output["name"] == "test.xml":
                    cases = count_cases(Path(unquote(urlparse(output["uri"]).path)))
            status = event.get("testResult", {}).get("status", "NO_STATUS")
            # A later attempt at the same shard and run replaces it.
            shard = (key["label"], str(key.get("shard")), str(key.get("run")))
            results[shard] = (status, cases)
        elif "targetCompleted" in identity:
            if not event.get("completed", {}).get("success"):
                failures.append(f"{identity['targetCompleted']['label']} does not build")
                counts["failed"] += 1
        elif "pattern" in identity and "aborted" in event:
            failures.append(event["aborted"].get("description", "loading failed"))
            counts["failed"] += 1
    for (label, *_), (status, cases) in sorted(results.items()):
        if status not in _PASSED:
            # A crash or a timeout leaves no failed case behind.
            cases["failed"] = max(cases["failed"], 1)
            failures.append(f"{label} {status.lower()}")
        elif not cases:
            cases["passed"] = 1
        counts += cases
    return counts, failures


def languages_left_out() -> list[str]:
    """A line for each language that third_party has not found."""
    # bazel-bin is OUTPUT_BASE/execroot/WORKSPACE/bazel-out/CONFIGURATION/bin.
    built = Path(os.environ.get("BAZEL_BIN", "bazel-bin"))
    repositories = built.resolve().parents[4] / "external"
    missing = []
    for language, needed in LANGUAGES.items():
        found = repositories / f"local_config_{language}" / "defs.bzl"
        have = f"HAVE_{language.upper()} = True"
        if not found.is_file() or have not in found.read_text(encoding="utf-8"):
            missing.append(f"{language} is skipped: its tests need {needed}")
    return missing


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("events", type=Path)
    parser.add_argument(
        "--all", action="store_true", help="name the languages that were skipped in //..."
    )
    parser.add_argument(
        "--all-languages", action="store_true", help="count a skipped language as a failure"
    )
    parser.add_argument(
        "--write-budget", action="store_true", help="make the measured times the tests' shares"
    )
    options = parser.parse_args()
    events = list(_read_events(options.events))
    counts, failures = summarize(events)
    if not counts:
        failures.append("bazel ran no test")
        counts["failed"] = 1
    missing = languages_left_out() if options.all or options.all_languages else []
    if options.all_languages:
        counts["failed"] += len(missing)
        failures += missing
    if measured := test_budget.measured_seconds(events):
        if options.write_budget:
            test_budget.write_shares(measured)
        over = test_budget.over_share(measured, test_budget.read_shares())
        if over:
            print("\n" + "\n".join(over))
    if failures:
        print("\n" + "\n".join(failures))
    if missing and not options.all_languages:
        print("\n" + "\n".join(missing))
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
