"""@local_config_python: the installed Python interpreter.

  //:toolchain        the interpreter, for Bazel's py_* rules
  //:environment.txt  its packages with their versions: data of the Python
                      tests, which run again after one has changed
"""

load(":find_python.bzl", "PYTHON_ENVIRON", "find_python")

_LIST_PACKAGES = """
from importlib.metadata import distributions
names = {"%s==%s" % (d.metadata["Name"], d.version) for d in distributions()}
print("\\n".join(sorted(names)))
"""

_BUILD = """
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

exports_files(["environment.txt"])

py_runtime(
    name = "runtime",
    interpreter_path = "%s",
    python_version = "PY3",
    stub_shebang = "#!/usr/bin/env python3",
)

py_runtime_pair(
    name = "pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "toolchain",
    toolchain = ":pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

def _python_configure_impl(ctx):
    python = find_python(ctx)
    listed = ctx.execute([python, "-I", "-c", _LIST_PACKAGES])
    if listed.return_code:
        fail("%s cannot list its packages: %s" % (python, listed.stderr))
    ctx.file("environment.txt", listed.stdout)
    ctx.file("BUILD", _BUILD % python)

python_configure = repository_rule(
    implementation = _python_configure_impl,
    configure = True,
    environ = PYTHON_ENVIRON,
    local = True,
    doc = "Finds the Python interpreter (see find_python) for Bazel's rules.",
)
