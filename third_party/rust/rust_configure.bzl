"""@local_config_rust: cargo, if it is on PATH and as new as Cargo.toml
requires, and the crates of Cargo.lock.

  //:defs.bzl   HAVE_RUST, CARGO and RUSTFMT ('' if there is none),
                if_rust(then, otherwise = [])
  //:stamp      a file that names the compiler and the crates. Next to it are
                the links `toolchain` and `crates`

`./run test` puts the crates into `rust`, next to the `bin` of the Python
interpreter. Without them, or without cargo, the repository is empty, and no
Rust is built.
"""

load("//third_party/python:find_python.bzl", "PYTHON_ENVIRON", "find_python")

_DEFS = """
HAVE_RUST = {have_rust}
CARGO = "{cargo}"
RUSTFMT = "{rustfmt}"

def if_rust(then, otherwise = []):
    return {chosen}
"""

def _without_rust(ctx):
    ctx.file("BUILD", "")
    ctx.file("defs.bzl", _DEFS.format(cargo = "", chosen = "otherwise", have_rust = False, rustfmt = ""))

def _ask(ctx, rustc, *arguments):
    answer = ctx.execute([rustc] + list(arguments))
    if answer.return_code:
        fail("%s does not run: %s" % (rustc, answer.stderr))
    return answer.stdout.strip()

def _is_new_enough(ctx, rustc):
    """True if it meets rust-version of the workspace."""
    manifest = ctx.read(Label("//:Cargo.toml"))
    oldest = manifest.partition('\nrust-version = "')[2].partition('"')[0]
    answer = ctx.execute([rustc, "--version"])
    if answer.return_code:
        return False
    version = answer.stdout.split(" ")[1]
    numbers = [[int(n) for n in v.split(".")[:2]] for v in (version, oldest)]
    return numbers[0] >= numbers[1]

def _rust_configure_impl(ctx):
    rustc = ctx.which("rustc")
    installed = ctx.path(find_python(ctx)).dirname.dirname.get_child("rust")
    made_from = installed.get_child(".made-from")
    if not rustc or not made_from.exists or not _is_new_enough(ctx, rustc):
        _without_rust(ctx)
        return

    # Bypasses rustup's commands, which need to know the user's home folder.
    toolchain = _ask(ctx, rustc, "--print", "sysroot")
    if not ctx.path(toolchain + "/bin/cargo").exists:
        _without_rust(ctx)
        return
    ctx.symlink(toolchain, "toolchain")
    ctx.symlink(installed.get_child("crates"), "crates")
    ctx.file("stamp", "%s\n%s" % (_ask(ctx, rustc, "-vV"), ctx.read(made_from)))
    ctx.file("BUILD", 'exports_files(["stamp"])\n')
    rustfmt = toolchain + "/bin/rustfmt"
    ctx.file("defs.bzl", _DEFS.format(
        cargo = toolchain + "/bin/cargo",
        chosen = "then",
        have_rust = True,
        rustfmt = rustfmt if ctx.path(rustfmt).exists else "",
    ))

rust_configure = repository_rule(
    implementation = _rust_configure_impl,
    configure = True,
    environ = PYTHON_ENVIRON,
    local = True,
    doc = "Finds cargo and the crates; without them the repository is empty.",
)
