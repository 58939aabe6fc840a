"""The wheel's contents, and its behaviour in an environment without a checkout.

TensorFlow is this interpreter's. tools/wheel/check_wheel.py runs these checks and more in new
environments, one for each Python and each TensorFlow.
"""

import pathlib
import sys
import sysconfig
import zipfile

import acceptance
import check_wheel
import commands
import hatch_hooks
import make_wheel
import notices
import pytest
import staging
import tensorflow as tf
from commit_sampling import share_of_commit

# Under Bazel, the folder of everything that this test may see.
ROOT = pathlib.Path(__file__).absolute().parents[2]
MINOR = ".".join(tf.__version__.split(".")[:2])


def _headers() -> list[str]:
    name = pathlib.Path("tools", "wheel", "public_headers.txt")
    candidates = (ROOT / name, ROOT / "bazel-bin" / name)
    return next(path for path in candidates if path.is_file()).read_text().split()


def _make(out: pathlib.Path) -> pathlib.Path:
    licences = notices.third_party(cuda=False)
    return make_wheel.make(ROOT, [MINOR], _headers(), licences, out)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return _make(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(
    wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> acceptance.Installed:
    prefix = tmp_path_factory.mktemp("environment")
    commands.run(sys.executable, "-m", "venv", "--without-pip", prefix)
    python = prefix / "bin" / "python"
    packages = prefix / pathlib.Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    # Python reads no .pth files in a folder that a .pth file names, so the checkout's is not read.
    (packages / "tensorflow.pth").write_text(sysconfig.get_path("purelib"))
    before = acceptance.files_of(prefix)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    commands.run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    folder = tmp_path_factory.mktemp("folder")
    return acceptance.Installed(python, folder, pip, before)


def test_two_builds_give_the_same_bytes(
    wheel: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1234567890")
    monkeypatch.chdir(tmp_path)
    # A wheel of another version is in the same folder.
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / wheel.name.replace("-", "-9", 1)).touch()
    assert _make(pathlib.Path("dist")).read_bytes() == wheel.read_bytes()
    assert (tmp_path / "dist" / wheel.name).is_file()


@pytest.mark.parametrize(
    ("text", "minors", "message"),
    [
        (None, "2.21", "is not a wheel: [Errno 2] No such file"),
        (b"no zip", "2.21", "is not a wheel: File is not a zip file; expected one that"),
        ({"tensorflow_ext/lib/loader.so": ""}, "2.21", "supports no TensorFlow; expected"),
        ({"tensorflow_ext/lib/2.20/a.so": ""}, "2.2x", "--minors 2.2x: expected some of"),
    ],
)
def test_check_wheel_called_wrongly(
    text: dict[str, str] | bytes | None,
    minors: str,
    message: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "one.whl"
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text:
        with zipfile.ZipFile(path, "w") as opened:
            for name, content in text.items():
                opened.writestr(name, content)
    monkeypatch.setattr(sys, "argv", ["check_wheel.py", str(path), "--minors", minors])
    with pytest.raises(SystemExit, match="2"):
        check_wheel.main()
    assert message in capsys.readouterr().err


def test_contents(wheel: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        (licences,) = (opened.read(name) for name in names if name.endswith(notices.FILE))
    python = ROOT / "python"
    wanted = {
        *(path.relative_to(python).as_posix() for path in python.rglob("*.py")),
        *(f"tensorflow_ext/include/{header}" for header in _headers()),
        *(f"tensorflow_ext/lib/{MINOR}/{name}" for name in (staging.LIBRARY, *staging.ARCHIVES)),
        *("tensorflow_ext/cmake/tensorflow_extConfig.cmake", "tensorflow_ext/py.typed"),
        *(f"tensorflow_ext/lib/{staging.LOADER}", "tensorflow_ext_codegen/config.py"),
        *(f"tensorflow_ext_codegen/{name}/ops.jinja" for name in ("go", "java", "rust")),
    }
    assert wanted <= names
    assert b"Mozilla Public License" in licences
    # TensorFlow's own libraries come with TensorFlow.
    libraries = {pathlib.PurePath(name).name for name in names if ".so" in name}
    assert libraries == {staging.LIBRARY, staging.LOADER}


def test_size(wheel: pathlib.Path) -> None:
    assert list(make_wheel.sizes_of(wheel)) == [MINOR]
    assert MINOR in make_wheel.table(wheel)


@pytest.mark.parametrize(
    ("minors", "wanted"),
    [
        (["2.21"], ">=2.21,<2.22"),
        (["2.18", "2.19", "2.20", "2.21"], ">=2.18,<2.22"),
        (["2.9", "2.11"], ">=2.9,<2.12,!=2.10.*"),
    ],
)
def test_requirement(minors: list[str], wanted: str, tmp_path: pathlib.Path) -> None:
    for minor in reversed(minors):
        folder = tmp_path / "python" / "tensorflow_ext" / "lib" / minor
        folder.mkdir(parents=True)
        (folder / staging.LIBRARY).touch()
    assert hatch_hooks.built_minors(tmp_path) == minors
    assert hatch_hooks.requirement(minors) == wanted


def test_missing_builds(tmp_path: pathlib.Path) -> None:
    with pytest.raises(staging.StagingError, match=r"2\.0/libtensorflow_ext.so: build"):
        make_wheel.make(ROOT, ["2.0"], _headers(), "", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_checkout_alone_makes_no_wheel(tmp_path: pathlib.Path) -> None:
    """Builds as `pip wheel .` does."""
    staging.stage(ROOT, tmp_path, [], [])
    tmp_path.joinpath(notices.FILE).touch()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    assert "use ./run wheel" in commands.run(*build, cwd=tmp_path, fails=True)


_CHECKS = share_of_commit("wheel", [*acceptance.CHECKS], 2, "tools/wheel/")


# The order matters, because the last one removes everything.
@pytest.mark.parametrize("name", [*_CHECKS, *acceptance.LAST_CHECKS])
def test_installed(name: str, installed: acceptance.Installed) -> None:
    (acceptance.CHECKS | acceptance.LAST_CHECKS)[name](installed)
