# SPDX-License-Identifier: Apache-2.0
"""Gradients that a program replaces for a while, and ops that it writes in NumPy."""
