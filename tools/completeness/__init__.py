# SPDX-License-Identifier: Apache-2.0
"""Checks that each op is complete."""
