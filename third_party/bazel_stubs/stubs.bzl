"""Stand-ins for the repositories that Bazel 4 would download on its own.

Bazel 4 ends every WORKSPACE with rules_cc, rules_java and (for tests)
remote_coverage_tools, fetched from the network. This project needs only names
from them that are native in Bazel 4, so these stubs let it build offline. Later
versions of Bazel bring their own.
"""

def _stub_impl(ctx):
    folder = ctx.path(Label("//third_party/bazel_stubs:BUILD")).dirname.get_child(ctx.attr.folder)
    for entry in folder.readdir():
        ctx.symlink(entry, entry.basename)

# Like local_repository, whose paths are those of the main workspace.
_stub = repository_rule(
    implementation = _stub_impl,
    attrs = {"folder": attr.string(mandatory = True)},
    local = True,
)

def offline_stubs():
    """Defines the three repositories under Bazel 4; does nothing elsewhere."""
    version = native.bazel_version  # "" in Debian's build of 4.2.3.
    if version and not version.startswith("4."):
        return
    for name in ["remote_coverage_tools", "rules_cc", "rules_java"]:
        _stub(
            name = name,
            folder = name,
        )
