#!/usr/bin/env bash
# Builds this tree against a TensorFlow newer than the supported ones, and runs the quick tests.
# Takes a release candidate, or a nightly build if the registry has no candidate. Uses
# .venv-candidate and its own output folder.
#
#   tools/release_check/candidate.sh
#
# The last line, "candidate: ...", gives the result. Exit status: 0, all is well; 1, something
# differs. No release waits for it.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in tools/run/*.sh; do
  # shellcheck source=/dev/null
  . "$part"
done

fail() {
  printf 'candidate: TensorFlow %s: %s\n' "${FOUND:-?}" "$*"
  exit 1
}

choose_tensorflow ""
NEWEST=$TENSORFLOW
python=$(find_python)
VENV=$PWD/.venv-candidate
BAZEL_BIN=$VENV/bazel-bin
CUDA=no
LANGUAGES=found
RESTART_BAZEL=true
check_machine

"$python" -m venv --clear "$VENV"
# The version after 2.21.* must be newer than that: 2.22.0rc0.
for package in tensorflow-cpu tf-nightly-cpu; do
  if "$VENV/bin/python" -m pip install --disable-pip-version-check --quiet --no-compile \
    --pre "$package>$NEWEST.99" numpy; then
    break
  fi
done
FOUND=$("$VENV/bin/python" -c 'from importlib.metadata import distributions
print(next((f"{d.version}" for d in distributions()
  if d.metadata["Name"] in ("tensorflow_cpu", "tensorflow-cpu", "tf_nightly_cpu", "tf-nightly-cpu")), ""))')
[[ -n $FOUND ]] || fail "the registry has no version newer than $NEWEST."
# tf_keras depends on the TensorFlow that it is for: install it without dependencies.
grep -v '^tf_keras\|^#' requirements/tools.in |
  xargs "$VENV/bin/python" -m pip install --disable-pip-version-check --quiet --no-compile
"$VENV/bin/python" -m pip install --disable-pip-version-check --quiet --no-compile \
  --no-deps --pre tf_keras
TENSORFLOW=$(cut -d. -f1-2 <<<"$FOUND")
printf '%s\n' "$TENSORFLOW" >"$VENV/.tensorflow" # Used by clean.sh.
printf '%s\n' "$PWD/python" >"$(site_packages)/tensorflow_ext.pth"

find_cuda
find_bazel
log=$VENV/build.log
# As a condition, it would turn off set -e and ignore failures inside.
set +e
(set -e; build) 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
set -e
if [[ $status != 0 ]]; then
  error=$(grep -m1 -oE '^[^ ]+:[0-9]+:[0-9]+: error: .*' "$log" || tail -1 "$log")
  fail "does not build: $error. Handle differences between versions in" \
    "tensorflow_ext/base/compatibility.h and third_party/tensorflow."
fi
if ! run_tests //tests/compat/... || ! run_tests //tests/python:python_test \
  "--test_filter=library_test or gradients_test or keras_test"; then
  fail "builds; tests fail (above). Handle differences in Python in" \
    "python/tensorflow_ext/_compatibility.py."
fi
printf 'candidate: TensorFlow %s: builds, and the quick tests pass\n' "$FOUND"
