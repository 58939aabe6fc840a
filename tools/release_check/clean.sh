#!/usr/bin/env bash
# Removes everything that `./run --tf VERSION`, or candidate.sh, installed and built in this
# checkout.
#
#   tools/release_check/clean.sh VERSION|candidate

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[[ ${1:-} =~ ^([0-9]+\.[0-9]+|candidate)$ ]] || {
  echo "usage: $0 VERSION, such as 2.19" >&2
  exit 2
}
venv=$PWD/.venv-$1
[[ -d $venv ]] || exit 0
# The folder of its Bazel's output.
output=$(readlink "$venv/bazel-out" || true)
output=${output%/execroot/*}
if [[ -n $output && -d $output ]]; then
  [[ -f $output/server/server.pid.txt ]] &&
    kill "$(cat "$output/server/server.pid.txt")" 2>/dev/null || true
  # Bazel makes unpacked files read-only.
  chmod -R u+w "$output"
  rm -rf "$output"
fi
minor=$1
[[ $1 != candidate ]] || minor=$(cat "$venv/.tensorflow" 2>/dev/null) || minor=""
[[ -z $minor ]] || rm -rf "python/tensorflow_ext/lib/$minor"
rm -rf "$venv"
