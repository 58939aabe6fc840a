# Part of ./run: builds for each named TensorFlow, and makes one wheel from the results.

# make_wheel ARGUMENT...: makes a wheel for the versions in $TF, separated by commas; passes the
# arguments to make_wheel.py.
make_wheel() {
  local version versions minors="" root=$PWD
  IFS=, read -ra versions <<<"${TF:-$TENSORFLOW}"
  # Checks all versions first, because a typing error must not show up after an hour.
  for version in "${versions[@]}"; do
    choose_tensorflow "$version"
    minors+=${minors:+,}$TENSORFLOW
  done
  for version in "${versions[@]}"; do
    ./run build --tf "$version" "--cuda=$CUDA" //tools/wheel:public_headers
  done
  # The last version is still chosen here.
  cd "$CALLED_FROM" # --out is relative to it.
  "$VENV/bin/python" "$root/tools/wheel/make_wheel.py" --minors "$minors" \
    --headers "$BAZEL_BIN/tools/wheel/public_headers.txt" "$@"
}
