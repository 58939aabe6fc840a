"""rust_dependencies, rust_binaries: a cargo workspace, built without a network.

cargo builds a whole workspace into one folder. Bazel keeps the compiled
third-party crates in an archive, so that an edit, or another package, compiles
only its own sources.
"""

load("@local_config_rust//:defs.bzl", "HAVE_RUST")

_COMMAND = "$(location //third_party/rust:cargo_build.sh) $(location @local_config_rust//:stamp) "
_MANIFESTS = "//:cargo_workspace"
_INPUTS = ["@local_config_rust//:stamp", _MANIFESTS]
_ARCHIVE = "//third_party/rust:dependencies.tar"

def rust_dependencies(name):
    """<name>.tar: the compiled crates of Cargo.lock that the workspace uses.

    Args:
      name: the target; it does not exist if there is no cargo.
    """
    if HAVE_RUST:
        native.genrule(
            name = name,
            srcs = _INPUTS,
            outs = [name + ".tar"],
            cmd = _COMMAND + "dependencies $@ $(locations %s)" % _MANIFESTS,
            message = "Compiling the crates of Cargo.lock",
            # Cargo compiles the crates again if their folder has another path than in the archive,
            # as it has in another checkout.
            tags = ["no-cache"],
            tools = ["//third_party/rust:cargo_build.sh"],
            visibility = ["//visibility:public"],
        )

def rust_binaries(name, srcs, binaries, generated = {}, package = None, **kwargs):
    """The programs of the cargo package in this folder.

    A warning of the compiler or of clippy is an error.

    Args:
      name: the rule's name; it does not exist if there is no cargo.
      srcs: the sources, below src.
      binaries: the names of the programs, each a target.
      generated: sources that a rule makes: a map from label to path in the
        package.
      package: the folder of the cargo package, from the root; by default this
        folder.
      **kwargs: passed on to genrule.
    """
    if not HAVE_RUST:
        return
    package = package or native.package_name()
    sources = [":" + src for src in srcs]
    native.genrule(
        name = name,
        srcs = _INPUTS + sources + generated.keys() + [
            _ARCHIVE,
            "@local_config_tf//:libtensorflow_cc.so.2",
            "@local_config_tf//:libtensorflow_framework.so.2",
        ],
        outs = binaries,
        cmd = " ".join(
            [_COMMAND, "binaries $(RULEDIR) $(location %s)" % _ARCHIVE] +
            ["$(location @local_config_tf//:libtensorflow_cc.so.2)", package] +
            ["--bin=" + binary for binary in binaries] +
            ["$(locations %s)" % _MANIFESTS] +
            ["$(location %s)" % source for source in sources] +
            ["--as=%s/%s $(location %s)" % (package, path, label) for label, path in generated.items()],
        ),
        executable = False,
        message = "Compiling the Rust programs of",
        tools = ["//third_party/rust:cargo_build.sh"],
        **kwargs
    )
