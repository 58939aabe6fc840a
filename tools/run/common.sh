# Part of ./run: its messages.

say() { printf '%s\n' "run: $*" >&2; }
die() {
  say "$@"
  exit 1
}
