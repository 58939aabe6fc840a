"""wrapper_calls: a language's sources for all_ops_test."""

load("//tensorflow_ext:op_wrappers.bzl", "op_wrappers")

_KINDS = ["//tests/wrappers:libkinds.so"]

def wrapper_calls(
        language,
        all_ops,
        kinds = None,
        all_kinds = None,
        all_objects = None,
        names = ["", ""]):
    """Writes sources; all_ops.py describes what the folder wrappers_test has for it.

    Args:
      language: its option of `python -m tensorflow_ext wrappers`.
      all_ops: the program that calls the wrappers of this library's ops.
      kinds: the wrappers of every kind of op, if tf_ext_op_library does not write them.
      all_kinds: the program that calls these, if the language has one.
      all_objects: the program that writes every optimizer, schedule and initializer as JSON.
      names: --name of the wrappers of this library, and of every kind.
    """
    native.py_binary(
        name = "write_calls",
        testonly = True,
        srcs = ["//tests/wrappers:all_ops.py"] + native.glob(["wrappers_test/*.py"]),
        data = native.glob(["wrappers_test/*.jinja"]),
        imports = ["wrappers_test"],
        legacy_create_init = 0,
        main = "//tests/wrappers:all_ops.py",
        python_version = "PY3",
        srcs_version = "PY3",
        deps = ["//tests/wrappers:calls"],
    )
    for name, out, command, libraries, wrappers_name in [
        ("all_objects_source", all_objects, ":write_calls", [], ""),
        ("all_ops_source", all_ops, ":write_calls", [], names[0]),
        ("all_kinds_source", all_kinds, ":write_calls", _KINDS, ""),
        ("kinds_source", kinds, "//third_party/python:tensorflow_ext_command", _KINDS, names[1]),
    ]:
        if out:
            op_wrappers(
                name = name,
                testonly = True,
                outs = [out],
                command = command,
                language = language,
                libraries = libraries,
                train = name == "all_objects_source",
                wrappers_name = wrappers_name,
            )
