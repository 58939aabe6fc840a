"""Records new ops, and new names of C, C++ and Python.

    .venv/bin/python tests/compat/record.py

It only adds. If a recorded name is gone, it says so and writes nothing. docs/compatibility.md says
what may change.
"""

import sys

import op_defs
import public_names
import recorded


def main() -> int:
    before = recorded.read()
    now = {name: collect() for name, collect in public_names.LISTS.items()}
    faults = [
        fault for name, lines in now.items() for fault in public_names.broken(before[name], lines)
    ]
    if faults:
        print("\n".join(faults))
        return 1
    now["op_defs"] = op_defs.with_current(before["op_defs"])
    for name, lines in now.items():
        for line in sorted(set(lines) - set(before[name])):
            print(f"{name}: {line}")
    if now != before:
        recorded.write(now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
