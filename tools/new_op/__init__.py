# SPDX-License-Identifier: Apache-2.0
"""./run new-op: writes an op that builds and passes its tests, and removes it again."""
