"""./run release: the contents of the packages, and the results of its checks."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import zipfile
from xml.etree import ElementTree

import commands
import pytest
from release import __main__ as command
from release import checks, packages
from release.checks import NotChecked, Place
from release.packages import Release, ReleaseError

import tensorflow_ext
from tensorflow_ext import _compatibility

# Under Bazel this file is a link into the source tree.
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = tensorflow_ext.__version__
CARGO = os.environ.get("CARGO") or shutil.which("cargo")


@pytest.fixture
def release(tmp_path: pathlib.Path) -> Release:
    (tmp_path / "out").mkdir()
    return Release(ROOT, tmp_path / "out", "2026-11-29T12:00:00Z")


def test_go_module(release: Release) -> None:
    """The layout of a module proxy (https://go.dev/ref/mod#goproxy-protocol)."""
    packages.go(release)
    folder = release.out / "go" / "tensorflowext.org" / "go" / "@v"
    assert (folder / "list").read_text() == f"v{VERSION}\n"
    about = json.loads((folder / f"v{VERSION}.info").read_text())
    assert about == {"Version": f"v{VERSION}", "Time": "2026-11-29T12:00:00Z"}
    manifest = (folder / f"v{VERSION}.mod").read_text()
    assert manifest.startswith("module tensorflowext.org/go\n")
    with zipfile.ZipFile(folder / f"v{VERSION}.zip") as packed:
        texts = {name: packed.read(name).decode() for name in packed.namelist()}
    prefix = f"tensorflowext.org/go@v{VERSION}/"
    names = ["LICENSE", "README.md", "go.mod", "tfext/tfext.go", "train/train.go"]
    assert list(texts) == [prefix + name for name in names]
    assert texts[f"{prefix}go.mod"] == manifest
    assert f"go get tensorflowext.org/go/tfext@v{VERSION}" in texts[f"{prefix}README.md"]
    assert "\nfunc Load() error {" in texts[f"{prefix}tfext/tfext.go"]
    assert "\nfunc NewAdam() Adam {" in texts[f"{prefix}train/train.go"]


def test_crate(release: Release, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "crate"
    packages.write_crate(release, folder)
    manifest = (folder / "Cargo.toml").read_text()
    assert re.findall('^version = "(.*)"$', manifest, re.MULTILINE) == [VERSION]
    assert "pub struct GradientTape" in (folder / "src" / "eager.rs").read_text()
    assert "pub struct GradientTape" not in (folder / "src" / "ops.rs").read_text()
    if not CARGO:
        pytest.skip("no cargo: ./run doctor")
    path = f"{pathlib.Path(CARGO).parent}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "CARGO_HOME": str(tmp_path / "home")}
    listed = commands.run(CARGO, "package", "--list", "--offline", cwd=folder, env=environ)
    sources = [f"src/{name}.rs" for name in ("eager", "lib", "ops", "train")]
    manifests = ["Cargo.lock", "Cargo.toml", "Cargo.toml.orig"]
    assert listed.split() == [*manifests, "LICENSE", "README.md", *sources]


def test_maven_artefact(
    release: Release, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compatibility, "TENSORFLOW", "2.21")
    (tmp_path / "built.jar").write_text("a jar")
    package = packages.maven(release, tmp_path / "built.jar")
    assert package.file.name == f"tensorflow-ext-{VERSION}.jar"
    pom = re.sub(r' xmlns="[^"]*"', "", package.file.with_suffix(".pom").read_text())
    project = ElementTree.fromstring(pom)
    assert project.findtext("version") == VERSION
    assert project.find("parent") is None
    assert len(project.findall("dependencies/dependency")) == len(package.needs)
    assert "pkg:maven/org.tensorflow/tensorflow-core-native@1.2.0" in package.needs
    files = [path for path in release.out.rglob("*") if path.suffix in (".jar", ".pom")]
    assert len(files) == 3  # With the parent that Maven Central lacks.
    for path in files:
        digest = hashlib.sha1(path.read_bytes()).hexdigest()
        assert pathlib.Path(f"{path}.sha1").read_text() == digest


def test_a_tree_with_changes(tmp_path: pathlib.Path) -> None:
    commands.run("git", "init", "--quiet", tmp_path)
    command.check_clean(tmp_path)
    for number in range(6):
        (tmp_path / f"file{number}").touch()
    with pytest.raises(ReleaseError, match=r"in no commit: file0, .*file4, \.\.\.; commit or"):
        command.check_clean(tmp_path)


def _fails(place: Place) -> None:
    """A check that fails."""
    place.run("false")


def _passes(place: Place) -> None:
    """A check that passes."""
    assert not list(place.folder.iterdir())


def test_what_is_not_checked_never_passes(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(checks.shutil, "which", lambda program: None)
    chosen = {"passes": _passes, "go": checks.go, "jar": _fails}
    results = command.check(release, chosen, {"jar": "not made: no mvn on PATH"})
    assert results == {
        "passes": ("passed", ""),
        "go": ("not checked", "no go on PATH"),
        "jar": ("not checked", "not made: no mvn on PATH"),
    }
    text = "3 packages: 1 passed, 0 failed, 2 not checked"
    more = f"{text} (go, jar; --allow-unchecked accepts that)"
    assert command.summary(results, allow_unchecked=False) == (more, 1)
    assert command.summary(results, allow_unchecked=True) == (text, 0)
    results |= command.check(release, {"fails": _fails}, {})
    assert results["fails"] == ("failed", "false: status 1\n")
    assert command.summary(results, allow_unchecked=True)[1] == 1


def test_a_registry_that_cannot_be_reached(release: Release, tmp_path: pathlib.Path) -> None:
    place = Place(release, tmp_path / "place", tmp_path / "no python")
    with pytest.raises(NotChecked, match=r"cannot be fetched: sh -c .*\nno such host"):
        place.fetch("sh", "-c", "echo no such host; false")


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--cuda=maybe"], ["--cuda=no", "--publish"]):
        with pytest.raises(SystemExit, match="2"):
            command.main(["--tf", "2.21", *wrong])
    assert "unrecognized arguments: --publish" in capsys.readouterr().err
