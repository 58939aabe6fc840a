# SPDX-License-Identifier: Apache-2.0
"""Whether each op has all that an op needs."""
