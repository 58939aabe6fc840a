# SPDX-License-Identifier: Apache-2.0
"""The error that new-op raises."""


class NewOpError(Exception):
    """Says what is wrong, what was expected and how to fix it."""
