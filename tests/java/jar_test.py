# SPDX-License-Identifier: Apache-2.0
"""tensorflow-ext-linux-x86_64.jar, used with nothing but jars on the class path."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

JARS = [pathlib.Path(os.environ[name]).absolute() for name in ("JAR", "USE_JAR")]
PROPERTIES = "org/tensorflowext/library.properties"
GRADIENT = 0.6


def _start(
    folder: pathlib.Path, mode: str, *flags: str, jar: pathlib.Path = JARS[0]
) -> "subprocess.Popen[str]":
    """A JVM in this folder, which is also the library's cache."""
    jars = [str(jar), str(JARS[1]), os.environ["JAVA_CLASS_PATH"]]
    command = [
        os.environ["JAVA"],
        *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
        f"-Djava.library.path={os.environ['JAVA_LIBRARY_PATH']}",
        "-Dorg.bytedeco.javacpp.pathsFirst=true",
        f"-Dorg.tensorflowext.cachedir={folder / 'cache'}",
        *flags,
        *("-cp", ":".join(jars), "UseJar", mode),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


def _gradient(process: "subprocess.Popen[str]") -> float:
    out, errors = process.communicate()
    assert process.returncode == 0, errors[-2000:]
    return float(out)


def _error(process: "subprocess.Popen[str]") -> str:
    """The message of what is thrown."""
    _, errors = process.communicate()
    found = re.search(r"^.*UnsatisfiedLinkError: (.*)$", errors, re.MULTILINE)
    assert process.returncode == 1, errors[-2000:]
    assert found, errors[-2000:]
    return found[1]


def test_unpacks_once(tmp_path: pathlib.Path) -> None:
    assert _gradient(_start(tmp_path, "load")) == pytest.approx(GRADIENT)
    (library,) = (tmp_path / "cache").iterdir()
    assert library.suffix == ".so"
    written = library.stat().st_mtime_ns
    assert _gradient(_start(tmp_path, "threads")) == pytest.approx(GRADIENT)
    assert [library] == list((tmp_path / "cache").iterdir())
    assert library.stat().st_mtime_ns == written


def test_processes_at_once(tmp_path: pathlib.Path) -> None:
    processes = [_start(tmp_path, "threads") for _ in range(3)]
    assert [_gradient(x) for x in processes] == pytest.approx([GRADIENT] * 3)
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize(("mode", "expected"), [("first", 42), ("second", GRADIENT)])
def test_gradients_of_java(mode: str, expected: float, tmp_path: pathlib.Path) -> None:
    process = _start(tmp_path, f"java-{mode}")
    assert _gradient(process) == pytest.approx(expected)


def test_another_platform(tmp_path: pathlib.Path) -> None:
    error = _error(_start(tmp_path, "load", "-Dos.arch=riscv64"))
    assert error == (
        "tensorflow-ext-linux-x86_64.jar is for Linux on x86_64; this is Linux on riscv64."
    )


def test_another_tensorflow(tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(JARS[0]) as jar, zipfile.ZipFile(other, "w") as changed:
        for name in jar.namelist():
            if name == PROPERTIES:
                text = re.sub(r"tensorflow=\S+", "tensorflow=2.17.1", jar.read(name).decode())
                changed.writestr(name, text)
            elif name.endswith(".class"):
                changed.writestr(name, jar.read(name))
    error = _error(_start(tmp_path, "load", jar=other))
    assert re.fullmatch(
        r"This tensorflow-ext-linux-x86_64\.jar is for TensorFlow 2\.17; that of the "
        r"class path \(tensorflow-core-native\) is 2\.\d+\.\d+\.",
        error,
    )


def test_a_cache_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    # A file in the folder's place stops root, too.
    (tmp_path / "cache").write_text("")
    error = _error(_start(tmp_path, "load"))
    assert error.startswith(str(tmp_path / "cache"))
    assert "-Dorg.tensorflowext.cachedir=FOLDER names another folder" in error


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
