#!/usr/bin/env bash
# Builds Bazel's Rust targets with cargo (defs.bzl):
#
#   cargo_build.sh STAMP dependencies ARCHIVE MANIFEST...
#   cargo_build.sh STAMP binaries FOLDER ARCHIVE LIBTENSORFLOW PACKAGE --bin=NAME...
#     FILE...
#
# STAMP is next to the links to the toolchain and to the crates. FILEs are the manifests and sources
# of the workspace; `--as=PATH FILE` gives a file another path there. A program finds TensorFlow
# relative to itself, and no compiler flag names a folder of this machine.
set -euo pipefail

FOUND=$(dirname "$(readlink -f "$1")")
WHAT=$2
shift 2

# A program is in bazel-out/CONFIGURATION/bin/bindings/rust of the execution root, and TensorFlow's
# libraries are in Bazel's repository @local_config_tf.
TENSORFLOW='$ORIGIN/../../../../../../../external/local_config_tf'

WORKSPACE=$(mktemp -d)
trap 'rm -rf "$WORKSPACE"' EXIT
export CARGO_HOME=$WORKSPACE/home

# add_file PLACE FILE: copies a file into the workspace.
add_file() {
  mkdir -p "$WORKSPACE/$(dirname "$1")"
  cp --dereference "$2" "$WORKSPACE/$1"
}

# build ARGUMENT...: builds with an empty program for each package whose sources are not here,
# because cargo needs the whole workspace.
build() {
  local manifest folder host
  for manifest in "$WORKSPACE"/bindings/rust/{*,*/*}/Cargo.toml; do
    folder=$(dirname "$manifest")
    if [[ -f $manifest && ! -d $folder/src ]]; then
      mkdir "$folder/src"
      printf 'fn main() {}\n' >"$folder/src/main.rs"
    fi
  done
  host=$(sed -n 's/^host: //p' "$FOUND/stamp")
  mkdir -p "$CARGO_HOME"
  cat >"$CARGO_HOME/config.toml" <<CONFIG
[source.crates-io]
replace-with = "crates"
[source.crates]
directory = "$FOUND/crates"
[target.$host]
rustflags = ["-Clink-arg=-Wl,-rpath,$TENSORFLOW"]
[target.$host.tensorflow]
rustc-link-lib = [
  "dylib:+verbatim=libtensorflow_cc.so.2",
  "dylib:+verbatim=libtensorflow_framework.so.2",
]
CONFIG
  PATH=$FOUND/toolchain/bin:$PATH
  # All packages share one build of the crate, so it has the features that any of them asks for.
  (cd "$WORKSPACE" && cargo build --frozen --quiet --target-dir target \
    --features=tensorflow/eager "$@")
}

if [[ $WHAT == dependencies ]]; then
  archive=$1
  shift
  for file in "$@"; do add_file "$file" "$file"; done
  build --workspace
  tar -C "$WORKSPACE" -cf "$archive" target
  exit
fi

output=$1 archive=$2 tensorflow=$3 package=$4
shift 4
binaries=()
while (($#)); do
  case $1 in
    --bin=*) binaries+=("${1#--bin=}") ;;
    --as=*)
      add_file "${1#--as=}" "$2"
      shift
      ;;
    *) add_file "$1" "$1" ;;
  esac
  shift
done
tar -C "$WORKSPACE" -xf "$archive"
# Instead of a flag, which would change the identity of the crates in the archive.
LIBRARY_PATH=$(dirname "$(readlink -f "$tensorflow")")
export LIBRARY_PATH
if [[ -x $FOUND/toolchain/bin/clippy-driver ]]; then
  export RUSTC_WORKSPACE_WRAPPER=$FOUND/toolchain/bin/clippy-driver
fi
build --manifest-path "$package/Cargo.toml" "${binaries[@]/#/--bin=}"
for binary in "${binaries[@]}"; do
  cp "$WORKSPACE/target/debug/$binary" "$output/$binary"
done
