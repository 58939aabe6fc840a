"""The languages of this folder, and their programs."""

load("@local_config_go//:defs.bzl", "if_go")
load("@local_config_java//:defs.bzl", "if_java")
load("@local_config_rust//:defs.bzl", "if_rust")

# As in languages.py.
FOLDERS = {"C": "c", "C++": "cxx", "Go": "go", "Java": "java", "Rust": "rust"}

_INSTALLED = ["C++", "C"] + if_go(["Go"]) + if_rust(["Rust"]) + if_java(["Java"])

def programs(name, without = []):
    """The programs of this name, by language.

    Args:
      name: the target in the folder of each language.
      without: the languages that have none. Those without a toolchain are left out, too.
    """
    return {
        language: "//bindings/%s:%s" % (FOLDERS[language], name)
        for language in _INSTALLED
        if language not in without
    }

def paths(programs):
    """The same for an environment variable: LANGUAGE=PATH, separated by spaces."""
    return " ".join(["%s=$(rootpath %s)" % program for program in programs.items()])
