#!/usr/bin/env bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'HELP'
Usage: tools/release_check/bare_machine.sh [--suite=SUITE] [--folder=FOLDER] [--keep]
                                           [--with=FILE] [COMMAND]...

Makes a root file system of Debian or Ubuntu that contains only Python 3 and
ca-certificates, clones the last commit of this checkout into it, and runs each COMMAND
there as root, in its own mount and process namespace: no process outlives it. Without
arguments, the commands are ./run doctor, ./run demo and ./run test, in this order.
The last lines are a table of the results; exits with 1 if a command failed.

  --suite=SUITE    bookworm (Debian 12, Python 3.11; the default), trixie (Debian 13,
                   Python 3.13), jammy (Ubuntu 22.04, Python 3.10) or noble (Ubuntu
                   24.04, Python 3.12)
  --folder=FOLDER  the folder of the root, 15 GB (default: a new folder in TMPDIR); an
                   existing root is used as it is
  --keep           keep the folder
  --with=FILE      copy FILE next to the clone: ../FILE for the commands

Needs root, debootstrap, and access to a mirror (DEBIAN_MIRROR, UBUNTU_MIRROR) and PyPI.
The environment of pip and other clients (PIP_*, *_PROXY, SSL_CERT_FILE, ...) also applies
there.
HELP
}

say() { printf '%s\n' "bare_machine: $*" >&2; }
die() {
  say "$@"
  exit 1
}

# The home of the user who runs the commands, in the new root.
HOME_THERE=/root

# make_root SUITE FOLDER: installs a system; debootstrap caches its downloads.
make_root() {
  local debs=${XDG_CACHE_HOME:-$HOME/.cache}/tensorflow_ext/debootstrap/$1
  mkdir -p "$debs"
  debootstrap --variant=minbase --include=python3,ca-certificates --cache-dir="$debs" \
    --components="$COMPONENTS" "$1" "$2" "$MIRROR" "$SCRIPT"
  if [[ -d ${PIP_FIND_LINKS:-} ]]; then
    mkdir -p "$2$PIP_FIND_LINKS"
    cp -a "$PIP_FIND_LINKS/." "$2$PIP_FIND_LINKS"
  fi
  # Files with which this machine reaches the registries.
  cp -L /etc/resolv.conf /etc/hosts "$2/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/"
  [[ ! -f /etc/pip.conf ]] || cp -L /etc/pip.conf "$2/etc/"
  printf '%s\n' "$MIRROR" >"$2/.made-by-bare-machine"
}

# run_in ROOT COMMAND: runs the command as in a new login.
run_in() {
  local passed=(HOME="$HOME_THERE" LANG=C.UTF-8 TERM="${TERM:-dumb}"
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin) variable
  for variable in $(compgen -e); do
    case $variable in
      PIP_* | *_PROXY | *_proxy | SSL_CERT_FILE | SSL_CERT_DIR | REQUESTS_CA_BUNDLE | \
        CURL_CA_BUNDLE) passed+=("$variable=${!variable}") ;;
    esac
  done
  chroot "$1" /usr/bin/env -i "${passed[@]}" \
    /bin/bash -c "cd $HOME_THERE/tensorflow_ext && $2" </dev/null
}

# in_namespace ROOT: mounts and runs; the kernel ends both with the namespace.
in_namespace() {
  local root=$1 command started status failed=0 table=()
  shift
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/dev/shm"
  for command in "$@"; do
    say "$command"
    started=$SECONDS
    status=0
    run_in "$root" "$command" || status=$?
    [[ $status == 0 ]] || failed=1
    table+=("$(printf '%6d s  exit %-3d  %s' $((SECONDS - started)) $status "$command")")
  done
  printf '%s\n' "" "$(run_in "$root" '. /etc/os-release; echo "$PRETTY_NAME,"; python3 --version')" \
    "${table[@]}"
  return $failed
}

if [[ ${1:-} == --in-namespace ]]; then
  trap 'exit 130' INT TERM # The first process of a namespace otherwise ignores them.
  in_namespace "${@:2}"
  exit
fi

SUITE=bookworm FOLDER="" KEEP=false WITH="" COMMANDS=()
for argument in "$@"; do
  case $argument in
    --suite=*) SUITE=${argument#--suite=} ;;
    --folder=*) FOLDER=$(realpath -m "${argument#--folder=}") ;;
    --keep) KEEP=true ;;
    --with=*) WITH=${argument#--with=} ;;
    -h | --help) usage && exit ;;
    -*) die "$argument: expected --suite=SUITE, --folder=FOLDER, --keep, --with=FILE." ;;
    *) COMMANDS+=("$argument") ;;
  esac
done
[[ ${#COMMANDS[@]} -gt 0 ]] || COMMANDS=("./run doctor || true" "./run demo" "./run test")
SCRIPT=/usr/share/debootstrap/scripts/sid COMPONENTS=main
MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
case $SUITE in
  bookworm | trixie) ;;
  jammy | noble) # One script for every Ubuntu, because an older debootstrap lacks some.
    SCRIPT=${SCRIPT%/*}/gutsy COMPONENTS=main,universe
    MIRROR=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
    ;;
  *) die "--suite=$SUITE: expected bookworm, trixie, jammy or noble." ;;
esac
[[ -z $WITH || -f $WITH ]] || die "--with=$WITH: there is no such file."
[[ $(id -u) == 0 ]] || die "only root may make a root file system: sudo $0 ..."
command -v debootstrap >/dev/null ||
  die "debootstrap is missing. Install it (Debian, Ubuntu: sudo apt-get install debootstrap)."
if [[ -z $FOLDER ]]; then
  FOLDER=$(mktemp -d "${TMPDIR:-/tmp}/bare_machine.XXXXXX")
  chmod 755 "$FOLDER"
fi
$KEEP || trap 'rm -rf --one-file-system "$FOLDER"' EXIT
if [[ ! -f $FOLDER/.made-by-bare-machine ]]; then
  [[ ! -d $FOLDER || -z $(ls -A "$FOLDER") ]] ||
    die "$FOLDER contains files that this script did not make: name an empty folder."
  say "making a root of $SUITE in $FOLDER"
  make_root "$SUITE" "$FOLDER"
fi
clone=$FOLDER$HOME_THERE/tensorflow_ext
if [[ -d $clone ]]; then
  git -C "$clone" pull --quiet --ff-only "$PWD" HEAD
else
  git clone --quiet --no-hardlinks . "$clone"
fi
[[ -z $WITH ]] || cp "$WITH" "$FOLDER$HOME_THERE/"
# The namespace ends with this process, however it ends.
setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child \
  "${BASH_SOURCE[0]}" --in-namespace "$FOLDER" "${COMMANDS[@]}"
