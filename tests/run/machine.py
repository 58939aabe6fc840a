"""A copy of ./run on a machine. The test decides what the machine has and what fails.

Nothing is downloaded: scripts stand in for pip, apt-get and Bazel, and print what the real ones
printed when they failed in that way.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

_PROGRAMS = re.findall(
    r"\w+",
    """awk bash basename cat chmod cmp cp cut date df dirname env flock grep head id
    install kill ln ls md5sum mkdir mktemp mv nproc readlink rm sed setpriv sha256sum sleep
    sort stat tail tee timeout touch tr true uname wc xargs""",
)

# A virtual environment has a copy of it. FAKE_PIP is the behaviour of pip.
_PYTHON = r"""
here=$(cd "$(dirname "$0")" && pwd)
case "$*" in
  "-m venv --clear "*)
    rm -rf "$4" && mkdir -p "$4/bin" "$4/lib/python3.11/site-packages" &&
      cp "$0" "$4/bin/python" && echo "$0" >"$4/bin/made-by" ;;
  "-m pip "*)
    echo pip >>"$FAKE_LOG"
    eval "$FAKE_PIP" || exit
    mkdir -p "$here/../lib/python3.11/site-packages/tensorflow_cpu-2.21.0.dist-info" ;;
  *sysconfig*) echo "$here/../lib/python3.11/site-packages" ;;
  *importlib.metadata*) echo "$FAKE_CANDIDATE" ;;
  "-m tensorflow_ext "* | *make_wheel.py*) echo "in $PWD" ;;
  *"base_prefix"*) cat "$here/made-by" 2>/dev/null || echo "$0" ;;
  *"import tensorflow"* | *ensurepip*) ;;
  *version_info*) echo 3.11 ;;
  --version) echo Python 3.11.2 ;;
  *) exec "$REAL_PYTHON" "$@" ;;
esac
"""

_BAZEL = r"""
[[ $1 != --version ]] || { echo bazel 4.2.3; exit; }
while [[ $1 == --*=* ]]; do shift; done
[[ $1 == build ]] || exit 0
echo "$HOME" >>"$FAKE_LOG.home"
eval "$FAKE_BAZEL" || exit
prefix=bazel-
for option; do [[ $option != --symlink_prefix=* ]] || prefix=${option#*=}; done
mkdir -p ${prefix}bin/tensorflow_ext/{cc,loader,op_library}
install -D /dev/null ${prefix}bin/python/tensorflow_ext/ops/_modules.py
cd ${prefix}bin/tensorflow_ext
touch loader/libtensorflow_ext_loader.so cc/ops.{cc,h} optimizers.h
touch op_library/libtensorflow_ext_{formula,kernels}.a
echo "built into ${prefix}bin" >libtensorflow_ext.so
"""


class Machine:
    """A checkout and the programs on PATH.

    Attributes:
      checkout: The folder of ./run.
      home: The user's home folder.
    """

    def __init__(self, folder: pathlib.Path, checkout: str = "checkout") -> None:
        self.home = folder / "home"
        self.checkout = folder / checkout
        self._bin = folder / "bin"
        self._log = folder / "log"
        self.home.mkdir()
        self._bin.mkdir()
        for program in _PROGRAMS:
            found = shutil.which(program)
            if found:
                (self._bin / program).symlink_to(found)
        self.program("python3.11", _PYTHON)
        self.program("bazel", _BAZEL)
        for compiler in ("gcc", "g++"):
            self.program(compiler, "")
        self.checkout.mkdir(parents=True)
        for file in ("run", "Cargo.toml"):
            shutil.copy(ROOT / file, self.checkout)
        for part in ("tools", "requirements", "third_party"):
            shutil.copytree(ROOT / part, self.checkout / part, symlinks=False)
        (self.checkout / "python" / "tensorflow_ext").mkdir(parents=True)

    def program(self, name: str, script: str) -> None:
        """Puts a bash script on PATH, in place of a program of the same name."""
        path = self._bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def script(self, name: str) -> str:
        """The path of a program on PATH."""
        return (self._bin / name).read_text()

    def user(self, number: int) -> None:
        """Makes this user the caller; 0 is root."""
        self.program("id", f"echo {number}")

    def without(self, *names: str) -> None:
        """Removes programs from PATH."""
        for name in names:
            (self._bin / name).unlink(missing_ok=True)

    def start(
        self, *arguments: str, program: str = "run", **environment: str | None
    ) -> subprocess.Popen[str]:
        """Starts ./run, or another program of the checkout; a variable that is None is not set."""
        variables = {
            "HOME": str(self.home),
            "PATH": str(self._bin),
            "TMPDIR": str(self.home.parent),
            "FAKE_LOG": str(self._log),
            "FAKE_PIP": "true",
            "FAKE_BAZEL": "true",
            "FAKE_CANDIDATE": "2.22.0rc0",
            "REAL_PYTHON": sys.executable,
            **environment,
        }
        return subprocess.Popen(
            [str(self.checkout / program), *arguments],
            env={name: value for name, value in variables.items() if value is not None},
            cwd=self.home.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self, *arguments: str, program: str = "run", **environment: str | None
    ) -> tuple[int, str]:
        """Waits for start(); returns the exit status and the output."""
        process = self.start(*arguments, program=program, **environment)
        said, _ = process.communicate(timeout=60)
        return process.returncode, said

    def fails(self, *arguments: str, **environment: str | None) -> str:
        """Runs a ./run build that must fail, but not by a fault of ./run; returns its output."""
        status, said = self.run(*(arguments or ("build",)), **environment)
        assert status != 0, said
        assert "unbound variable" not in said, said
        assert ": line " not in said, said
        return said

    def works(self, *arguments: str, **environment: str | None) -> str:
        """Runs a ./run build that must not fail; returns its output."""
        status, said = self.run(*(arguments or ("build",)), **environment)
        assert status == 0, said
        if not arguments:
            assert list(self.checkout.glob("python/tensorflow_ext/lib/*/*.so"))
        return said

    def is_built(self) -> None:
        """The state after ./run build and a first ./run test, which adds the oldest headers."""
        self.works()
        lock = "requirements/tensorflow-cpu-2.18.txt"
        made_from = hashlib.sha256((self.checkout / lock).read_bytes()).hexdigest()
        folder = self.checkout / ".venv" / "tensorflow-2.18"
        folder.mkdir()
        (folder / ".made-from").write_text(f"{made_from}  {lock}\n")

    def pip_runs(self) -> int:
        """The number of calls of pip."""
        return self._log.read_text().count("pip") if self._log.exists() else 0

    def homes(self) -> list[str]:
        """HOME as Bazel saw it, call by call."""
        return pathlib.Path(f"{self._log}.home").read_text().split()
