"""Reads the TensorFlow version that a library file was built for, without loading it."""

import mmap
import pathlib
import re

_STAMP = re.compile(rb"tensorflow_ext (\d[\w.+-]*) for TensorFlow (\d[\w.+-]*)\0")


def read_stamp(library: pathlib.Path) -> tuple[str, str]:
    """Returns the versions stored in a library file (TfExt_Version()).

    Args:
      library: Path of libtensorflow_ext.so.

    Returns:
      Its own version and that of the TensorFlow it was built for.

    Raises:
      ImportError: The file cannot be read or contains no version.
    """
    try:
        with (
            library.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            found = _STAMP.search(content)
            if found:
                return found[1].decode(), found[2].decode()
    except (OSError, ValueError) as error:
        raise ImportError(f"Cannot read {library}: {error}.") from error
    raise ImportError(
        f"{library} is not a tensorflow_ext library: it does not state its "
        "version; rebuild it with './run build'."
    )


def check(library: pathlib.Path, tensorflow_version: str) -> str:
    """Checks that a library file was built for the running TensorFlow.

    TensorFlow's C++ interface changes from one minor version to the next.

    Args:
      library: Path of libtensorflow_ext.so.
      tensorflow_version: `tf.__version__`.

    Returns:
      The version of the library.

    Raises:
      ImportError: The minor versions differ, or the file contains no version.
    """
    version, built_for = read_stamp(library)
    if minor(built_for) != minor(tensorflow_version):
        raise ImportError(
            f"tensorflow_ext {version} ({library}) was built for TensorFlow "
            f"{built_for} and cannot be loaded into TensorFlow "
            f"{tensorflow_version}: rebuild it for this TensorFlow with "
            f"'./run build', or install tensorflow {minor(built_for)}."
        )
    return version


def minor(version: str) -> str:
    """The minor version: "2.21" of "2.21.0"."""
    return ".".join(version.split(".")[:2])
