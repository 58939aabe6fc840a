# SPDX-License-Identifier: Apache-2.0
#
# Part of ./run: steps that take long, and what their failures mean.

LOGS=$PWD/out/log

# last_time STEP: how long it took on this machine, for a sentence; "" if it never ran.
last_time() {
  local seconds
  seconds=$(cat "$CACHE/times/$1" 2>/dev/null) || return 0
  printf ' (%s s the last time)' "$seconds"
}

# keep_time STEP SECONDS: failing is not worth the step.
keep_time() {
  { mkdir -p "$CACHE/times" && printf '%s\n' "$2" >"$CACHE/times/$1"; } 2>/dev/null || true
}

# watch_log LOG: a line every 10 seconds, while this process lives (a dead one that nobody
# has waited for yet has no program).
watch_log() {
  local line never started=$SECONDS next=10
  exec {never}<> <(:) # Nobody writes there: a sleep that leaves no process behind.
  while [[ -e /proc/$$/exe ]]; do
    read -r -t 1 -u "$never" || true
    ((SECONDS - started >= next)) || continue
    line=$(tail -n 1 "$1" | sed 's/\r//g; s/\x1b\[[0-9;]*m//g' | cut -c 1-100)
    say "$((SECONDS - started)) s${line:+: $line}"
    ((next += 10))
  done
}

# step STEP WHAT COMMAND...: runs it with its output in a log. COMMAND is one that shows
# its own progress where STEP_BAR is true and this is a terminal: it writes STEP_LOG itself.
# In a function that is a COMMAND, && goes from line to line: set -e is off there.
step() {
  local name=$1 what=$2 status=0 started=$SECONDS watcher
  shift 2
  STEP_LOG=$LOGS/$name.log
  say "$what$(last_time "$name"); log: ${STEP_LOG#"$PWD"/}"
  { mkdir -p "$LOGS" && : >"$STEP_LOG"; } 2>/dev/null ||
    die "$STEP_LOG cannot be written: $(why_not_written "$LOGS")"
  # What the shell itself says of a process that is killed is left aside.
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
  tail -n 8 "$STEP_LOG" | cut -c 1-300 | sed 's/^/  | /' >&2
  if ((status > 128)); then
    say "$what: failed, for it was ended by SIG$(kill -l $((status - 128))). Run this again."
  else
    say "$what: failed. $(why "$STEP_LOG")"
  fi
  return $status
}

# free_megabytes FOLDER: of its disk; the folder need not be there yet.
free_megabytes() {
  local folder=$1
  while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
  df -BM --output=avail "$folder" | tail -n 1 | tr -dc 0-9
}

# need_space FOLDER MEGABYTES WHAT
need_space() {
  local free
  free=$(free_megabytes "$1")
  ((free >= $2)) ||
    die "$3 takes $2 MB, and the disk of $1 has $free MB free: make room there, then" \
      "run this again."
}

# size_of NAME: of tools/run/sizes.txt, in MB.
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

# why_disk TEXT: whether it is for want of room, and where.
why_disk() {
  local folder
  for folder in "$PWD" "$VENV" "$CACHE" "${TMPDIR:-/tmp}" "$HOME" ${BAZEL_OUTPUT:+"$BAZEL_OUTPUT"}; do
    if (($(free_megabytes "$folder") < 32)); then
      echo "The disk of $folder is full: make room there, then run this again."
      return
    fi
  done
  case $1 in
    *"No space left on device"* | *"Disk quota exceeded"* | *"have enough free space"*)
      echo "A disk is full, the lines above say where: make room, then run this again." ;;
    *) return 1 ;;
  esac
}

# why_build_failed LOG STATUS: of Bazel, whose log has the words of programs and tests.
why_build_failed() {
  local text
  text=$(tail -n 400 "$1" 2>/dev/null) || true
  why_disk "$text" && return
  case $2,$text in
    37,* | *"Server terminated abruptly"*)
      echo "Bazel's server was ended, by someone or for want of memory: run this again;" \
        "--jobs=1 takes least memory." ;;
    *"Killed signal terminated"*)
      echo "The system ended a compiler for want of memory: run this again; --jobs=1" \
        "takes least." ;;
    *) echo "The whole log is $1." ;;
  esac
}

# why LOG: what the end of a log of pip, apt, cargo or Maven means, and what to do.
why() {
  local text
  text=$(tail -n 400 "$1" 2>/dev/null) || true
  why_disk "$text" && return
  case $text in
    *"DO NOT MATCH THE HASHES"* | *"Hash Sum mismatch"* | *"hash mismatch"* | *"checksum"*)
      echo "A download is not what the lock file says: it was cut off, or changed on its" \
        "way. Run this again; pip cache purge removes what is kept of it." ;;
    *CERTIFICATE_VERIFY_FAILED* | *"certificate verif"* | *"PKIX path"*)
      echo "The registry's certificate is not trusted here: install ca-certificates, or" \
        "name your own authority (SSL_CERT_FILE, PIP_CERT)." ;;
    *NewConnectionError* | *"Temporary failure"* | *"Could not resolve"* | *"Name or service"* | \
      *"Network is unreachable"* | *"Connection refused"* | *"Connection reset"* | \
      *"Connection broken"* | *"timed out"* | *"IncompleteRead"* | *"Could not transfer"* | \
      *"spurious network error"* | *"Failed to fetch"* | *"Unable to connect"* | \
      *"from versions: none"* | *"Could not connect"* | *"failed to download"*)
      echo "No package registry answers: check the network, and HTTPS_PROXY, PIP_INDEX_URL" \
        "and the like if there are any, then run this again." ;;
    *"Could not get lock"* | *"Unable to lock"*)
      echo "Another package manager is at work: wait for it, then run this again." ;;
    *"bazel-bootstrap is too old"*)
      echo "This system's package of Bazel is too old: $BAZELISK." ;;
    *"Unable to locate package"* | *"no installation candidate"*)
      echo "This system has no such package; ./run doctor names what is needed." ;;
    *"Read-only file system"* | *"Permission denied"*)
      echo "A folder cannot be written; the lines above name it." ;;
    *Killed* | *"MemoryError"*)
      echo "The system ended it, as it does for want of memory: run this again." ;;
    *) echo "The whole log is ${1#"$PWD"/}." ;;
  esac
}
