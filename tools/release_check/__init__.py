# SPDX-License-Identifier: Apache-2.0
"""The checks that take hours, for a release: `./run release-check`."""
