# Part of ./run: steps that take long, and the messages if they fail.

LOGS=$PWD/out/log

# last_time STEP: its last time on this machine, for a sentence; "" if it never ran.
last_time() {
  local seconds
  seconds=$(cat "$CACHE/times/$1" 2>/dev/null) || return 0
  printf ' (%s s last time)' "$seconds"
}

# keep_time STEP SECONDS: records the time. A failure to record is ignored.
keep_time() {
  { mkdir -p "$CACHE/times" && printf '%s\n' "$2" >"$CACHE/times/$1"; } 2>/dev/null || true
}

# usual_seconds STEP: the time from tools/run/seconds.txt, for this machine's cores.
usual_seconds() {
  awk -v name="$1" -v cores="$(nproc)" '
    $1 == name { printf "%d", $3 == "cores" ? $2 / cores : $2 }' tools/run/seconds.txt
}

# plan COMMAND: prints the steps of demo, build and test, and their times here: the last times, or
# else those of a usual machine.
plan() {
  local name seconds by all=0 lines=() steps=()
  local -A does=(
    [packages]="install TensorFlow and other packages into ${VENV##*/}"
    [bazel-build-first]="compile the library and everything that $1 needs"
    [bazel-build]="compile the rooms of the files that changed, 10 to 30 s each"
    [bazel-test]="compile the tests and run them"
    [demo]="train networks from Python and from C++"
  )
  [[ -f $STAMP ]] || steps=(packages)
  if [[ -e $BAZEL_BIN ]]; then steps+=(bazel-build); else steps+=(bazel-build-first); fi
  case $1 in
    build) ;;
    demo) steps+=(demo) ;;
    test) steps+=(bazel-test) ;;
    *) return ;;
  esac
  for name in "${steps[@]}"; do
    by="last time"
    seconds=$(cat "$CACHE/times/$name" 2>/dev/null) ||
      { seconds=$(usual_seconds "$name") && by="on a usual machine"; }
    ((all += seconds)) || true
    lines+=("  $((${#lines[@]} + 1)). ${does[$name]} ($(duration "$seconds") $by)")
  done
  say "$1 takes about $(duration $all) here:"
  printf 'run: %s\n' "${lines[@]}" >&2
}

# duration SECONDS: formats a time for people.
duration() {
  if (($1 < 90)); then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi
}

# timed STEP COMMAND...: records the time, for the next plan.
timed() {
  local name=$1 started=$SECONDS
  "${@:2}"
  keep_time "$name" $((SECONDS - started))
}

# watch_log LOG: prints a line every 10 seconds (WATCH_SECONDS) while this process lives (a dead
# process that nobody has waited for has no program).
watch_log() {
  local line never started=$SECONDS period=${WATCH_SECONDS:-10}
  local next=$period
  exec {never}<> <(:) # Nobody writes there: a sleep that leaves no process behind.
  while [[ -e /proc/$$/exe ]]; do
    read -r -t 1 -u "$never" || true
    ((SECONDS - started >= next)) || continue
    line=$(tail -n 1 "$1" | sed 's/\r//g; s/\x1b\[[0-9;]*m//g' | cut -c 1-100)
    say "$((SECONDS - started)) s${line:+: $line}"
    ((next += period))
  done
}

# step STEP WHAT COMMAND...: runs the command with its output in a log. If STEP_BAR is true and this
# is a terminal, COMMAND shows its own progress and writes STEP_LOG itself. If COMMAND is a
# function, it must join its lines with &&, because set -e is off there.
step() {
  local name=$1 what=$2 status=0 started=$SECONDS watcher
  shift 2
  STEP_LOG=$LOGS/$name.log
  say "$what$(last_time "$name"); log: ${STEP_LOG#"$PWD"/}"
  { mkdir -p "$LOGS" && : >"$STEP_LOG"; } 2>/dev/null ||
    die "$STEP_LOG cannot be written: $(why_not_written "$LOGS")"
  # Drops the shell's own message about a process that is killed.
  if ${STEP_BAR:-false} && [[ -t 2 ]]; then
    { "$@" >&3 2>&3; } 3>&2 2>/dev/null || status=$?
  else
    watch_log "$STEP_LOG" &
    watcher=$!
    { "$@" >"$STEP_LOG" 2>&1 </dev/null; } 2>/dev/null || status=$?
    kill $watcher 2>/dev/null || true
    wait $watcher 2>/dev/null || true
  fi
  if [[ $status == 0 ]]; then
    keep_time "$name" $((SECONDS - started))
    return
  fi
  tail -n 20 "$STEP_LOG" | cut -c 1-300 | sed 's/^/  | /' >&2
  if ((status > 128)); then
    say "$what: failed, killed by SIG$(kill -l $((status - 128))). Run this again."
  else
    say "$what: failed. $(full_disk || echo "The whole log is ${STEP_LOG#"$PWD"/}.")"
  fi
  return $status
}

# free_megabytes FOLDER: the free space on its disk; the folder may not exist yet.
free_megabytes() {
  local folder=$1
  while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
  df -BM --output=avail "$folder" | tail -n 1 | tr -dc 0-9
}

# need_space FOLDER MEGABYTES WHAT: fails if the disk is too small.
need_space() {
  local free
  free=$(free_megabytes "$1")
  ((free >= $2)) ||
    die "$3 needs $2 MB, but the disk of $1 has only $free MB free: make room there," \
      "then run this again."
}

# size_of NAME: the size from tools/run/sizes.txt, in MB.
size_of() {
  awk -v name="$1" '$2 == name { print $5 }' tools/run/sizes.txt
}

why_not_written() {
  if (($(free_megabytes "$1") < 8)); then
    printf 'the disk of %s is full. Make room there, then run this again.' "$1"
  else
    printf 'its folder belongs to %s.' "$(stat -c %U "$1" 2>/dev/null || echo 'someone else')"
  fi
}

# full_disk: reports the first full disk that ./run writes to; fails if none is full.
full_disk() {
  local folder
  for folder in "$PWD" "$VENV" "$CACHE" "${TMPDIR:-/tmp}" "$HOME" ${BAZEL_OUTPUT:+"$BAZEL_OUTPUT"}; do
    if (($(free_megabytes "$folder") < 32)); then
      echo "The disk of $folder is full: make room there, then run this again."
      return
    fi
  done
  return 1
}
