"""Makes the wheel of a tree that is built: ./run wheel.

hatchling builds it, auditwheel says for which Linux it is.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import hatch_hooks
import notices
import staging

_ROOT = pathlib.Path(__file__).absolute().parents[2]

# The size limit for the files of one version of TensorFlow, without GPU kernels.
_MOST_BYTES = 10_000_000

# Not in the wheel, because the process that loads the library has them.
_TENSORFLOW = {"libtensorflow_cc.so.2", "libtensorflow_framework.so.2"}

# The section of nvcc's kernels.
_GPU_KERNELS = b".nv_fatbin\0"


class WheelError(Exception):
    """Says what is wrong with the wheel."""


def make(
    root: pathlib.Path, minors: list[str], headers: list[str], third_party: str, out: pathlib.Path
) -> pathlib.Path:
    """Writes the wheel; the same tree gives the same bytes.

    Args:
      root: The tree: a checkout, or Bazel's runfiles.
      minors: The minor versions of TensorFlow whose libraries go into it.
      headers: Paths of the public headers.
      third_party: The licences of third parties.
      out: The folder for the wheel; created if it does not exist.

    Returns:
      The wheel's path.

    Raises:
      staging.StagingError: Something is not built.
      WheelError: The wheel needs a symbol that no Linux promises, or is too large.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary, "tree")
        staging.stage(root, folder, minors, headers)
        folder.joinpath(notices.FILE).write_text(third_party, encoding="utf-8")
        # Only a built wheel tells which platform it is for.
        first = _build(folder, "linux_x86_64", pathlib.Path(temporary, "first"))
        built = _build(folder, _platform(first), pathlib.Path(temporary, "second"))
        # The folder may hold wheels of other versions.
        out.mkdir(parents=True, exist_ok=True)
        wheel = pathlib.Path(shutil.move(built, out.absolute() / built.name))
    for minor, sizes in sizes_of(wheel).items():
        gpu = has_gpu_kernels(root, minor)
        if not gpu and sizes["wheel"] > _MOST_BYTES:
            raise WheelError(
                f"{wheel}: the files for TensorFlow {minor} take {sizes['wheel']:,} "
                f"bytes; without GPU kernels, expected less than {_MOST_BYTES:,}"
            )
    return wheel


def _build(folder: pathlib.Path, platform: str, out: pathlib.Path) -> pathlib.Path:
    """Builds the wheel for a platform, in a folder that does not exist yet."""
    # A date that the user sets for reproducible builds would change the wheel.
    environ = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out],
        cwd=folder,
        env=environ | {hatch_hooks.PLATFORM: platform, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WheelError(f"hatchling cannot build it:\n{done.stdout}{done.stderr}")
    (wheel,) = out.glob("*.whl")
    return wheel


def _platform(wheel: pathlib.Path) -> str:
    """The oldest Linux that has all symbols, according to auditwheel.

    Raises:
      WheelError: No Linux promises them, or another library is needed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WheelError(f"auditwheel cannot read {wheel}:\n{done.stderr}")
    said = json.loads(done.stdout)
    others = sorted(set(said["external_libs"]) - _TENSORFLOW)
    if others:
        raise WheelError(
            f"the library needs {', '.join(others)}, which some Linux systems lack: link "
            "it statically"
        )
    platform = said["sym_tag"]
    if not platform.startswith("manylinux"):
        raise WheelError(
            f"auditwheel finds symbols in the library that no manylinux provides: {platform}"
        )
    return platform


def has_gpu_kernels(root: pathlib.Path, minor: str) -> bool:
    """True if a library was built with nvcc."""
    library = root / staging.PACKAGE / "lib" / minor / staging.LIBRARY
    return _GPU_KERNELS in library.read_bytes()


def sizes_of(wheel: pathlib.Path) -> dict[str, dict[str, int]]:
    """By minor version: the bytes of the library, of the archives, and of everything in the
    wheel."""
    sizes: dict[str, dict[str, int]] = {}
    with zipfile.ZipFile(wheel) as opened:
        for entry in opened.infolist():
            path = pathlib.PurePosixPath(entry.filename)
            if path.parts[1:2] == ("lib",) and len(path.parts) == 4:
                of_minor = sizes.setdefault(
                    path.parts[2], {"library": 0, "archives": 0, "wheel": 0}
                )
                kind = "library" if path.suffix == ".so" else "archives"
                of_minor[kind] += entry.file_size
                of_minor["wheel"] += entry.compress_size
    return sizes


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run wheel", description=__doc__)
    parser.add_argument(
        "--minors", required=True, help="the built minor versions of TensorFlow, such as 2.20,2.21"
    )
    parser.add_argument(
        "--headers", required=True, type=pathlib.Path, help="a file with their paths, one per line"
    )
    parser.add_argument("--out", type=pathlib.Path, default=_ROOT / "dist", help="folder (dist)")
    arguments = parser.parse_args()
    minors = sorted(set(arguments.minors.split(",")), key=hatch_hooks.numbers)
    headers = arguments.headers.read_text(encoding="utf-8").split()
    gpu = any(has_gpu_kernels(_ROOT, minor) for minor in minors)
    try:
        licences = notices.third_party(cuda=gpu)
        wheel = make(_ROOT, minors, headers, licences, arguments.out)
    except (staging.StagingError, notices.NoticesError, WheelError) as error:
        print(f"run: wheel: {error}", file=sys.stderr)
        return 1
    print(table(wheel))
    return 0


def table(wheel: pathlib.Path) -> str:
    """The contents of a wheel for each version of TensorFlow, in bytes."""
    lines = [f"{'TensorFlow':12}{'library':>14}{'archives':>14}{'in the wheel':>14}"]
    for minor, sizes in sizes_of(wheel).items():
        cells = (sizes[name] for name in ("library", "archives", "wheel"))
        lines.append(f"{minor:12}" + "".join(f"{cell:14,}" for cell in cells))
    return "\n".join([*lines, f"{wheel}: {wheel.stat().st_size:,} bytes"])


if __name__ == "__main__":
    sys.exit(main())
