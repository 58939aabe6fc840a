# SPDX-License-Identifier: Apache-2.0
"""pytest under Bazel."""

def pytest_test(name, src, deps = [], data = [], args = [], env = {}, draws = False, **kwargs):
    """A py_test that runs pytest on one file.

    Args:
      name: the target's name.
      src: the test file.
      deps: py_library targets that it imports.
      data: files that it reads at run time.
      args: further arguments to pytest.
      env: environment variables.
      draws: whether it needs Matplotlib. Keras imports it wherever it is, which takes
        a second of each process: without `draws` the test's own has none.
      **kwargs: passed on to py_test. With `shard_count` so many processes share
        the tests out among them.
    """
    native.py_test(
        name = name,
        srcs = [
            src,
            "//third_party/python:pytest_main.py",
        ],
        args = ["$(rootpath %s)" % src] + args,
        data = data + [
            "//:pyproject.toml",
            "@local_config_python//:environment.txt",
        ],
        env = dict(env, DRAWS = "1") if draws else env,
        legacy_create_init = 0,
        main = "//third_party/python:pytest_main.py",
        python_version = "PY3",
        deps = deps,
        **kwargs
    )
