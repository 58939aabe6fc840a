# SPDX-License-Identifier: Apache-2.0
"""What new-op refuses."""


class NewOpError(Exception):
    """Says what is wrong, what was expected and the fix."""
