# SPDX-License-Identifier: Apache-2.0
"""The thin part: loads the library, registers its gradients in Python and replays their plans."""
