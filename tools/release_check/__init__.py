# SPDX-License-Identifier: Apache-2.0
"""What takes hours and is done before a release: `./run release-check`."""
