"""./run says what to do when something on the machine fails, and the next call works."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from machine import Machine


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


def says(text: str) -> str:
    """A command that prints the lines of a text and fails."""
    return f"printf '%b\\n' {text!r}; false"


def test_pip_fails(machine: Machine) -> None:
    """The end of its log is shown, whatever its content."""
    lines = [f"line {number}" for number in range(100)]
    said = machine.fails(FAKE_PIP=says("\n".join(lines)))
    assert "failed. The whole log is out/log/pip-tensorflow-cpu" in said
    assert re.findall(r"^  \| (.*)", said, re.MULTILINE) == lines[-20:]
    machine.works()


def test_pip_fills_the_disk(machine: Machine) -> None:
    full = machine.home / "full"
    machine.program("df", f"echo Avail; [[ -e {full} ]] && echo 7M || echo 90000M")
    said = machine.fails(FAKE_PIP=f"touch {full}; false")
    assert f"failed. The disk of {machine.checkout} is full: make room there" in said
    full.unlink()
    machine.works()


@pytest.mark.parametrize(
    ("programs", "what", "log"),
    [
        (["cargo"], "fetching the crates of Cargo.lock", "cargo"),
        (["mvn", "javac"], "installing TensorFlow Java into .venv/java", "maven"),
    ],
)
def test_registry_of_a_language(machine: Machine, programs: list[str], what: str, log: str) -> None:
    (machine.checkout / "Cargo.lock").write_text("version = 4\n")
    machine.is_built()
    machine.program("rustc", "echo 'rustc 1.85.0 (4d91de4e4 2025-02-17)'")
    for program in programs:
        machine.program(program, says("error: failed to sync\n  [6] Could not resolve host"))
    for _ in range(2):
        said = machine.fails("test", "//tests/lint:all")
        assert f"{what}: failed. The whole log is out/log/{log}.log." in said
        assert "  |   [6] Could not resolve host" in said


@pytest.mark.parametrize(
    ("rustc", "version"),
    [
        ("echo rustc 1.63.0", "1.63.0"),
        ("echo 'rustc 1.75.0 (82e1608df 2023-12-21) (built from a source tarball)'", "1.75.0"),
        ("echo 'error: no default toolchain' >&2; exit 1", "not able to run"),
    ],
)
def test_old_rust(machine: Machine, rustc: str, version: str) -> None:
    """The versions of Debian 12 and Ubuntu 24.04, and rustup without a toolchain."""
    machine.is_built()
    machine.program("cargo", "[[ $1 == --version ]] && echo cargo 1.65.0")
    machine.program("rustc", rustc)
    _, said = machine.run("test", "//tests/lint:all")
    assert f"rustc is {version}: Rust programs are skipped" in said
    assert "need 1.85 or newer (https://rustup.rs installs it)" in said
    assert "fetching the crates" not in said
    _, said = machine.run("doctor")
    assert "Its tests are skipped: they need Rust 1.85 or newer" in said


def test_clippy_is_not_needed(machine: Machine) -> None:
    for program, version in (("cargo", "1.85.0"), ("rustc", "1.90.1")):
        machine.program(program, f"echo {program} {version}")
    (machine.checkout / "Cargo.lock").write_text("version = 4\n")
    _, said = machine.run("doctor")
    assert re.search("ok +Rust +1.85.0 .*/cargo, 1.90.1 .*/rustc", said), said
    assert re.search("note +clippy +no cargo-clippy", said), said


def test_pip_is_killed(machine: Machine) -> None:
    half = "touch $here/../half; kill -9 $PPID; kill -9 $$"
    process = machine.start("build", FAKE_PIP=half)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert (machine.checkout / ".venv" / "half").exists()
    machine.works()
    assert not (machine.checkout / ".venv" / "half").exists()
    runs = machine.pip_runs()
    machine.works()
    assert machine.pip_runs() == runs


def test_only_pip_is_killed(machine: Machine) -> None:
    said = machine.fails(FAKE_PIP="kill -9 $$")
    assert "failed, killed by SIGKILL. Run this again." in said
    machine.works()


def test_two_at_once(machine: Machine) -> None:
    """An installation prints its current step every WATCH_SECONDS."""
    slow = "echo Downloading tensorflow; touch $here/../begun; sleep 3"
    first = machine.start("build", FAKE_PIP=slow, WATCH_SECONDS="2")
    while not (machine.checkout / ".venv" / "begun").exists():
        assert first.poll() is None
    second = machine.works()
    said, _ = first.communicate(timeout=60)
    assert first.returncode == 0, said
    assert "another ./run is installing in this checkout: waiting" in second
    assert machine.pip_runs() == 1
    assert re.search("run: [2-9] s: Downloading tensorflow", said)


def test_duration_of_the_last_run(machine: Machine) -> None:
    assert "last time" not in machine.works()
    said = machine.works()
    assert "run: bazel build" in said
    assert "installing" not in said
    shutil.rmtree(machine.checkout / ".venv")
    said = machine.works()
    assert re.search(r"into .venv \(\d+ s last time\); log: out/log/pip-", said)


def test_links_of_another_tensorflow(machine: Machine) -> None:
    """Bazel follows links to its own tree that another prefix has made."""
    machine.works()
    (machine.checkout / "bazel-checkout").symlink_to(machine.home)
    look = "[[ -L bazel-checkout ]] && echo followed || echo left alone; exit 1"
    assert "left alone" in machine.fails("build", "--tf", "2.20", FAKE_BAZEL=look)


@pytest.mark.parametrize("folder", ["with a space", "with:colon"])
def test_path(tmp_path: pathlib.Path, folder: str) -> None:
    said = Machine(tmp_path, folder).fails()
    assert f"/{folder}', but Bazel and Python's venv reject paths that contain a space" in said
    assert len(said.splitlines()) == 1


def test_checkout_cannot_be_written(machine: Machine) -> None:
    machine.checkout.chmod(0o555)
    command = [str(machine.checkout / "run"), "build"]
    if os.access(machine.checkout, os.W_OK):  # Root, until it drops its rights.
        drop = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={drop}", "--inh-caps=-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    machine.checkout.chmod(0o755)
    assert done.returncode == 1
    assert f"{machine.checkout} cannot be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    machine.works()


@pytest.mark.parametrize("home", [None, "/home/nobody/is/here", ""])
def test_no_home(machine: Machine, home: str | None) -> None:
    _, said = machine.run("doctor", HOME=home)
    folder = f"in {machine.home.parent}/tensorflow_ext-home-"
    assert f"MB of disk, {folder}" in said, said
    said = machine.works(HOME=home)
    assert f"HOME is {home or 'not set'}: it cannot be written, or it contains" in said
    machine.works(HOME=home)
    here = machine.homes()
    assert len(set(here)) == 1
    assert pathlib.Path(here[0]).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "not a program"),
        ("", "not a Python"),
        ("[[ $1 != --version ]] || echo Python 3.8.20", "Python 3.8.20"),
        ("[[ $1 != --version ]] || echo Python 3.14.0", "Python 3.14.0"),
    ],
)
def test_python(machine: Machine, script: str | None, said: str) -> None:
    if script is not None:
        machine.program("mine", script)
    sentence = machine.fails(PYTHON="mine")
    assert f"PYTHON=mine is {said}: TensorFlow 2.21 has wheels for Python 3.1" in sentence
    machine.works()


def test_no_rights(machine: Machine) -> None:
    machine.without("g++", "bazel")
    machine.user(1000)
    said = machine.fails()
    assert "missing: g++ bazel-bootstrap. Install it" in said
    assert "sudo apt-get install --no-install-recommends g++ bazel-bootstrap" in said
    assert machine.pip_runs() == 0


def test_apt_fails(machine: Machine) -> None:
    machine.without("g++")
    machine.user(0)
    machine.program("apt-get", "echo E: Failed to fetch; exit 100")
    said = machine.fails()
    assert "  | E: Failed to fetch\n" in said
    assert "installing g++: failed. The whole log is out/log/apt.log." in said


def test_packaged_bazel_is_too_old(machine: Machine) -> None:
    machine.without("bazel")
    machine.user(0)
    machine.program("apt-get", "[[ $* != *install* ]]")
    word = "$([[ $LC_ALL == C ]] && echo Candidate || echo Installationskandidat)"
    machine.program("apt-cache", f'echo "  {word}: 3.5.1+ds-3ubuntu1"')
    said = machine.fails(LC_ALL="C.UTF-8")
    assert "  | bazel-bootstrap 3.5.1+ds-3ubuntu1 is too old: install Bazelisk (https" in said
    assert machine.pip_runs() == 0


def test_small_disk(machine: Machine) -> None:
    machine.program("df", "echo Avail; echo 700M")
    said = machine.fails()
    assert ".venv needs 1900 MB, but the disk of" in said
    assert "has only 700 MB free: make room there, then run this again." in said
    assert machine.pip_runs() == 0


def test_apt_is_locked(machine: Machine) -> None:
    """Another package manager holds the lock twice; ./run waits for it."""
    machine.without("g++")
    machine.user(0)
    machine.program("sleep", "")
    calls = machine.home / "calls"
    machine.program(
        "apt-get",
        f"""
echo "$@" >>{calls}
if (($(wc -l <{calls}) < 3)); then
  [[ $LC_ALL == C ]] && echo 'E: Could not get lock /var/lib/apt/lists/lock.' ||
    echo 'E: Sperre /var/lib/apt/lists/lock konnte nicht bekommen werden.'
  exit 100
fi
[[ "$*" != *" install "* ]] || cp "$(dirname "$0")/gcc" "$(dirname "$0")/g++"
""",
    )
    assert "installing g++" in machine.works(LC_ALL="C.UTF-8")


def test_the_first_usable_bazel_is_chosen(machine: Machine) -> None:
    bazel = machine.script("bazel")
    machine.program("bazel", "echo 'bazel 3.5.1- (@non-git)'")
    said = machine.fails()
    assert "bazel is 'bazel 3.5.1- (@non-git)'. Expected Bazel 4 to 8: install Bazelisk" in said
    assert "Expected 4 to 8; bazelisk downloads any" in machine.run("doctor")[1]
    machine.program("bazelisk", bazel)
    machine.works()
    assert re.search(r"Bazel +4\.2\.3 .*/bazelisk", machine.run("doctor")[1])


def test_bazelisk_alone(machine: Machine) -> None:
    """No package of Bazel is missed."""
    machine.program("bazelisk", machine.script("bazel"))
    machine.without("bazel")
    assert "bazel-bootstrap" not in machine.run("doctor")[1]
    machine.works()


def test_packages_for_tests_that_a_system_lacks(machine: Machine) -> None:
    """The others are installed; the missing ones are named."""
    machine.user(0)
    machine.program(
        "apt-get",
        """
[[ $* == *" install "* ]] || exit 0
[[ $* != *chromium* ]] || exit 100
for program in dot cmake ninja pkg-config git; do
  cp "$(dirname "$0")/gcc" "$(dirname "$0")/$program"
done
""",
    )
    machine.program("apt-cache", "[[ $2 == chromium ]] || echo '  Candidate: 1.0'")
    _, said = machine.run("test")
    assert "missing: chromium. Tests that need them are skipped" in said


@pytest.mark.parametrize(("flags", "cached"), [([], "no"), (["--cached"], "auto")])
def test_results_of_tests(machine: Machine, flags: list[str], cached: str) -> None:
    """Every test runs, unless the command asks for Bazel's cached results."""
    machine.is_built()
    bazel = machine.script("bazel").replace("|| exit 0", '|| { echo "$*"; exit; }')
    machine.program("bazel", bazel)
    _, said = machine.run("test", *flags, "//tests/lint:all")
    assert re.search(f"(?m)^test .*--cache_test_results={cached} .* //tests/lint:all$", said), said
    assert " --cached" not in said


@pytest.mark.parametrize("command", ["config --write .", "wheel --out dist"])
def test_paths_are_relative_to_the_caller(machine: Machine, command: str) -> None:
    assert f"in {machine.home.parent}\n" in machine.works(*command.split())


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (8, "bazel build was interrupted: the next call continues where this one stopped."),
        (37, "bazel build failed. Bazel's server was killed"),
        (1, "bazel build failed. The whole log is"),
    ],
)
def test_bazel_fails(machine: Machine, status: int, sentence: str) -> None:
    assert sentence in machine.fails(FAKE_BAZEL=f"(exit {status})")
    machine.works()


def test_doctor_before(machine: Machine) -> None:
    """It lists what ./run would install, and installs nothing."""
    machine.without("g++", "bazel")
    _, said = machine.run("doctor")
    assert "./run demo would install" in said
    assert "g++ bazel-bootstrap" in said
    assert "1,900 MB of disk" in said
    assert "./run test also would install" in said
    assert "graphviz chromium cmake ninja-build pkgconf git" in said
    assert not (machine.checkout / ".venv").exists()
    assert not (machine.checkout / "out").exists()


def test_a_candidate_of_tensorflow(machine: Machine) -> None:
    """The tests run what was built for it, and it leaves nothing behind."""
    candidate = "tools/release_check/candidate.sh"
    libraries = machine.checkout / "python" / "tensorflow_ext" / "lib"
    machine.works()
    status, said = machine.run(program=candidate, FAKE_BAZEL="echo 'x.h: no'; false")
    assert status == 1, said
    last = said.splitlines()[-1]
    assert last.startswith("candidate: TensorFlow 2.22.0rc0: does not build: "), said
    assert not (libraries / "2.22").exists()
    _, said = machine.run(program=candidate)
    # Bazel runs no test here.
    assert "candidate: TensorFlow 2.22.0rc0: builds; tests fail (above)" in said
    built = (libraries / "2.22" / "libtensorflow_ext.so").read_text()
    assert built == "built into .venv-candidate/bazel-bin\n"
    status, said = machine.run("candidate", program="tools/release_check/clean.sh")
    assert status == 0, said
    assert not (machine.checkout / ".venv-candidate").exists()
    assert [path.name for path in libraries.glob("2.*")] == ["2.21"]
