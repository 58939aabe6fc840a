# SPDX-License-Identifier: Apache-2.0
"""Records new ops, and new names of C, C++ and Python.

    .venv/bin/python tests/compat/record.py

It only adds. If a recorded name is gone, it says so and writes nothing. docs/compatibility.md says
what may change.
"""

import pathlib
import sys

import op_defs
import public_names


def main() -> int:
    faults = []
    for name, collect in public_names.LISTS.items():
        file = pathlib.Path(__file__).absolute().parent / f"{name}.txt"
        before = public_names.recorded(name) if file.exists() else []
        now = collect()
        faults += public_names.broken(before, now)
        if not faults and now != before:
            file.write_text("".join(f"{line}\n" for line in now), encoding="utf-8")
            print(f"{file.name}: {len(set(now) - set(before))} new lines")
    for name in [] if faults else op_defs.record():
        print(f"{op_defs.HISTORY.name}: {name}")
    print("\n".join(faults), end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
