# SPDX-License-Identifier: Apache-2.0
"""The kernels' families: a module each, with its checks, those of large tensors and
its rows of the table of times. A new family is a line here."""

from collections.abc import Iterator

import clip_by_global_norm_checks
import correlation_cost_checks
import embedding_bag_checks
import normalization_checks
import pointwise_checks
import prune_by_magnitude_checks
import resampler_checks
import roi_align_checks
import roi_pool_checks
import rrelu_checks
import sparsemax_checks
from checking import Check
from device import Device
from rows import Row

_FAMILIES = (
    clip_by_global_norm_checks,
    correlation_cost_checks,
    embedding_bag_checks,
    normalization_checks,
    pointwise_checks,
    prune_by_magnitude_checks,
    resampler_checks,
    roi_align_checks,
    roi_pool_checks,
    rrelu_checks,
    sparsemax_checks,
)


def all_checks() -> Iterator[tuple[str, Check]]:
    """(name, check) for every kernel."""
    for family in _FAMILIES:
        yield from family.all_checks()


def large_checks(beyond: int = 2**31) -> Iterator[tuple[str, Check]]:
    """(name, check) for every kernel on tensors of more than `beyond` elements.

    Their values repeat with a period that divides no power of two, so that an
    index that lost its upper bits shows, and a reference of one period is enough.
    They may raise NoMemoryError.
    """
    for family in _FAMILIES:
        for name, check in family.large_checks(beyond):
            yield f"{name}, large", check


def timing_rows(device: Device, size: int) -> Iterator[Row]:
    """Every kernel's rows for tensors of `size` bytes, one at a time: its buffers
    live until the next is asked for."""
    for family in _FAMILIES:
        yield from family.timing_rows(device, size)
