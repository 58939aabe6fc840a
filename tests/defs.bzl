"""A folder's tests: py_suite for its *_test.py, cc_suite for its *_test.cc.

Each test has a share of the time of all tests, in budget.bzl.
"""

load("//tensorflow_ext:defs.bzl", "COPTS")
load(":budget.bzl", "CORE_SECONDS")

# Tags of tests that read the source tree itself. They always run, outside the sandbox, so they see
# every new file.
READS_SOURCE_TREE = ["external", "local"]

LIBRARY = "//tensorflow_ext:libtensorflow_ext.so"

def _check_share(name):
    label = "//%s:%s" % (native.package_name(), name)
    if label not in CORE_SECONDS:
        fail("%s has no share of the tests' time: tests/budget.bzl gives it one" % label)

def _settings(found, tests):
    """The settings of each test, found or named."""
    settings = {name: {} for name in found}
    settings.update(tests)
    return {name: own for name, own in settings.items() if own != None}

def _distinct(labels):
    return {label: None for label in labels}.keys()

def py_helpers(name, srcs, **kwargs):
    """Modules that tests import by their file's name."""
    native.py_library(
        name = name,
        testonly = True,
        srcs = srcs,
        imports = ["."],
        srcs_version = "PY3",
        visibility = ["//visibility:public"],
        **kwargs
    )

def _py_test(name, src = None, srcs = [], data = [], env = {}, paths = {}, draws = False, **kwargs):
    _check_share(name)
    srcs = srcs or [src or name + ".py"]
    paths = {variable: "$(rootpath %s)" % file for variable, file in paths.items()}
    native.py_test(
        name = name,
        srcs = srcs + ["//third_party/python:pytest_main.py"],
        args = ["$(rootpath %s)" % src for src in srcs],
        data = data + ["//:pyproject.toml", "@local_config_python//:environment.txt"],
        env = dict(dict(env, **paths), **({"DRAWS": "1"} if draws else {})),
        legacy_create_init = 0,
        main = "//third_party/python:pytest_main.py",
        python_version = "PY3",
        **kwargs
    )

def py_suite(deps = [], data = [], exclude = [], tests = {}, together = None, **kwargs):
    """Runs pytest on each *_test.py of a folder, and makes a library of its other files.

    The library has the folder's name; all tests of the folder may import it, and `commands`.

    Args:
      deps: py_library targets that the tests and the library import.
      data: files that they read at run time.
      exclude: *.py that are neither tests nor part of the library.
      tests: A dictionary from a test's name to its own settings: attributes of py_test (`deps`
        and `data` are added to those of all tests), and
          src: The test file, if the test has another name.
          paths: Environment variables that hold the path of a file.
          draws: True if it needs Matplotlib, which other tests cannot see
            (third_party/python/quick_start).
          shard_count: The number of processes that share the tests.
        None skips the test.
      together: The settings of one test, <folder>_test, of all files that `tests` does not name.
        Its process imports TensorFlow once for all of them.
      **kwargs: Settings of all tests.
    """
    deps = _distinct(deps + ["//tests:commands"])
    folder = native.package_name().split("/")[-1]
    helpers = native.glob(["*.py"], exclude = ["*_test.py"] + exclude, allow_empty = True)
    if helpers:
        py_helpers(folder, helpers, data = data, deps = deps)
        deps, data = [":" + folder], []
    found = [file[:-len(".py")] for file in native.glob(["*_test.py"])]
    if together != None:
        files = [name + ".py" for name in found if name not in tests]
        tests = dict(tests, **{folder + "_test": dict(together, srcs = files)})
        found = []
    for name, own in _settings(found, tests).items():
        own = dict(kwargs, **own)
        paths = own.get("paths", {}).values()
        own["deps"] = _distinct(deps + own.get("deps", []))
        files = own.get("data", [])
        own["data"] = data + files + [file for file in paths if file not in files]
        _py_test(name, **own)

def cc_suite(deps = [], tests = {}):
    """A C++ test for each *_test.cc of a folder.

    Args:
      deps: cc_library targets of all tests.
      tests: A dictionary from a test's name to its own settings: attributes of cc_test (`deps`
        and `copts` are added to those of all tests, `srcs` to its file), and
          src: The test file, if the test has another name.
        None skips the test.
    """
    found = [file[:-len(".cc")] for file in native.glob(["*_test.cc"])]
    for name, own in _settings(found, tests).items():
        _check_share(name)
        attributes = dict({"size": "small", "src": name + ".cc"}, **own)
        attributes["srcs"] = [attributes.pop("src")] + own.get("srcs", [])
        attributes["copts"] = COPTS + own.get("copts", [])
        attributes["deps"] = deps + own.get("deps", [])
        native.cc_test(name = name, **attributes)

def cc_shared_library(name, srcs = None, copts = COPTS, deps = ["@local_config_tf//:framework"]):
    """lib<name>.so, which a test loads; by default of <name>.cc, with TensorFlow's framework."""
    native.cc_binary(
        name = "lib%s.so" % name,
        testonly = True,
        srcs = srcs or [name + ".cc"],
        copts = copts,
        linkshared = True,
        deps = deps,
    )
