#!/usr/bin/env bash

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'HELP'
Usage: tools/release_check/failing_machine.sh [CASE]...

In a clone of the last commit of this checkout, as root, in a mount namespace of its own:
lets ./run build meet what goes wrong on machines, and looks that it says so in a sentence
and that the next call works. Installs by pip and builds several times: half an hour, less
with what ./run has compiled before. tests/run has the same with scripts that stand for pip,
apt-get and Bazel, in seconds. The last lines are a table; exits 1 if a case failed.

Cases: full_venv fills_venv full_cache full_output no_network no_index killed_pip
       two_at_once killed_bazel interrupted_bazel space read_only no_home. Without: all.
HELP
}

FAILED=0
TABLE=()
LOG=""

# expect NAME SENTENCE COMMAND: the command fails in time and prints the sentence.
expect() {
  local status=0
  timeout 900 bash -c "$3" >"$LOG" 2>&1 </dev/null || status=$?
  cat "$LOG"
  if [[ $status != 0 ]] && grep -qE -- "$2" "$LOG"; then
    TABLE+=("ok      $1: $(grep -E -m 1 -o -- "run: .*($2).*" "$LOG" | cut -c 1-200)")
  else
    TABLE+=("FAILED  $1: exit $status, expected '$2'")
    FAILED=1
  fi
  : >"$LOG" # The next case's `when` may read it before its command writes.
}

# works NAME COMMAND: the next call succeeds.
works() {
  if timeout 3600 bash -c "$2" </dev/null; then
    TABLE+=("ok      $1: then $2")
  else
    TABLE+=("FAILED  $1: then $2")
    FAILED=1
  fi
}

small_disk() { mkdir -p "$2" && mount -t tmpfs -o "size=$1m" tmpfs "$2"; }

# when PATTERN COMMAND: runs the command once the running ./run has printed the pattern.
when() {
  local second
  for second in {1..600}; do
    grep -qE -- "$1" "$LOG" 2>/dev/null && { sleep "${3:-3}"; eval "$2"; return; }
    sleep 1
  done
}

case_full_venv() {
  small_disk 300 .venv
  expect full_venv "needs [0-9]+ MB, but the disk of .*/.venv has" "./run build"
  umount .venv && rmdir .venv
  works full_venv "./run new-op --help >/dev/null"
}

case_fills_venv() {
  rm -rf .venv
  small_disk 2100 .venv
  when "installing tensorflow" "fallocate -l 1900M .venv/filled" 0 &
  expect fills_venv "disk of .* is full" "./run build"
  umount .venv && rmdir .venv
  works fills_venv "./run new-op --help >/dev/null"
}

case_full_cache() {
  small_disk 1 "$CLONE.cache"
  fallocate -l 1M "$CLONE.cache/filled"
  expect full_cache "needs [0-9]+ MB, but the disk of .*\.cache.* has only 0 MB free" \
    "XDG_CACHE_HOME=$CLONE.cache ./run build"
  umount "$CLONE.cache"
  works full_cache "./run build"
}

case_full_output() {
  small_disk 1200 "$CLONE.home"
  when "bazel build" "fallocate -l 1180M $CLONE.home/filled" 0 &
  expect full_output "disk of .* is full" \
    "HOME=$CLONE.home XDG_CACHE_HOME=$HOME/.cache ./run build"
  rm "$CLONE.home/filled"
  works full_output "HOME=$CLONE.home XDG_CACHE_HOME=$HOME/.cache ./run build"
  HOME=$CLONE.home bazel shutdown
  umount "$CLONE.home"
}

case_no_network() {
  rm -rf .venv
  expect no_network "failed. The whole log is out/log/pip-" "unshare --net ./run build"
  works no_network "./run new-op --help >/dev/null"
}

case_no_index() {
  rm -rf .venv
  expect no_index "failed. The whole log is out/log/pip-" \
    "PIP_INDEX_URL=http://127.0.0.1:9/simple ./run build"
  works no_index "./run new-op --help >/dev/null"
}

case_killed_pip() {
  local killer="pkill -9 -f '$CLONE/.venv/bin/python -m pip'"
  rm -rf .venv
  when "s: Installing collected" "$killer" 0 &
  expect killed_pip "failed, killed by SIGKILL" "./run build"
  works killed_pip "./run new-op --help >/dev/null"
}

case_two_at_once() {
  local first second
  rm -rf .venv
  ./run build >"$CLONE.first" 2>&1 &
  first=$!
  sleep 5
  second=0
  timeout 3600 ./run build >"$CLONE.second" 2>&1 </dev/null || second=$?
  if wait $first && [[ $second == 0 ]] && grep -q "another ./run is" "$CLONE.second"; then
    TABLE+=("ok      two_at_once: $(grep -m 1 'another ./run is' "$CLONE.second")")
  else
    cat "$CLONE.first" "$CLONE.second"
    TABLE+=("FAILED  two_at_once: the second ended with $second")
    FAILED=1
  fi
}

bazel_server() { cat "$(readlink bazel-out | sed 's#/execroot/.*##')/server/server.pid.txt"; }

case_killed_bazel() {
  touch_all
  when "\[[0-9]+ / [0-9]+\]" 'kill -9 $(bazel_server)' 0 &
  expect killed_bazel "Bazel's server was killed" "XDG_CACHE_HOME=$CLONE.none ./run build"
  git checkout --quiet $INCLUDED
  works killed_bazel "./run build"
}

case_interrupted_bazel() {
  touch_all
  when "\[[0-9]+ / [0-9]+\]" 'kill -INT $(pgrep -f "bazel.* build .*//tensorflow_ext:lib" | head -1)' 0 &
  expect interrupted_bazel "was interrupted: the next call continues" \
    "XDG_CACHE_HOME=$CLONE.none ./run build"
  git checkout --quiet $INCLUDED
  works interrupted_bazel "./run build"
}

# Every gradient includes this file. If it changes, there is something to compile; if it is
# restored, the cache has everything.
INCLUDED=tensorflow_ext/gradient/formula/data_type.h
touch_all() { echo "// $RANDOM" >>$INCLUDED; }

case_space() {
  git clone --quiet . "$CLONE.with a space"
  expect space "reject paths that contain a space" "'$CLONE.with a space/run' build"
  works space "mv '$CLONE.with a space' $CLONE.without && $CLONE.without/run help >/dev/null"
}

case_read_only() {
  mkdir -p "$CLONE.ro"
  mount --bind "$CLONE" "$CLONE.ro"
  mount -o remount,bind,ro "$CLONE.ro"
  expect read_only "cannot be written, but the build writes there" "$CLONE.ro/run build"
  umount "$CLONE.ro"
  works read_only "./run build"
}

case_no_home() {
  local home
  for home in "HOME=/home/nobody/is/here" "-u HOME"; do
    expect no_home "it cannot be written, or it contains a space" "env $home ./run build --no_such_flag"
  done
  works no_home "env -u HOME XDG_CACHE_HOME=$HOME/.cache ./run build"
}

ALL="full_venv fills_venv no_network no_index killed_pip two_at_once full_cache full_output
  killed_bazel interrupted_bazel space read_only no_home"
[[ ${1:-} != -h && ${1:-} != --help ]] || { usage && exit; }
if [[ ${IN_NAMESPACE:-} != yes ]]; then
  [[ $(id -u) == 0 ]] || { echo "only root may mount: sudo $0" >&2 && exit 1; }
  folder=$(mktemp -d "${TMPDIR:-/tmp}/failing_machine.XXXXXX")
  git clone --quiet . "$folder/clone" || exit 1
  trap 'rm -rf --one-file-system "$folder"' EXIT
  # The namespace ends with this process, however it ends.
  CLONE=$folder/clone IN_NAMESPACE=yes setpriv --pdeathsig KILL unshare --mount \
    --propagation private --pid --fork --kill-child --mount-proc \
    "$folder/clone/tools/release_check/failing_machine.sh" "$@"
  exit
fi
trap 'exit 130' INT TERM # The first process of a namespace otherwise ignores them.
LOG=$CLONE.log
export LOG
for name in ${*:-$ALL}; do
  declare -F "case_$name" >/dev/null || { echo "no case $name" >&2 && exit 2; }
  printf '\n== %s\n' "$name"
  "case_$name"
  wait
done
printf '\n%s' "" && printf '%s\n' "${TABLE[@]}"
exit $FAILED
