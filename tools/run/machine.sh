# SPDX-License-Identifier: Apache-2.0
#
# Part of ./run: the checkout, the folders for caches, the lock, packages of the system.

# check_checkout: what neither Bazel nor Python's venv gets round, before they begin.
check_checkout() {
  [[ $PWD != *[[:space:]:\'\"\\#\$%]* ]] ||
    die "the checkout is in '$PWD', and Bazel and Python's venv take no path with a space" \
      "or one of : ' \" \\ # \$ % in it: move it to one without."
  [[ -w . ]] ||
    die "$PWD cannot be written, and what is built goes there: clone it to a folder of" \
      "yours (git clone $PWD FOLDER) and run that."
  [[ ! -e $VENV || -w $VENV ]] ||
    die "$VENV belongs to $(stat -c %U "$VENV"): remove it, or run this as" \
      "$(stat -c %U "$VENV")."
}

# cache_folder: for what other checkouts can use too.
cache_folder() { echo "${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tensorflow_ext"; }

# find_home: another HOME where there is none to write to: Bazel and pip keep theirs there.
find_home() {
  local home=${HOME:-}
  [[ ! -d $home || ! -w $home || $home == *[[:space:]]* ]] || return 0
  HOME=${TMPDIR:-/tmp}/tensorflow_ext-home-$(id -u)
  export HOME
  say "HOME is ${home:-not set}, which is no folder to write to (or has a space in" \
    "it): what is kept for the next time goes to $HOME"
}

# find_cache: CACHE, in a home that is there.
find_cache() {
  local home=${HOME:-}
  find_home
  [[ $HOME == "$home" ]] || mkdir -m 700 "$HOME" 2>/dev/null ||
    [[ -d $HOME && -O $HOME && ! -L $HOME ]] ||
    die "$HOME is not to be had either: name a folder, HOME=FOLDER ./run ..."
  CACHE=$(cache_folder)
  mkdir -p "$CACHE" 2>/dev/null && [[ -w $CACHE ]] ||
    die "the cache folder $CACHE cannot be written; XDG_CACHE_HOME names another."
}

# check_machine: once.
check_machine() {
  [[ -z ${CACHE:-} ]] || return 0
  check_checkout
  find_cache
}

# lock, unlock: one ./run at a time installs into a checkout, others wait. It is
# the kernel's, of the folder itself: it ends with the processes that have it.
lock() {
  command -v flock >/dev/null || return 0
  exec {LOCK}<.
  if ! flock --nonblock "$LOCK"; then
    say "another ./run is installing in this checkout: waiting until it has"
    flock "$LOCK"
  fi
}
unlock() {
  [[ -n ${LOCK:-} ]] || return 0
  flock --unlock "$LOCK"
  exec {LOCK}<&-
  LOCK=""
}

may_install() { [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; }

# apt_get ARGUMENT...: waits for others that have its locks, fixes what they left half done.
# In English, which this and why() read.
apt_get() {
  local attempt
  for attempt in {1..60}; do
    LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" && return
    case $(tail -n 5 "$STEP_LOG") in
      *"Could not get lock"* | *"Unable to lock"*)
        echo "another package manager is at work, waiting for it"
        sleep 5
        ;;
      *"dpkg --configure -a"*) dpkg --configure -a ;;
      *) return 1 ;;
    esac
  done
  return 1
}

# What has every Bazel, where the system's package has none that fits.
BAZELISK="Bazelisk (https://github.com/bazelbuild/bazelisk/releases), as bazelisk in a folder of PATH, has them all"

# apt_version PACKAGE: what apt-get would install; nothing where it has none.
apt_version() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *//p' | grep -v '(none)'
}

# A list that cannot be had may be one of a registry that is not needed: installing tells.
apt_update_and_install() {
  local version
  apt_get update
  if [[ " $* " == *" bazel-bootstrap "* ]]; then
    version=$(apt_version bazel-bootstrap)
    case $version in
      [0-3].*) echo "bazel-bootstrap $version is too old: $BAZELISK." && return 1 ;;
    esac
  fi
  apt_get install -y --no-install-recommends "$@"
}

# Those of the packages that there are: Ubuntu has Chromium by other means.
apt_update_and_install_known() {
  local package known=()
  apt_get update
  for package in "$@"; do
    if [[ -n $(apt_version "$package") ]]; then
      known+=("$package")
    else
      echo "this system has no package $package"
    fi
  done
  [[ ${#known[@]} == 0 ]] || apt_get install -y --no-install-recommends "${known[@]}"
}

# apt_install PACKAGE...: Debian packages, if this user may.
apt_install() {
  may_install ||
    die "missing: $*. Install it (Debian, Ubuntu: sudo apt-get install" \
      "--no-install-recommends $*) and run this again."
  step apt "installing $*" apt_update_and_install "$@" || exit
}

# missing_packages COMMAND: those of tools/run/packages.txt whose program is not here.
missing_packages() {
  local command programs package
  while read -r command programs package; do
    [[ $command == "$1" ]] || continue
    # One of several names is enough.
    # shellcheck disable=SC2086
    command -v ${programs//|/ } >/dev/null || printf '%s\n' "$package"
  done < <(grep -v '^#' tools/run/packages.txt)
}

# install_packages: what builds need, all at once and before what takes long.
install_packages() {
  local packages python
  mapfile -t packages < <(missing_packages demo)
  python=$(find_python)
  if [[ $python == /usr/bin/* ]] && ! "$python" -c 'import ensurepip' 2>/dev/null; then
    packages+=("python$(python_version "$python")-venv")
  fi
  [[ ${#packages[@]} == 0 ]] || apt_install "${packages[@]}"
}

# install_if_possible: what tests run beside the build; those that need what is not
# there are left out, and say so.
install_if_possible() {
  local packages
  mapfile -t packages < <(missing_packages test)
  [[ ${#packages[@]} -gt 0 ]] || return 0
  if may_install; then
    step apt "installing ${packages[*]}" apt_update_and_install_known "${packages[@]}" ||
      true # What is still missing, the next lines say.
    mapfile -t packages < <(missing_packages test)
    [[ ${#packages[@]} -gt 0 ]] || return 0
  fi
  say "not here: ${packages[*]}. Tests that need them are left out" \
    "(Debian, Ubuntu: sudo apt-get install --no-install-recommends ${packages[*]})"
}
