# SPDX-License-Identifier: Apache-2.0
"""Loads the library, registers its gradients in Python, and replays their plans."""
