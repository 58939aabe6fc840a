"""The checks on the emulator, which replaces the GPU."""

import pathlib

import families

LIBRARY = pathlib.Path(__file__).absolute().parent / "libkernels_emulated.so"
CHECKS = dict(families.all_checks())
BEYOND = 2**19  # elements of a tensor that is large for the emulator
LARGE = dict(families.large_checks(BEYOND))
