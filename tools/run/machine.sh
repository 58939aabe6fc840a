# Part of ./run: the checkout, the cache folders, the lock, system packages.

# check_checkout: fails early on problems that neither Bazel nor Python's venv can handle.
check_checkout() {
  [[ $PWD != *[[:space:]:\'\"\\#\$%]* ]] ||
    die "the checkout is in '$PWD', but Bazel and Python's venv reject paths that contain a" \
      "space or one of : ' \" \\ # \$ %: move it to another path."
  [[ -w . ]] ||
    die "$PWD cannot be written, but the build writes there: clone it into a folder that" \
      "you can write (git clone $PWD FOLDER), and use that checkout."
  [[ ! -e $VENV || -w $VENV ]] ||
    die "$VENV belongs to $(stat -c %U "$VENV"): remove it, or run this as" \
      "$(stat -c %U "$VENV")."
}

# cache_folder: the folder for files that other checkouts can use, too.
cache_folder() { echo "${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tensorflow_ext"; }

# find_home: sets another HOME if this one cannot be written, because Bazel and pip write there.
find_home() {
  local home=${HOME:-}
  [[ ! -d $home || ! -w $home || $home == *[[:space:]]* ]] || return 0
  HOME=${TMPDIR:-/tmp}/tensorflow_ext-home-$(id -u)
  export HOME
  say "HOME is ${home:-not set}: it cannot be written, or it contains a space. Files for" \
    "the next run go to $HOME"
}

# find_cache: sets CACHE, in a home that exists.
find_cache() {
  local home=${HOME:-}
  find_home
  [[ $HOME == "$home" ]] || mkdir -m 700 "$HOME" 2>/dev/null ||
    [[ -d $HOME && -O $HOME && ! -L $HOME ]] ||
    die "$HOME cannot be used either: name a folder, HOME=FOLDER ./run ..."
  CACHE=$(cache_folder)
  mkdir -p "$CACHE" 2>/dev/null && [[ -w $CACHE ]] ||
    die "the cache folder $CACHE cannot be written; set XDG_CACHE_HOME to another folder."
}

# check_machine: runs the checks once.
check_machine() {
  [[ -z ${CACHE:-} ]] || return 0
  check_checkout
  find_cache
}

# lock, unlock: one ./run at a time installs into a checkout; others wait. The lock is a kernel lock
# on the folder itself, and ends with the processes that hold it.
lock() {
  command -v flock >/dev/null || return 0
  exec {LOCK}<.
  if ! flock --nonblock "$LOCK"; then
    say "another ./run is installing in this checkout: waiting for it"
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

# apt_get ARGUMENT...: waits for other processes that hold its locks, and fixes what they left half
# done. The output is in English, because this function and why() read it.
apt_get() {
  local attempt
  for attempt in {1..60}; do
    LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" && return
    case $(tail -n 5 "$STEP_LOG") in
      *"Could not get lock"* | *"Unable to lock"*)
        echo "another package manager is running: waiting for it"
        sleep 5
        ;;
      *"dpkg --configure -a"*) dpkg --configure -a ;;
      *) return 1 ;;
    esac
  done
  return 1
}

# Bazelisk has every Bazel; used if no system package fits.
BAZELISK="install Bazelisk (https://github.com/bazelbuild/bazelisk/releases) as bazelisk on PATH; it downloads any of them"

# apt_version PACKAGE: the version that apt-get would install; empty if it has none.
apt_version() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *//p' | grep -v '(none)'
}

# A package list that cannot be fetched may not be needed; installing shows whether it is.
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

# Installs the packages that exist: Ubuntu does not have Chromium as a package.
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

# apt_install PACKAGE...: installs Debian packages, if this user may.
apt_install() {
  may_install ||
    die "missing: $*. Install it (Debian, Ubuntu: sudo apt-get install" \
      "--no-install-recommends $*) and run this again."
  step apt "installing $*" apt_update_and_install "$@" || exit
}

# missing_packages COMMAND: the packages of tools/run/packages.txt whose program is missing.
missing_packages() {
  local command programs package
  while read -r command programs package; do
    [[ $command == "$1" ]] || continue
    # One of several names is enough.
    # shellcheck disable=SC2086
    command -v ${programs//|/ } >/dev/null || printf '%s\n' "$package"
  done < <(grep -v '^#' tools/run/packages.txt)
}

# install_packages: installs the packages that builds need, all at once and before long steps.
install_packages() {
  local packages python
  mapfile -t packages < <(missing_packages demo)
  python=$(find_python)
  if [[ $python == /usr/bin/* ]] && ! "$python" -c 'import ensurepip' 2>/dev/null; then
    packages+=("python$(python_version "$python")-venv")
  fi
  [[ ${#packages[@]} == 0 ]] || apt_install "${packages[@]}"
}

# install_if_possible: installs the packages that tests need in addition to the build's. Tests that
# need a missing package are skipped and say so.
install_if_possible() {
  local packages
  mapfile -t packages < <(missing_packages test)
  [[ ${#packages[@]} -gt 0 ]] || return 0
  if may_install; then
    step apt "installing ${packages[*]}" apt_update_and_install_known "${packages[@]}" ||
      true # The next lines report the packages that are still missing.
    mapfile -t packages < <(missing_packages test)
    [[ ${#packages[@]} -gt 0 ]] || return 0
  fi
  say "missing: ${packages[*]}. Tests that need them are skipped" \
    "(Debian, Ubuntu: sudo apt-get install --no-install-recommends ${packages[*]})"
}
