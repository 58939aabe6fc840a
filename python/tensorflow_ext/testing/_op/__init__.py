# SPDX-License-Identifier: Apache-2.0
"""check_op: an op in every client, type and mode."""
