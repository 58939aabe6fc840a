# SPDX-License-Identifier: Apache-2.0
"""How tests start a script in a process of its own."""

import sys

# Modules come from PYTHONPATH, not from where a link to the script leads; Python 3.10
# cannot be told, and finds the same ones by the link.
PYTHON = [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else [])]
