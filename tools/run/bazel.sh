# Part of ./run: CUDA, Bazel, building and testing.

find_nvcc() {
  local candidate
  for candidate in ${NVCC:+"$NVCC"} ${CUDA_HOME:+"$CUDA_HOME/bin/nvcc"} \
    /usr/local/cuda/bin/nvcc "$(command -v nvcc)" \
    "$VENV"/lib/python3.*/site-packages/nvidia/cu[0-9]*/bin/nvcc; do
    if [[ -x $candidate ]]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

find_cuda() {
  NVCC_FOUND=""
  [[ $CUDA == no ]] && return
  NVCC_FOUND=$(find_nvcc)
  if [[ -z $NVCC_FOUND && $CUDA == yes ]]; then
    lock
    pip_install requirements/cuda.txt "installing nvcc into ${VENV##*/}"
    unlock
    RESTART_BAZEL=true
    NVCC_FOUND=$(find_nvcc)
    [[ -n $NVCC_FOUND ]] || die "no nvcc in .venv after installing it."
  fi
  if [[ -n $NVCC_FOUND ]]; then
    say "GPU kernels by $NVCC_FOUND"
  else
    say "no nvcc found: building for the CPU only (--cuda=yes installs nvcc)"
  fi
}

# bazel_flags VERSION: the flags that a Bazel needs besides .bazelrc. Fails if it is too old or too
# new.
bazel_flags() {
  case $1 in # Debian's 4.2.3 says "bazel no_version".
    "bazel no_version"* | "bazel "[456].*) ;;
    "bazel 7."*) echo "common --noenable_bzlmod" ;;
    "bazel 8."*) echo "common --enable_workspace --noenable_bzlmod" ;;
    *) return 1 ;;
  esac
}

# choose_bazel: sets BAZEL, the first one that fits, and BAZEL_FLAGS.
choose_bazel() {
  local candidates candidate version found=""
  mapfile -t candidates < <(command -v bazel bazelisk)
  for candidate in ${candidates[@]+"${candidates[@]}"}; do
    version=$("$candidate" --version 2>/dev/null) || version="a program that fails"
    BAZEL=$candidate
    BAZEL_FLAGS=$(bazel_flags "$version") && return
    found+="$candidate is '$version'. "
  done
  die "${found:-no bazel found. }Expected Bazel 4 to 8: $BAZELISK, and USE_BAZEL_VERSION" \
    "selects one."
}

find_bazel() {
  local settings settings_file=$PWD/.bazelrc.user
  choose_bazel
  BAZEL_OPTIONS=()
  if [[ $VENV != "$PWD/.venv" ]]; then
    # Uses a separate output folder; otherwise each build would undo the other's.
    settings_file=$VENV/.bazelrc
    BAZEL_OPTIONS=("--bazelrc=$settings_file" "--output_base=$(
      printf '%s/bazel-%s-%s' "$CACHE" "$TENSORFLOW" "$(printf '%s' "$PWD" | sha256sum | cut -c1-8)"
    )")
  fi
  # Checkouts share compiled files; .bazelrc keeps test results out of the cache. The compiler is
  # fixed, whichever folder of PATH has it.
  settings="# Written by ./run, which overwrites changes.
build --disk_cache=$CACHE/bazel
common --repo_env=CC=${CC:-$(command -v gcc)}
test --test_env=BAZEL=$BAZEL
test --test_env=BAZEL_SETTINGS=$settings_file
common --repo_env=TF_PYTHON=$VENV/bin/python
common --repo_env=TENSORFLOW_EXT_CUDA=$CUDA
${NVCC_FOUND:+common --repo_env=NVCC=$NVCC_FOUND}
$BAZEL_FLAGS"
  if [[ $(cat "$settings_file" 2>/dev/null) != "$settings" ]]; then
    printf '%s\n' "$settings" >"$settings_file"
  fi
  # Bazel checks once in its server's life what is installed.
  if $RESTART_BAZEL; then restart_bazel; fi
}

restart_bazel() {
  "$BAZEL" ${BAZEL_OPTIONS[@]+"${BAZEL_OPTIONS[@]}"} shutdown
}

# find_bazel_output: sets BAZEL_OUTPUT, the folder of Bazel's output and log.
find_bazel_output() {
  local option linked
  linked=$(readlink "$BAZEL_BIN") || true
  BAZEL_OUTPUT=${linked%/execroot/*}
  for option in ${BAZEL_OPTIONS[@]+"${BAZEL_OPTIONS[@]}"}; do
    [[ $option != --output_base=* ]] || BAZEL_OUTPUT=${option#*=}
  done
  [[ -n $BAZEL_OUTPUT ]] || BAZEL_OUTPUT=$HOME/.cache/bazel/_bazel_$(id -un)/$(
    printf '%s' "$PWD" | md5sum | cut -d ' ' -f 1
  )
}

# run_bazel COMMAND ARGUMENT...: runs Bazel and condenses its progress.
run_bazel() {
  local status=0 started=$SECONDS name="bazel-$1" usual="" output
  local flags=(--curses=no --show_progress_rate_limit=5)
  [[ ! -t 2 ]] || flags=(--curses=no --show_progress_rate_limit=1 --color=yes)
  if [[ $VENV != "$PWD/.venv" ]]; then
    flags+=("--symlink_prefix=${VENV##*/}/bazel-")
    # A link that .venv's builds make: under another prefix, //... would follow it.
    rm -f "bazel-${PWD##*/}"
  fi
  if [[ ! -e $BAZEL_BIN ]]; then # The first build takes much longer.
    name+=-first
    usual=$(usual_seconds "$name")
    need_space "$HOME" "$(size_of build)" "the build"
  fi
  need_space "$CACHE" 32 "the cache of compiled files"
  find_bazel_output
  say "bazel $1$(last_time "$name"); log: $BAZEL_OUTPUT/command.log"
  mkdir -p "$CACHE/times" 2>/dev/null || true # For the progress; optional.
  exec {output}>&1
  "$BAZEL" ${BAZEL_OPTIONS[@]+"${BAZEL_OPTIONS[@]}"} "$1" "${flags[@]}" "${@:2}" \
    2>&1 >&"$output" |
    "$VENV/bin/python" -IS tools/run/progress.py "$CACHE/times/$name.progress" \
      ${usual:+"$usual"} >&2 ||
    status=${PIPESTATUS[0]}
  exec {output}>&-
  case $status in
    0) keep_time "$name" $((SECONDS - started)) ;;
    3) ;; # Tests failed, and Bazel has reported them.
    8) say "bazel $1 was interrupted: the next call continues where this one stopped." ;;
    37) say "bazel $1 failed. $(full_disk ||
      echo "Bazel's server was killed: run this again; --jobs=1 needs the least memory.")" ;;
    *) say "bazel $1 failed. $(full_disk || echo "The whole log is $BAZEL_OUTPUT/command.log.")" ;;
  esac
  return $status
}

prepare() {
  check_machine
  plan "$COMMAND"
  install_packages
  make_venv
  find_cuda
  find_bazel
}

# build TARGET...: builds these and the library, which .venv then imports. Except for the demo, also
# builds the archives that other op libraries link.
build() {
  local archives=(//tensorflow_ext/op_library:archives)
  [[ ${COMMAND:-} != demo ]] || archives=()
  run_bazel build //tensorflow_ext:libtensorflow_ext.so //tensorflow_ext:optimizers.h //tensorflow_ext/cc:sources \
    //python/tensorflow_ext:op_modules //tensorflow_ext/loader:libtensorflow_ext_loader.so ${archives[@]+"${archives[@]}"} "$@"
  local built installed folder=python/tensorflow_ext/lib/$TENSORFLOW
  lock
  mkdir -p "$folder"
  for built in "$BAZEL_BIN"/tensorflow_ext/libtensorflow_ext.so \
    "$BAZEL_BIN"/tensorflow_ext/op_library/libtensorflow_ext_*.a; do
    [[ -e $built ]] || continue
    installed=$folder/$(basename "$built")
    # Renamed into place: processes that have loaded the old file keep it.
    if ! cmp -s "$built" "$installed"; then
      install -m 755 "$built" "$installed.new"
      mv -f "$installed.new" "$installed"
    fi
  done
  # The same for every TensorFlow: processes that have loaded it keep it, too.
  install -C -m 755 "$BAZEL_BIN"/tensorflow_ext/loader/libtensorflow_ext_loader.so \
    python/tensorflow_ext/lib/
  # Generated by the build: typed ops and optimizers for C++.
  install -C -D -m 644 -t python/tensorflow_ext/include/tensorflow_ext/cc \
    "$BAZEL_BIN"/tensorflow_ext/cc/ops.{cc,h}
  install -C -D -m 644 -t python/tensorflow_ext/include/tensorflow_ext \
    "$BAZEL_BIN"/tensorflow_ext/optimizers.h
  link_op_modules
  unlock
}

# Makes the ops' Python modules part of the package, as links (python/tensorflow_ext/op_modules.bzl).
link_op_modules() {
  local module folder=python/tensorflow_ext/ops
  install -C -D -m 644 -t "$folder" "$BAZEL_BIN/$folder/_modules.py"
  for module in "$folder"/_*.py; do
    [[ -e $module ]] || rm "$module"  # The op is gone.
  done
  for module in tensorflow_ext/ops/*/*.py; do
    [[ ! -e $module || -L $folder/_${module##*/} ]] ||
      ln -s "../../../$module" "$folder/_${module##*/}"
  done
}

# The files that the commits of one piece of work and changes since touch, and the ops that the
# library's and the cases' name in quotes. A piece of work is three hours, which end with the last
# commit. In a shallow clone there is none.
changed() {
  local files last before
  last=$(git log -1 --format=%ct 2>/dev/null) || return 0
  before=$(git rev-list -1 --before=$((last - 3 * 3600)) HEAD)
  [[ $before ]] || return 0
  files=$(git diff --name-only "$before")
  printf '%s\n' "$files"
  grep -E '^tensorflow_ext/|/cases_' <<<"$files" | xargs -r grep -shoE '"[A-Z]\w+"' |
    tr -d '"' | sort -u || true
}

# run_tests [FLAG | TARGET]...: runs all tests if no target is named. Each test runs, unless
# --cached takes the results for unchanged inputs from Bazel.
run_tests() {
  local status=0 argument cached=no targets=(//...) said=(--all) arguments=()
  [[ $LANGUAGES == found ]] || said=(--all-languages)
  for argument in "$@"; do
    [[ $argument == -* ]] || targets=() said=()
  done
  for argument in "$@"; do
    case $argument in
      --cached) cached=auto ;;
      --write-budget) said+=("$argument") ;;
      *) arguments+=("$argument") ;;
    esac
  done
  # Some tests choose their cases by the commit, so that each change meets others, and run all that
  # the last commits touch (tests/commit_sampling.py).
  [[ $cached == auto ]] ||
    arguments=("--test_env=COMMIT=$(git rev-parse HEAD 2>/dev/null || true)"
      "--test_env=CHANGED=$(changed | tr '\n' ' ' | head -c 100000)"
      ${arguments[@]+"${arguments[@]}"})
  EVENTS=$(mktemp)
  trap 'rm -f "$EVENTS"' EXIT
  run_bazel test --keep_going --cache_test_results=$cached --build_event_json_file="$EVENTS" \
    ${arguments[@]+"${arguments[@]}"} ${targets[@]+"${targets[@]}"} || status=$?
  "$VENV/bin/python" tools/test_summary.py "$EVENTS" ${said[@]+"${said[@]}"} ||
    status=$?
  return $status
}
