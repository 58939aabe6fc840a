"""Starts a script in a separate process, for tests."""

import sys

# Modules must come from PYTHONPATH, not from the target of a link to the script. Python 3.10 has no
# option for this, and finds the same modules through the link.
PYTHON = [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else [])]
