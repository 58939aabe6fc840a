# SPDX-License-Identifier: Apache-2.0
"""Explains which gradient an op has in each client, and draws it."""
