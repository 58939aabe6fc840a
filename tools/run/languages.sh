# Part of ./run: Go, Rust and Java.

# install_go: fetches the modules of go.sum, so that Bazel builds without a network.
install_go() {
  local folder=$VENV/go made_from
  if ! command -v go >/dev/null; then
    say "no go found: Go programs are skipped (https://go.dev/dl has it)"
    return
  fi
  made_from=$(sha256sum bindings/go/go.sum)
  [[ $(cat "$folder/.made-from" 2>/dev/null) == "$made_from" ]] && return
  rm -rf "$folder"
  GOMODCACHE=$folder GOFLAGS=-modcacherw GOTOOLCHAIN=local \
    step go "fetching the modules of go.sum" env -C bindings/go go mod download
  printf '%s\n' "$made_from" >"$folder/.made-from"
  restart_bazel # Bazel checks once in its server's life what is installed.
}

# install_rust: fetches the crates of Cargo.lock, so that Bazel builds without a network.
install_rust() {
  local folder=$VENV/rust made_from oldest version
  if ! command -v cargo >/dev/null; then
    say "no cargo found: Rust programs are skipped (https://rustup.rs installs it)"
    return
  fi
  oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
  version=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) || true
  if ! printf '%s\n' "$oldest" "$version" | sort --version-sort --check=quiet; then
    say "rustc is ${version:-not able to run}: Rust programs are skipped, because they need" \
      "$oldest or newer (https://rustup.rs installs it)"
    return
  fi
  made_from=$(sha256sum Cargo.lock)
  [[ $(cat "$folder/.made-from" 2>/dev/null) == "$made_from" ]] && return
  rm -rf "$folder"
  step cargo "fetching the crates of Cargo.lock" cargo vendor --locked "$folder/crates"
  printf '%s\n' "$made_from" >"$folder/.made-from"
  restart_bazel # Bazel checks once in its server's life what is installed.
}

# install_java: installs the TensorFlow Java that contains this TensorFlow, so that Bazel compiles
# without a network.
install_java() {
  local lock=requirements/java-$TENSORFLOW.txt folder=$VENV/java made_from
  if [[ ! -f $lock ]]; then
    say "TensorFlow Java has no release for TensorFlow $TENSORFLOW: Java programs are skipped"
    return
  fi
  made_from=$(sha256sum "$lock")
  [[ $(cat "$folder/.made-from" 2>/dev/null) == "$made_from" ]] && return
  if ! type javac mvn >/dev/null 2>&1; then
    say "no JDK or no Maven found: Java programs are skipped" \
      "(Debian: apt-get install default-jdk maven)"
    return
  fi
  step maven "installing TensorFlow Java into ${VENV##*/}/java" \
    third_party/java/fetch_jars.sh "$lock" "$folder"
  printf '%s\n' "$made_from" >"$folder/.made-from"
  restart_bazel # Bazel checks once in its server's life what is installed.
}
