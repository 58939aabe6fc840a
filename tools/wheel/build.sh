# SPDX-License-Identifier: Apache-2.0
#
# Part of ./run: builds for each TensorFlow that is named, and makes one wheel of it.

# make_wheel ARGUMENT...: the versions are those of $TF, with commas between them; the
# arguments go to make_wheel.py.
make_wheel() {
  local version versions minors="" root=$PWD
  choose_tensorflow "" # the newest, where none is named
  IFS=, read -ra versions <<<"${TF:-$TENSORFLOW}"
  # First all of them: what is mistyped is not found out after an hour.
  for version in "${versions[@]}"; do
    choose_tensorflow "$version"
    minors+=${minors:+,}$TENSORFLOW
  done
  for version in "${versions[@]}"; do
    ./run build --tf "$version" "--cuda=$CUDA" //tools/wheel:public_headers
  done
  # Here the last of them is chosen.
  cd "$CALLED_FROM" # --out begins there.
  "$VENV/bin/python" "$root/tools/wheel/make_wheel.py" --minors "$minors" \
    --headers "$BAZEL_BIN/tools/wheel/public_headers.txt" "$@"
}
