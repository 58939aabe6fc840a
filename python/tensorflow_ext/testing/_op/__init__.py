# SPDX-License-Identifier: Apache-2.0
"""check_op: checks an op in every client, type and mode."""
