"""Installs each package into an empty folder, as a user does, and runs a first gradient there."""

import pathlib
import shutil
import sys
import tarfile
from collections.abc import Callable

import acceptance

from release import packages
from release.packages import GRAFT, Release, ReleaseError, run

# The derivative of mish at 1, which the examples of Go and Java print.
_GRADIENT = "1.0490363"
_RUST_GRADIENT = "gradient for the data [0.0, 1.0, 0.0, 0.0]"
_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:2.8"


class NotChecked(Exception):
    """Says why a package cannot be checked here."""


class Place:
    """The folder of one check.

    Attributes:
      release: The packages.
      folder: An empty folder.
      python: The interpreter of the environment with the wheel; it exists after `wheel`.
    """

    def __init__(self, release: Release, folder: pathlib.Path, python: pathlib.Path) -> None:
        folder.mkdir()
        self.release, self.folder, self.python = release, folder, python

    def fetch(self, *command: str | pathlib.Path, **environ: str) -> None:
        """Runs a command that fetches a package of others from its registry.

        Raises:
          NotChecked: It cannot be fetched.
        """
        try:
            run(*command, cwd=self.folder, **environ)
        except ReleaseError as error:
            raise NotChecked(f"cannot be fetched: {error}") from error

    def run(self, *command: str | pathlib.Path, **environ: str) -> str:
        """The output of a program in the folder."""
        return run(*command, cwd=self.folder, **environ).decode()

    def example(self, name: str) -> str:
        """The source of an example."""
        return (self.release.root / "bindings" / name).read_text(encoding="utf-8")

    def expect(self, wanted: str, printed: str) -> None:
        """Checks the output of an example."""
        if wanted not in printed:
            raise ReleaseError(f"the example printed {printed!r}; expected {wanted!r} in it")


def _need(*programs: str) -> None:
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise NotChecked(f"no {' and no '.join(missing)} on PATH")


def wheel(place: Place) -> None:
    """pip install, in a new environment."""
    import tensorflow as tf

    run(sys.executable, "-m", "venv", place.python.parents[1], cwd=place.folder)
    pip = [str(place.python), "-m", "pip", "--disable-pip-version-check"]
    place.fetch(*pip, "install", "--no-compile", f"tensorflow-cpu=={tf.__version__}")
    (file,) = place.release.out.glob("*.whl")
    place.run(*pip, "install", "--no-compile", f"{file}[tensorflow-cpu]")
    try:
        installed = acceptance.Installed(place.python, place.folder, pip, set())
        acceptance.CHECKS["python"](installed)
    except acceptance.AcceptanceError as error:
        raise ReleaseError(str(error)) from error


def sdist(place: Place) -> None:
    """The files of the commit, from which ./run wheel makes the wheel."""
    (file,) = place.release.out.glob("*.tar.gz")
    with tarfile.open(file) as tar:
        tar.extractall(place.folder)
    (folder,) = place.folder.iterdir()
    paths = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    files = {str(path.relative_to(folder)) for path in paths}
    tracked = run("git", "ls-files", "-z", cwd=place.release.root).decode().split("\0")
    if files ^ {*filter(None, tracked), "PKG-INFO"}:
        raise ReleaseError(f"{file}: its files are not those of the commit")
    run(folder / "run", "help", cwd=folder)


def _config(place: Place, kind: str, folder: str) -> str:
    """Writes the build settings of a language; returns what the command prints."""
    if not place.python.is_file():
        raise NotChecked("the wheel is not installed")
    command = ["-I", "-m", "tensorflow_ext", "config", kind, "--write", folder]
    return place.run(place.python, *command, TF_CPP_MIN_LOG_LEVEL="3")


def go(place: Place) -> None:
    """go get, from the module proxy in the release's folder."""
    _need("go")
    exports = _config(place, "--go", "tensorflow")
    module = place.release.go_module
    registry = place.run("go", "env", "GOPROXY").strip()
    environ = {
        "GOPROXY": f"file://{place.release.out}/go,{registry}",
        "GONOSUMDB": module,
        "GOFLAGS": "-mod=mod -modcacherw",
        "GOMODCACHE": str(place.folder / "modules"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    (place.folder / "main.go").write_text(place.example("go/examples/first_gradient/main.go"))
    place.run("go", "mod", "init", "example", **environ)
    place.fetch("go", "mod", "download", f"{GRAFT}@{place.release.graft_version}", **environ)
    build = (
        f"go get {module}/tfext@{place.release.go_version} && go mod tidy && "
        f"go vet . {module}/tfext {module}/train && go build -o program . && ./program"
    )
    place.expect(_GRADIENT, place.run("bash", "-c", f"{exports}\n{build}", **environ))


def rust(place: Place) -> None:
    """A crate that depends on this one, from a registry with the crates of Cargo.lock."""
    _need("cargo")
    crates = place.folder / "crates"
    crates.mkdir()
    for folder in vendored(place.release).iterdir():
        (crates / folder.name).symlink_to(folder)
    (file,) = place.release.out.glob("*.crate")
    with tarfile.open(file) as tar:
        tar.extractall(crates)
    checksum = f'{{"files": {{}}, "package": "{packages.sha256(file)}"}}'
    (crates / file.stem / ".cargo-checksum.json").write_text(checksum)
    environ = packages.cargo_home(place.folder / "home", crates)
    _config(place, "--cargo", ".")
    place.run("cargo", "init", "--quiet", "--name", "example", **environ)
    place.run("cargo", "add", "--quiet", f"tensorflow-ext@{place.release.version}", **environ)
    place.run("cargo", "add", "--quiet", "tensorflow", **environ)
    main = place.example("rust/examples/first_gradient/src/main.rs")
    (place.folder / "src" / "main.rs").write_text(main.replace("mod tensorflow_ext;\n", ""))
    place.expect(_RUST_GRADIENT, place.run("cargo", "run", "--quiet", **environ))
    features = ["--quiet", "--features", "tensorflow-ext/eager"]
    place.run("cargo", "check", *features, **environ)


def vendored(release: Release) -> pathlib.Path:
    """The folder of the crates of Cargo.lock, which ./run fetches.

    Raises:
      NotChecked: ./run could not fetch them.
    """
    folder = pathlib.Path(sys.prefix, "rust", "crates")
    if not folder.is_dir():
        raise NotChecked("the crates of Cargo.lock are not there; ./run said why")
    return folder


def java(place: Place) -> None:
    """mvn package, with an empty local repository."""
    _need("java", "mvn")
    mvn = ["mvn", "-B", "-q", f"-Dmaven.repo.local={place.folder / 'local'}"]
    sources = place.folder / "src" / "main" / "java"
    sources.mkdir(parents=True)
    (sources / "FirstGradient.java").write_text(place.example("java/examples/FirstGradient.java"))
    (place.folder / "pom.xml").write_text(_POM.format(release=place.release))
    place.fetch(
        *mvn, f"{_DEPENDENCY_PLUGIN}:get", "-Dartifact=org.tensorflow:tensorflow-core-api:1.1.0"
    )
    path = f"-Dmdep.outputFile={place.folder / 'path'}"
    place.run(*mvn, "package", f"{_DEPENDENCY_PLUGIN}:build-classpath", path)
    classes = f"{place.folder / 'target/classes'}:{(place.folder / 'path').read_text().strip()}"
    cache = f"-Dorg.tensorflowext.cachedir={place.folder / 'cache'}"
    place.expect(_GRADIENT, place.run("java", cache, "-cp", classes, "FirstGradient"))


_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>example</groupId>
<artifactId>example</artifactId>
<version>1</version>
<repositories>
  <repository><id>release</id><url>file://{release.out}/maven</url></repository>
</repositories>
<properties>
  <maven.compiler.source>11</maven.compiler.source>
  <maven.compiler.target>11</maven.compiler.target>
  <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
</properties>
<dependencies>
  <dependency>
    <groupId>org.tensorflowext</groupId>
    <artifactId>tensorflow-ext</artifactId>
    <version>{release.version}</version>
  </dependency>
</dependencies>
</project>
"""

#: The check of each package; the wheel's comes first, because others use its environment.
CHECKS: dict[str, Callable[[Place], None]] = {
    "wheel": wheel,
    "sdist": sdist,
    "go": go,
    "rust": rust,
    "java": java,
}
