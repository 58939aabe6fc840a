# SPDX-License-Identifier: Apache-2.0
"""./run release."""
