# SPDX-License-Identifier: Apache-2.0
"""check_gradient: a gradient against central differences."""
