"""Writes the packages: the source archive, the Go module, the crate, the Maven artefact.

Their files are bindings/*/package, and the typed ops and optimizers that `python -m tensorflow_ext
wrappers` writes.
"""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from xml.etree import ElementTree

import jinja2

GRAFT = "github.com/wamuir/graft"
_VERSION = re.compile(r'#define TFEXT_VERSION "(.+)"')


class ReleaseError(Exception):
    """Says what is wrong with the release."""


@dataclasses.dataclass(frozen=True)
class Release:
    """The checkout that is packed, and the folder of its packages.

    Attributes:
      root: The checkout.
      out: The folder of the packages.
      time: The time of the commit, as in 2026-11-29T12:00:00Z.
    """

    root: pathlib.Path
    out: pathlib.Path
    time: str

    @property
    def version(self) -> str:
        """The library's version, which all packages have."""
        (found,) = _VERSION.findall((self.root / "tensorflow_ext/version.h").read_text())
        return found

    @property
    def go_module(self) -> str:
        """The path of the Go module."""
        return (self.root / "bindings/go/go.mod").read_text().split()[1]

    @property
    def go_version(self) -> str:
        """The version as Go writes it."""
        return f"v{self.version}"

    @property
    def graft_version(self) -> str:
        """The version of graft that the Go module needs."""
        text = (self.root / "bindings/go/go.mod").read_text()
        return re.findall(rf"{GRAFT} (\S+)", text)[0]

    @property
    def maven(self) -> pathlib.Path:
        """The folder of the Maven artefact, in the layout of a repository."""
        return self.out / "maven/org/tensorflowext/tensorflow-ext" / self.version


@dataclasses.dataclass(frozen=True)
class Package:
    """A package for the bill of materials.

    Attributes:
      file: The file of the package.
      purl: Its package URL.
      needs: The package URLs of the packages that it needs.
    """

    file: pathlib.Path
    purl: str
    needs: list[str]


def run(*command: str | pathlib.Path, cwd: pathlib.Path, **environ: str) -> bytes:
    """The output of a program.

    Raises:
      ReleaseError: It fails.
    """
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=os.environ | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace")[-4000:]
        raise ReleaseError(f"{' '.join(map(str, command))}: status {done.returncode}\n{said}")
    return done.stdout


def sha256(file: pathlib.Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _render(release: Release, language: str, folder: pathlib.Path, **variables: object) -> None:
    """Writes the files of bindings/LANGUAGE/package and the licence into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    for file in (release.root / "bindings" / language / "package").iterdir():
        template = environment.from_string(file.read_text(encoding="utf-8"))
        text = template.render(version=release.version, **variables)
        (folder / file.name).write_text(text, encoding="utf-8")
    shutil.copy(release.root / "LICENSE", folder)


def _wrappers(*arguments: str | pathlib.Path) -> None:
    from tensorflow_ext.__main__ import main as tensorflow_ext  # Takes seconds.

    if tensorflow_ext(["wrappers", *map(str, arguments)]):
        raise ReleaseError(f"wrappers {arguments}: failed, as the line above says")


def _description(release: Release) -> str:
    text = (release.root / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall('^description = "(.*)"$', text, re.MULTILINE)[0]


def wheel(release: Release) -> Package:
    """The wheel, which is already in the folder, and its dependencies."""
    (file,) = release.out.glob("*.whl")
    required = re.findall(r"^Requires-Dist: ([\w-]+)([^;\n]*)$", _metadata(file), re.MULTILINE)
    needs = [f"pkg:pypi/{name}" for name, _ in required]
    return Package(file, f"pkg:pypi/tensorflow-ext@{release.version}", needs)


def _metadata(file: pathlib.Path) -> str:
    with zipfile.ZipFile(file) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return packed.read(name).decode()


def sdist(release: Release) -> Package:
    """The files of the commit, with the wheel's metadata.

    hatchling leaves out what the links of the packages lead to.
    """
    name = f"tensorflow_ext-{release.version}"
    packed = io.BytesIO(
        run("git", "archive", "--format=tar", f"--prefix={name}/", "HEAD", cwd=release.root)
    )
    with tarfile.open(fileobj=packed, mode="a") as tar:
        metadata = _metadata(wheel(release).file).encode()
        about = tarfile.TarInfo(f"{name}/PKG-INFO")
        about.size = len(metadata)
        about.mtime = max(member.mtime for member in tar.getmembers())
        tar.addfile(about, io.BytesIO(metadata))
    file = release.out / f"{name}.tar.gz"
    file.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return Package(file, f"pkg:generic/tensorflow_ext@{release.version}", [])


def go(release: Release) -> Package:
    """The module, in the layout of a module proxy: GOPROXY=file://.../go."""
    module, version = release.go_module, release.go_version
    folder = release.out / "go" / module / "@v"
    folder.mkdir(parents=True)
    manifest = (release.root / "bindings/go/go.mod").read_text()
    about = json.dumps({"Version": version, "Time": release.time})
    for name, text in (
        (f"{version}.info", about),
        (f"{version}.mod", manifest),
        ("list", f"{version}\n"),
    ):
        (folder / name).write_text(text)
    file = folder / f"{version}.zip"
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(temporary)
        _render(release, "go", tree, module=module)
        (tree / "go.mod").write_text(manifest)
        for package, option in (("tfext", []), ("train", ["--train"])):
            (tree / package).mkdir()
            source = tree / package / f"{package}.go"
            _wrappers("--go", *option, "--name", package, "--write", source)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(path for path in tree.rglob("*") if path.is_file()):
                # ZipInfo's default time is constant.
                entry = zipfile.ZipInfo(f"{module}@{version}/{path.relative_to(tree)}")
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, path.read_bytes())
    needs = [f"pkg:golang/{GRAFT}@{release.graft_version}"]
    return Package(file, f"pkg:golang/{module}@{version}", needs)


def cargo_home(folder: pathlib.Path, crates: pathlib.Path) -> dict[str, str]:
    """The environment of a cargo that takes every crate from a folder, as `cargo vendor` fills
    it."""
    folder.mkdir()
    (folder / "config.toml").write_text(
        '[source.crates-io]\nreplace-with = "crates"\n'
        f'[source.crates]\ndirectory = "{crates}"\n[profile.dev]\ndebug = 0\n'
    )
    return {"CARGO_HOME": str(folder), "CARGO_NET_OFFLINE": "true"}


def write_crate(release: Release, folder: pathlib.Path) -> None:
    """Writes the sources of the crate into a folder."""
    manifest = (release.root / "Cargo.toml").read_text(encoding="utf-8")
    rust = dict(re.findall('^([a-z-]+) = "(.*)"$', manifest, re.MULTILINE))
    _render(release, "rust", folder, rust=rust, description=_description(release))
    source = folder / "src"
    source.mkdir()
    (folder / "lib.rs").rename(source / "lib.rs")
    _wrappers("--rust", "--write", source / "ops.rs")
    _wrappers("--rust", "--eager", "--write", source / "eager.rs")
    _wrappers("--rust", "--train", "--write", source / "train.rs")


def crate(release: Release, crates: pathlib.Path) -> Package:
    """The crate, packed by cargo; `crates` has those of Cargo.lock."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary, "crate")
        write_crate(release, folder)
        environ = cargo_home(pathlib.Path(temporary, "home"), crates)
        run("cargo", "package", "--no-verify", cwd=folder, **environ)
        name = f"tensorflow-ext-{release.version}.crate"
        file = pathlib.Path(shutil.copy(folder / "target" / "package" / name, release.out))
        manifest = (folder / "Cargo.toml").read_text()
    needs = re.findall('^([a-z-]+) = "=(.*)"$', manifest, re.MULTILINE)
    return Package(
        file,
        f"pkg:cargo/tensorflow-ext@{release.version}",
        [f"pkg:cargo/{name}@{version}" for name, version in needs],
    )


def maven(release: Release, jar: pathlib.Path) -> Package:
    """The jar and its pom.xml, and the POM that Maven Central lacks."""
    from tensorflow_ext_codegen import config_texts  # Takes seconds.

    name = f"tensorflow-ext-{release.version}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        dependencies = config_texts.java_dependencies()
        description = _description(release)
        _render(release, "java", folder, dependencies=dependencies, description=description)
        release.maven.mkdir(parents=True)
        pom = shutil.copy(folder / "pom.xml", release.maven / f"{name}.pom")
    file = pathlib.Path(shutil.copyfile(jar, release.maven / f"{name}.jar"))
    parent = release.out / "maven" / config_texts.JAVA_PARENT
    parent.parent.mkdir(parents=True)
    parent.write_text(config_texts.JAVA_PARENT_POM)
    for path in (pom, file, parent):
        digest = hashlib.sha1(pathlib.Path(path).read_bytes()).hexdigest()
        pathlib.Path(f"{path}.sha1").write_text(digest)
    needs = []
    for dependency in ElementTree.fromstring(f"<all>{dependencies}</all>"):
        named = {field.tag: field.text for field in dependency}
        kind = f"?classifier={named['classifier']}" if "classifier" in named else ""
        needs.append(f"pkg:maven/{named['groupId']}/{named['artifactId']}@{named['version']}{kind}")
    return Package(file, f"pkg:maven/org.tensorflowext/tensorflow-ext@{release.version}", needs)
