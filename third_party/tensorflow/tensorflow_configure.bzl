"""@local_config_tf: the installed TensorFlow wheel.

  //:framework       headers and libtensorflow_framework
  //:cc              the same and libtensorflow_cc: the C API, the C++ graph
                     API, and the headers of XLA
  //:headers         headers alone
  //:info.bzl        TF_VERSION
"""

load("//third_party/python:find_python.bzl", "PYTHON_ENVIRON", "find_python")
load(":versions.bzl", "check_version", "compiler_settings")

_VERSIONS = Label("//requirements:tensorflow_versions.txt")

# Finds TensorFlow without importing it, which takes seconds.
_FIND_TENSORFLOW = """
import importlib.metadata, importlib.util, sys
spec = importlib.util.find_spec("tensorflow")
if spec is None:
    sys.exit("no module named tensorflow")
print(spec.submodule_search_locations[0])
for name in ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu"):
    try:
        print(importlib.metadata.version(name))
        break
    except importlib.metadata.PackageNotFoundError:
        pass
else:
    sys.exit("a module named tensorflow of no known distribution")
"""

_LIBRARIES = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]

# The headers are one directory, because ten thousand files in a glob double the
# time of an incremental build. `includes` become -isystem, which hides warnings
# from them.
_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files([
    "libtensorflow_cc.so.2",
    "libtensorflow_framework.so.2",
])

cc_library(
    name = "headers",
    hdrs = ["include"],
    defines = {defines},
    includes = {includes},
)

cc_import(
    name = "libtensorflow_cc",
    shared_library = "libtensorflow_cc.so.2",
)

cc_import(
    name = "libtensorflow_framework",
    shared_library = "libtensorflow_framework.so.2",
)

cc_library(
    name = "framework",
    deps = [
        ":headers",
        ":libtensorflow_framework",
    ],
)

cc_library(
    name = "cc",
    deps = [
        ":framework",
        ":libtensorflow_cc",
    ],
)
"""

def _tensorflow_configure_impl(ctx):
    python = find_python(ctx)
    found = ctx.execute([python, "-I", "-c", _FIND_TENSORFLOW])
    if found.return_code:
        fail(("no TensorFlow for %s: %s. `./run build` makes a .venv with TensorFlow; " +
              "--repo_env=TF_PYTHON=/path/to/python selects another interpreter.") %
             (python, found.stderr.strip()))
    directory, version = found.stdout.strip().split("\n")
    checked = check_version(version, ctx.read(_VERSIONS))
    if checked.error:
        fail(checked.error)
    if checked.warning:
        print("WARNING: " + checked.warning)  # buildifier: disable=print
    for name in ["include"] + _LIBRARIES:
        path = directory + "/" + name
        if not ctx.path(path).exists:
            fail("TensorFlow %s of %s is incomplete: %s is missing" % (version, python, path))
        ctx.symlink(path, name)
    settings = compiler_settings(version)
    ctx.file("info.bzl", "TF_VERSION = \"%s\"\n" % version)
    ctx.file("BUILD", _BUILD.format(
        defines = repr(settings.defines),
        includes = repr(settings.includes),
    ))

tensorflow_configure = repository_rule(
    implementation = _tensorflow_configure_impl,
    configure = True,
    environ = PYTHON_ENVIRON,
    local = True,
    doc = "Finds the TensorFlow wheel of the Python interpreter (see find_python).",
)
