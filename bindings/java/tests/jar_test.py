"""tensorflow-ext-linux-x86_64.jar with only jars on the class path."""

import concurrent.futures
import os
import pathlib
import re
import zipfile

import commands
import pytest

JARS = [pathlib.Path(os.environ[name]).absolute() for name in ("JAR", "USE_JAR")]
PROPERTIES = "org/tensorflowext/library.properties"
GRADIENT = 0.6


def _run(
    folder: pathlib.Path, mode: str, *flags: str, jar: pathlib.Path = JARS[0], fails: bool = False
) -> str:
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
    return commands.run(*command, cwd=folder, fails=fails)


def _gradient(folder: pathlib.Path, mode: str) -> float:
    return float(_run(folder, mode))


def _error(folder: pathlib.Path, *flags: str, jar: pathlib.Path = JARS[0]) -> str:
    """The message of the exception when the library is loaded."""
    said = _run(folder, "load", *flags, jar=jar, fails=True)
    found = re.search(r"^.*UnsatisfiedLinkError: (.*)$", said, re.MULTILINE)
    assert found, said
    return found[1]


def test_unpacks_once(tmp_path: pathlib.Path) -> None:
    assert _gradient(tmp_path, "load") == pytest.approx(GRADIENT)
    (library,) = (tmp_path / "cache").iterdir()
    assert library.suffix == ".so"
    written = library.stat().st_mtime_ns
    assert _gradient(tmp_path, "threads") == pytest.approx(GRADIENT)
    assert [library] == list((tmp_path / "cache").iterdir())
    assert library.stat().st_mtime_ns == written


def test_processes_at_once(tmp_path: pathlib.Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(3) as callers:
        gradients = list(callers.map(_gradient, [tmp_path] * 3, ["threads"] * 3))
    assert gradients == pytest.approx([GRADIENT] * 3)
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize(("mode", "expected"), [("first", 42), ("second", GRADIENT)])
def test_gradients_of_java(mode: str, expected: float, tmp_path: pathlib.Path) -> None:
    assert _gradient(tmp_path, f"java-{mode}") == pytest.approx(expected)


def test_another_platform(tmp_path: pathlib.Path) -> None:
    said = "tensorflow-ext-linux-x86_64.jar is for Linux on x86_64; this is Linux on riscv64."
    assert _error(tmp_path, "-Dos.arch=riscv64") == said


def _without_library(jar: pathlib.Path, change: tuple[str, str] = ("", "")) -> pathlib.Path:
    """Writes a jar with the classes and the properties alone, in which a text is changed."""
    with zipfile.ZipFile(JARS[0]) as whole, zipfile.ZipFile(jar, "w") as changed:
        for name in whole.namelist():
            if name == PROPERTIES:
                changed.writestr(name, re.sub(*change, whole.read(name).decode()))
            elif name.endswith(".class"):
                changed.writestr(name, whole.read(name))
    return jar


def test_a_jar_without_the_library(tmp_path: pathlib.Path) -> None:
    jar = _without_library(tmp_path / "classes.jar")
    error = _error(tmp_path, jar=jar)
    assert error.startswith(
        f"org/tensorflowext/linux-x86_64/libtensorflow_ext.so is not in file:{jar}, which holds"
    )


def test_another_tensorflow(tmp_path: pathlib.Path) -> None:
    other = _without_library(tmp_path / "other.jar", (r"tensorflow=\S+", "tensorflow=2.17.1"))
    error = _error(tmp_path, jar=other)
    assert re.fullmatch(
        r"This tensorflow-ext-linux-x86_64\.jar is for TensorFlow 2\.17, but the class path has "
        r"TensorFlow 2\.\d+\.\d+ \(tensorflow-core-native\)\.",
        error,
    )


def test_a_cache_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    # A file in place of the folder stops root, too.
    (tmp_path / "cache").write_text("")
    error = _error(tmp_path)
    assert error.startswith(str(tmp_path / "cache"))
    assert "-Dorg.tensorflowext.cachedir=FOLDER names another folder" in error
