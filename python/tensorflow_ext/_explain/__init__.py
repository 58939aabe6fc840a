# SPDX-License-Identifier: Apache-2.0
"""Explains and draws the gradient that an op has in each client."""
