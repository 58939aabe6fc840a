"""The licences of third-party code that is compiled into libtensorflow_ext.so."""

import importlib.metadata
import importlib.util
import pathlib
import re

# The library contains inline code of these headers, under these licences. TensorFlow's wheel has
# their texts in a file of sections.
SECTIONS = {
    "Eigen": "MPL-2.0",
    "Farmhash": "MIT",
    "Highwayhash": "Apache-2.0",
    "ml_dtypes": "Apache-2.0",
    "protobuf": "BSD-3-Clause",
}

FILE = "THIRD_PARTY_NOTICES.txt"

_CUDA_RUNTIME = "nvidia-cuda-runtime"

# The separators before and after each section.
_RULE = "-" * 80

_HEAD = """\
libtensorflow_ext.so and the archives next to it contain code from headers that they
were compiled with.

TensorFlow, XLA, TSL: Copyright The TensorFlow Authors and The OpenXLA Authors.
Abseil: Copyright The Abseil Authors. Under the Apache License, Version 2.0, whose text
is in the file LICENSE.

The other projects and their licences follow. The headers of the C++ standard library
come from GCC, under the GNU General Public License with the GCC Runtime Library
Exception.
"""


class NoticesError(Exception):
    """A required licence is not found."""


def third_party(*, cuda: bool) -> str:
    """The text for a wheel.

    Args:
      cuda: True if the library has GPU kernels, and with them the CUDA runtime.

    Raises:
      NoticesError: This interpreter's TensorFlow or CUDA runtime does not include its licences.
    """
    file = _tensorflow() / FILE
    if not file.is_file():
        raise NoticesError(f"{file} does not exist; it must contain the licence of Eigen")
    sections = _sections(file.read_text(encoding="utf-8"))
    text = _HEAD
    for name in SECTIONS:
        if name not in sections:
            raise NoticesError(f"{file} has no section on {name}")
        text += f"\n{_RULE}\n== {name}\n{sections[name]}"
    if cuda:
        text += f"\n{_RULE}\n== CUDA runtime\n\n{_cuda_licence()}"
    return text


def _tensorflow() -> pathlib.Path:
    """The package, found without importing it, which takes seconds."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        raise NoticesError("this interpreter has no TensorFlow")
    return pathlib.Path(spec.submodule_search_locations[0])


def _cuda_licence() -> str:
    try:
        files = importlib.metadata.files(_CUDA_RUNTIME) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "License.txt":
            return file.read_text(encoding="utf-8")
    raise NoticesError(
        "the licence of the CUDA runtime, which the library with GPU kernels contains, was "
        f"not found: pip install {_CUDA_RUNTIME}, which contains it"
    )


def _sections(text: str) -> dict[str, str]:
    found = {}
    for part in re.split(rf"^{_RULE}\n(?=== )", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        body = body.strip("\n").removesuffix(_RULE).rstrip("\n")
        found[title.removeprefix("== ")] = f"{body}\n"
    return found
