"""Converts names between the naming conventions of languages."""

import re
from collections.abc import Container


def snake_case(name: str) -> str:
    """`RoiPoolGrad`, `roiPoolGrad`: `roi_pool_grad`."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def pascal_case(name: str) -> str:
    """`roi_pool`: `RoiPool`; capitals within a word are kept."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def camel_case(name: str) -> str:
    """`roi_pool`, `RoiPool`: `roiPool`."""
    name = pascal_case(name)
    return name[:1].lower() + name[1:]


def safe(name: str, taken: Container[str]) -> str:
    """The name, with underscores appended until it is not taken."""
    while name in taken:
        name += "_"
    return name
