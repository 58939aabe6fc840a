"""`python -m tensorflow_ext config`: the output and the files, used as users use them.

All files are written to folders with a space in their names.
"""

import os
import pathlib
import re
import shutil
import stat
import sys
from collections.abc import Callable
from xml.etree import ElementTree

import commands
import pytest
import tensorflow as tf
from commit_sampling import turn_of_commit

import tensorflow_ext
from tensorflow_ext import _compatibility, sysconfig
from tensorflow_ext.__main__ import main
from tensorflow_ext._runtime import _library

BINDINGS = pathlib.Path(__file__).absolute().parents[2] / "bindings"
# Under Bazel this file is a link into the source tree.
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = str(_library.PATH)
RESULT = f"TensorFlow {tf.__version__} has TfExt>Relu\n"
# An environment where programs find only what the command says.
PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TF_CPP_MIN_LOG_LEVEL": "3"}
# The linker of the other tests (pytest_main.py).
QUICK = {name: os.environ[name] for name in ("COMPILER_PATH",) if name in os.environ}
# Each commit builds some of the programs; one that changes such a file builds all of them.
CHANGES = ("codegen/config", "/sysconfig.py", "/cmake/", "tests/config/", "/config_program/")

Config = Callable[..., str]


def run(
    command: str | list[str], folder: pathlib.Path, linker: dict[str, str] = QUICK, **environ: str
) -> str:
    """Runs a command, by the shell if it is a string; returns its output."""
    words = ["/bin/bash", "-c", command] if isinstance(command, str) else command
    return commands.run(*words, cwd=folder, env=PLAIN | linker | environ)


def needs(name: str) -> pytest.MarkDecorator:
    """Marks a test that needs a tool; Bazel finds the tools of languages."""
    there = os.environ.get(name.upper(), shutil.which(name))
    return pytest.mark.skipif(not there, reason=f"no {name}: ./run doctor")


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "a folder"
    for program in BINDINGS.glob("*/config_program"):
        shutil.copytree(program, folder / program.parent.name)
    return folder


@pytest.fixture
def config(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Config:
    """Runs the command in a folder; returns its output or its error."""

    def call(*arguments: str, fails: bool = False) -> str:
        monkeypatch.chdir(folder)
        status = main(["config", *arguments])
        printed = capsys.readouterr()
        assert status == int(fails), printed.err
        return printed.err if fails else printed.out.removesuffix("\n")

    return call


@pytest.fixture
def spaced(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This library and TensorFlow, in folders with a space in their names."""
    for module, name in (
        (sysconfig, "get_lib"),
        (sysconfig, "get_include"),
        (tf.sysconfig, "get_lib"),
    ):
        link = tmp_path / f"of {module.__name__} {name}"
        link.symlink_to(getattr(module, name)())
        monkeypatch.setattr(module, name, lambda link=link: str(link))
    include = f"{tf.sysconfig.get_lib()}/include"
    monkeypatch.setattr(tf.sysconfig, "get_include", lambda: include)
    flags = [f"-I{include}", "-D_GLIBCXX_USE_CXX11_ABI=1", "--std=c++17"]
    monkeypatch.setattr(tf.sysconfig, "get_compile_flags", lambda: flags)


# ----- C and C++.


def test_c(config: Config, folder: pathlib.Path) -> None:
    run(f"cc -Wall -Werror c/program.c {config('--c')} -o program", folder, linker={})
    # The library is linked, so the program loads nothing.
    assert run(["./program"], folder) == RESULT


@pytest.mark.usefixtures("spaced")
def test_c_and_paths_with_spaces(config: Config, folder: pathlib.Path) -> None:
    error = config("--c", fails=True)
    assert "has a space" in error
    assert "--write FOLDER writes a file instead" in error
    run(f"cc -Wall c/program.c {config('--c', '--write=flags')} -o program", folder)
    assert run(["./program"], folder) == RESULT


def cxx(config: Config, folder: pathlib.Path) -> None:
    run(f"c++ -Wall -Werror cxx/program.cc {config('--cxx')} -o program", folder)
    assert run(["./program"], folder) == RESULT


def cmake(config: Config, folder: pathlib.Path) -> None:
    # test_run_passes_it_on checks the output without --write.
    flags = config("--cmake", "--write=for cmake")
    # As Debian's compilers do.
    flags += " -DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed"
    run(f"cmake {flags} -S cxx -B build && cmake --build build", folder)
    for program in ("build/program", "build/c_program"):
        assert run([program], folder) == RESULT


@pytest.mark.parametrize(
    "build", turn_of_commit("C++", (cxx, pytest.param(cmake, marks=needs("cmake"))), *CHANGES)
)
def test_cxx(build: Callable[..., None], config: Config, folder: pathlib.Path) -> None:
    build(config, folder)


@needs("pkg-config")
@pytest.mark.parametrize("package", ["tensorflow_ext", "tensorflow"])
def test_pkg_config(package: str, config: Config, folder: pathlib.Path) -> None:
    exports = config("--pkg-config", "--write=for pkg-config")
    flags = f"$(pkg-config --cflags --libs {package})"
    run(f'{exports}; eval "cc -Wall c/program.c {flags} -o program"', folder)
    # tensorflow.pc is for bindings, which load this library themselves.
    loaded = [LIBRARY] if package == "tensorflow" else []
    assert run(["./program", *loaded], folder) == RESULT
    versions = {"tensorflow_ext": tensorflow_ext.__version__, "tensorflow": tf.__version__}
    found = run(f"{exports}; pkg-config --modversion {package}", folder)
    assert found.strip() == versions[package]


@pytest.mark.parametrize(
    ("kind", "file"), [("--pkg-config", "tensorflow_ext.pc"), ("--cargo", ".cargo/config.toml")]
)
def test_the_written_settings_are_printed(
    kind: str, file: str, config: Config, folder: pathlib.Path
) -> None:
    printed = config(kind)
    config(kind, "--write=.")
    assert (folder / file).read_text().rstrip("\n") == printed


# ----- Languages above C, whose programs load this library.


def go(config: Config, folder: pathlib.Path) -> None:
    exports = config("--go", "--write=for go")
    tool = os.environ.get("GO", "go")
    cache = os.environ.get("GOCACHE", str(pathlib.Path.home() / ".cache/go-build"))
    isolated = "export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local"
    run(f"{exports}; {isolated}; {tool} build .", folder / "go", GOCACHE=cache)
    assert run(f"{exports}; ./program", folder / "go") == RESULT
    hint, _, printed = config("--go").partition("\n")
    assert hint.startswith("# For -ltensorflow")
    assert printed == exports.replace(f' "-L{folder}/for go"', "")


def cargo(config: Config, folder: pathlib.Path) -> None:
    config("--cargo", "--write=rust")
    tool = os.environ.get("CARGO", "cargo")
    path = f"{pathlib.Path(tool).parent}:{PLAIN['PATH']}"
    command = [tool, "run", "--offline", "--quiet"]
    home = str(folder / "home")
    assert run(command, folder / "rust", PATH=path, CARGO_HOME=home) == RESULT


def maven_project(folder: pathlib.Path) -> ElementTree.Element:
    """The pom.xml of a folder, with elements that are found by name, without a namespace."""
    text = (folder / "pom.xml").read_text()
    return ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", text))


@pytest.fixture
def a_tensorflow_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow Java has no release for some versions."""
    monkeypatch.setattr(_compatibility, "TENSORFLOW", "2.21")


@needs("mvn")
@pytest.mark.usefixtures("a_tensorflow_of_java")
def test_maven_reads_the_project(config: Config, folder: pathlib.Path) -> None:
    config("--java", "--write=java")
    run("mvn --offline --quiet validate", folder / "java", HOME=str(folder))
    project = (folder / "java" / "pom.xml").read_text()
    printed = config("--java")
    assert printed[printed.index("<dependencies>") :] in project
    # Maven needs the parent of each dependency, and Maven Central lacks one.
    (parent,) = (folder / "java" / "repository").rglob("*.pom")
    assert "<version>1.2.0</version>" in parent.read_text()
    assert (
        maven_project(folder / "java")
        .findtext("repositories/repository/url")
        .endswith("/repository")
    )


@pytest.mark.parametrize("minor", ["2.18", "2.21"])
def test_java_dependencies_are_those_of_the_tests(
    minor: str, config: Config, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compatibility, "TENSORFLOW", minor)
    config("--java", "--write=java")
    named = set()
    for dependency in maven_project(folder / "java").iter("dependency"):
        parts = [dependency.findtext(name) for name in ("groupId", "artifactId", "version")]
        classifier = dependency.findtext("classifier")
        named.add(":".join([*parts, "jar", classifier] if classifier else parts))
    lock = (ROOT / "requirements" / f"java-{minor}.txt").read_text().splitlines()
    assert named == {line.split()[1] for line in lock if not line.startswith("#")}


def java(config: Config, folder: pathlib.Path) -> None:
    config("--java", "--write=java")
    library = maven_project(folder / "java").findtext("properties/tensorflow_ext.library")
    jars = os.environ["JAVA_CLASS_PATH"]
    flags = [
        f"-Djava.library.path={os.environ['JAVA_LIBRARY_PATH']}",
        "-Dorg.bytedeco.javacpp.pathsFirst=true",
    ]
    # The Python package alone suffices: no jar of this library is on the class path.
    package = ["--name", "org.tensorflowext.op"]
    assert main(["wrappers", "--java", *package, "--write", str(folder / "java" / "ops")]) == 0
    compiler = [os.environ["JAVAC"], "-Xlint:all", "-Werror", "-d", "."]
    sources = ["Program.java", "ops/TfExtLibrary.java"]
    run([*compiler, "-cp", jars, *sources], folder / "java")
    flags.append(f"-Dtensorflow_ext.library={library}")
    command = [os.environ["JAVA"], *flags, "-cp", f"{jars}:.", "Program"]
    assert run(command, folder / "java") == RESULT


@pytest.mark.usefixtures("spaced")
@pytest.mark.parametrize(
    "language",
    turn_of_commit(
        "languages",
        [pytest.param(test, marks=needs(test.__name__)) for test in (go, cargo, java)],
        *CHANGES,
    ),
)
def test_language(language: Callable[..., None], config: Config, folder: pathlib.Path) -> None:
    language(config, folder)


def test_java_of_each_tensorflow(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    for minor, release in (("2.18", "1.1.0"), ("2.21", "1.2.0")):
        monkeypatch.setattr(_compatibility, "TENSORFLOW", minor)
        natives = re.findall(r"core-native</artifactId>\s*<version>(.*?)<", config("--java"))
        assert natives == [release, release]
    monkeypatch.setattr(_compatibility, "TENSORFLOW", "2.19")
    error = config("--java", fails=True)
    assert "TensorFlow Java has releases for TensorFlow 2.18 and 2.21" in error


# ----- Errors.


def test_no_folder_to_write_into(config: Config, folder: pathlib.Path) -> None:
    error = config("--go", "--write=no/where", fails=True)
    assert f"there is no folder {folder}/no; create it first" in error


@pytest.mark.usefixtures("a_tensorflow_of_java")
def test_other_files_are_kept(config: Config, folder: pathlib.Path) -> None:
    path = folder / ".cargo" / "config.toml"
    path.parent.mkdir()
    path.write_text("# mine\n")
    error = config("--cargo", "--write=.", fails=True)
    assert f"{path} exists and was not written by this command; add the" in error
    assert path.read_text() == "# mine\n"
    path.unlink()
    config("--cargo", "--write=.")
    written = path.read_text()
    path.write_text(f"{written}# more\n")
    config("--cargo", "--write=.")
    assert path.read_text() == written
    # The user owns the project from the beginning.
    for _ in range(2):
        config("--java", "--write=.")
    (folder / "pom.xml").write_text("<project/>")
    assert "pom.xml exists" in config("--java", "--write=.", fails=True)


def test_no_permission(config: Config, folder: pathlib.Path) -> None:
    (folder / "file").write_text("")
    error = config("--go", "--write=file", fails=True)
    assert f"{folder}/file/libtensorflow.so cannot be written" in error
    closed = folder / "closed"
    closed.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    if os.getuid() == 0:  # permissions do not stop root
        closed = pathlib.Path("/proc")
    error = config("--go", f"--write={closed}", fails=True)
    assert f"{closed}/libtensorflow.so cannot be written" in error


def test_no_headers(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "_PACKAGE", pathlib.Path("/nowhere/package"))
    for kind in ("--c", "--cxx", "--pkg-config", "--go"):
        assert "install tensorflow_ext with its headers" in config(kind, fails=True)


def test_unquotable_characters(config: Config) -> None:
    for character in "\"'\\$,;:#`&(":
        error = config("--go", f"--write=a{character}b", fails=True)
        assert f"contains {character!r}, which compilers" in error


def test_one_language_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--c", "--go"]):
        with pytest.raises(SystemExit) as exit:
            main(["config", *arguments])
        assert exit.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err


def test_run_passes_it_on(tmp_path: pathlib.Path) -> None:
    """`./run config` prints what the command prints, and nothing else."""
    # Needs a built checkout, because Bazel is running in this one.
    shutil.copy(ROOT / "run", tmp_path)
    for folder in ("tools/run", "requirements"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    venv = tmp_path / pathlib.Path(sys.prefix).name
    venv.symlink_to(sys.prefix)
    minor = pathlib.Path(LIBRARY).parts[-2]
    folder = tmp_path / "python" / "tensorflow_ext" / "lib" / minor
    folder.mkdir(parents=True)
    (folder / "libtensorflow_ext_kernels.a").touch()
    printed = run(["./run", "config", "--tf", minor, "--cmake"], tmp_path)
    python = venv / "bin" / "python"
    assert printed == (
        f"-Dtensorflow_ext_DIR={ROOT}/python/tensorflow_ext/cmake -DPython3_EXECUTABLE={python}\n"
    )
