# Part of ./run: the interpreter, its virtual environment and the packages in it.

# pip_install LOCK_FILE WHAT FLAG...: installs everything in the lock file, and nothing else. It
# compiles no modules, because compiling all takes minutes; the few that are imported are compiled
# on import.
pip_install() {
  local name log=(--progress-bar=off)
  name=pip-$(basename "$1" .txt)${CHANGES:-}
  [[ ! -t 2 ]] || log=(--log "$LOGS/$name.log")
  STEP_BAR=true step "$name" "$2" "$VENV/bin/python" -m pip install \
    --disable-pip-version-check --no-input --no-compile --no-deps --require-hashes \
    --requirement "$1" "${log[@]}" "${@:3}"
}

# lock_files LOCK_FILE: the file, and the files that it includes.
lock_files() {
  local included
  printf '%s\n' "$1"
  for included in $(sed -n 's/^-r //p' "$1"); do lock_files "${1%/*}/$included"; done
}

# choose_tensorflow MINOR: sets the TensorFlow, its virtual environment and the folder of Bazel's
# output for it. "" chooses the last of the list, in .venv.
choose_tensorflow() {
  local version
  mapfile -t TENSORFLOWS < <(grep -v '^#' requirements/tensorflow_versions.txt)
  for version in "${TENSORFLOWS[@]}"; do
    case ${1:-${TENSORFLOWS[-1]}} in "$version" | "${version%.*}") break ;; esac
    [[ $version != "${TENSORFLOWS[-1]}" ]] ||
      die "--tf $1: expected one of ${TENSORFLOWS[*]%.*}, which have lock files in" \
        "requirements."
  done
  TENSORFLOW=${version%.*}
  PYTHONS=$(sed -n 's/^# Pythons: //p' "requirements/tensorflow-cpu-$TENSORFLOW.txt")
  VENV="$PWD/.venv"
  export BAZEL_BIN="$PWD/bazel-bin"
  if [[ $version != "${TENSORFLOWS[-1]}" ]]; then
    VENV+="-$TENSORFLOW"
    BAZEL_BIN=$VENV/bazel-bin
  fi
  STAMP="$VENV/.made-from"
}

# python_version PYTHON: "3.11", if this Python is among $PYTHONS.
python_version() {
  local version
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
  case " $PYTHONS " in *" $version "*) printf '%s\n' "$version" ;; esac
}

find_python() {
  local candidate candidates=(python3.{11,12,13,10} python3 /usr/bin/python3)
  candidates=("$VENV/bin/python" "${candidates[@]}")
  [[ -z ${PYTHON:-} ]] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if [[ -n $(python_version "$candidate") ]]; then
      # A virtual environment's interpreter would disappear with it.
      "$candidate" -c 'import os, sys; print(os.path.join(sys.base_prefix, "bin",
        "python{}.{}".format(*sys.version_info)))'
      return
    fi
  done
  local takes="TensorFlow $TENSORFLOW has wheels for Python ${PYTHONS// /, }"
  [[ -z ${PYTHON:-} ]] || die "PYTHON=$PYTHON is $(said_version "$PYTHON"): $takes."
  die "none of ${candidates[*]} can be used: $takes. Install one (Debian, Ubuntu: sudo" \
    "apt-get install python3 python3-venv), or name one: PYTHON=/path/to/python${PYTHONS##* }."
}

# said_version PROGRAM: the version that it prints, for an error message.
said_version() {
  local said
  command -v "$1" >/dev/null || { echo "not a program" && return; }
  said=$("$1" --version 2>/dev/null </dev/null | head -n 1) || true
  [[ $said == "Python "* ]] && echo "$said" || echo "not a Python"
}

make_venv() {
  local had="" package lock python version made_from
  version=$(python_version "$VENV/bin/python") || true
  if [[ -n $version ]]; then
    had=$(cd "$VENV/lib/python$version/site-packages" &&
      ls -d tensorflow-[0-9]*.dist-info tensorflow_cpu-[0-9]*.dist-info \
        2>/dev/null | sed 's/-[0-9].*//; s/_/-/; q') || true
  fi
  package=${TF_PACKAGE:-${had:-tensorflow-cpu}}
  [[ $package == tensorflow || $package == tensorflow-cpu ]] ||
    die "TF_PACKAGE=$package: expected tensorflow-cpu or tensorflow."
  lock=requirements/$package-$TENSORFLOW.txt
  python=$(find_python)
  made_from=$(lock_files "$lock" | xargs sha256sum)
  is_made && return
  check_machine
  lock
  # Another ./run may have made it since.
  is_made || timed packages fill_venv
  unlock
}

# is_made: true if .venv matches the lock file and the requested Python.
is_made() {
  [[ $(cat "$STAMP" 2>/dev/null) == "$made_from" &&
    $(python_version "$VENV/bin/python") == "$(python_version "$python")" ]]
}

fill_venv() {
  local name=${VENV##*/} CHANGES=-changes # A shorter step than a full installation.
  install_packages
  # An environment without a stamp was left half made, and pip cannot tell where. The two wheels
  # hold the same files: one must be removed before the other is installed.
  if [[ ! -f $STAMP || $had != "$package" || $version != "$(python_version "$python")" ]]; then
    need_space "$VENV" "$(size_of packages_of_Python)" "$name"
    CHANGES=""
    step venv "making $name by $python" "$python" -m venv --clear "$VENV"
  fi
  rm -f "$STAMP"
  pip_install "$lock" "installing $package $TENSORFLOW into $name"
  printf '%s\n' "$PWD/python" >"$(site_packages)/tensorflow_ext.pth"
  # Tests cannot write into .venv: without this step each would compile TensorFlow's Python again,
  # which triples its import time.
  TF_CPP_MIN_LOG_LEVEL=3 PYTHONDONTWRITEBYTECODE= step import \
    "importing TensorFlow, which compiles its Python" "$VENV/bin/python" -c \
    'import tensorflow as tf; tf.keras.layers, tf.compat.v1'
  printf '%s\n' "$made_from" >"$STAMP"
  RESTART_BAZEL=true
}

site_packages() {
  "$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
}

# install_torch: installs into a separate folder, which the benchmarks put behind .venv's packages,
# because nvcc and TensorFlow need other CUDA libraries.
install_torch() {
  local lock=requirements/torch.txt folder=$VENV/pytorch made_from
  made_from=$(sha256sum "$lock")
  [[ $(cat "$folder/.made-from" 2>/dev/null) == "$made_from" ]] && return
  need_space "$VENV" 8000 PyTorch
  rm -rf "$folder"
  pip_install "$lock" "installing PyTorch: 3 GB to download, 5 GB on disk" --target "$folder"
  printf '%s\n' "$made_from" >"$folder/.made-from"
}

# install_further NAME WHAT: installs the packages of requirements/NAME.txt into .venv, besides the
# others.
install_further() {
  local lock=requirements/$1.txt stamp=$VENV/.$1-made-from made_from
  made_from=$(sha256sum "$lock")
  [[ $(cat "$stamp" 2>/dev/null) == "$made_from" ]] && return
  lock
  rm -f "$stamp"
  pip_install "$lock" "installing $2 into ${VENV##*/}"
  printf '%s\n' "$made_from" >"$stamp"
  unlock
}

# install_oldest_headers: fetches the headers of the oldest TensorFlow, for a compile test.
install_oldest_headers() {
  local version lock folder made_from
  version=${TENSORFLOWS[0]}
  lock=requirements/tensorflow-cpu-${version%.*}.txt
  folder=$VENV/tensorflow-${version%.*}
  made_from=$(sha256sum "$lock")
  [[ $(cat "$folder/.made-from" 2>/dev/null) == "$made_from" ]] && return
  lock
  rm -rf "$folder"
  mkdir -p "$folder"
  if [[ $TENSORFLOW == "${version%.*}" ]]; then
    ln -s "$(site_packages)/tensorflow/include" "$folder/include"
  else
    # The headers are the same for all Pythons; there may be no wheel for this one.
    grep -v '^-r' "$lock" >"$folder/lock.txt"
    step headers "fetching the headers of TensorFlow $version: 230 MB to download" \
      "$VENV/bin/python" -m pip download --disable-pip-version-check --no-input \
      --progress-bar=off --no-deps --require-hashes --requirement "$folder/lock.txt" \
      --dest "$folder" --only-binary :all: --python-version 3.11 \
      --platform manylinux2014_x86_64
    "$VENV/bin/python" - "$folder" <<'PYTHON'
import pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as packed:
    headers = [n for n in packed.namelist() if n.startswith("tensorflow/include/")]
    packed.extractall(folder, headers)
wheel.unlink()
(folder / "tensorflow" / "include").rename(folder / "include")
(folder / "tensorflow").rmdir()
PYTHON
  fi
  printf '%s\n' "$made_from" >"$folder/.made-from"
  unlock
}
