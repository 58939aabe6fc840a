# SPDX-License-Identifier: Apache-2.0
"""check_gradient: compares a gradient with central differences."""
