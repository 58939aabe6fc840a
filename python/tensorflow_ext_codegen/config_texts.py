"""The settings of each language's build: flags, exports, and files of its tools."""

import dataclasses
import pathlib
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from xml.sax import saxutils

import tensorflow as tf

from tensorflow_ext import _compatibility, sysconfig
from tensorflow_ext._runtime import _library

# The files of TensorFlow Java. Its native libraries are those of the wheel, so each
# version (_NATIVE) is for one of TensorFlow's; 1.1.0 of the interface runs on all.
_NATIVE = "the release for this TensorFlow"
_JAVA = (
    ("org.tensorflow", "tensorflow-core-api", "1.1.0", ""),
    ("org.tensorflow", "tensorflow-core-native", _NATIVE, ""),
    ("org.tensorflow", "tensorflow-core-native", _NATIVE, "linux-x86_64"),
    ("org.tensorflow", "ndarray", "1.0.0", ""),
    ("org.bytedeco", "javacpp", "1.5.12", ""),
    ("org.bytedeco", "javacpp", "1.5.12", "linux-x86_64"),
    ("com.google.protobuf", "protobuf-java", "4.31.1", ""),
)

# Maven Central has tensorflow-core-native 1.2.0, but not its parent. That of 1.1.0 has all that it
# refers to.
JAVA_PARENT = pathlib.PurePath("org/tensorflow/tensorflow-core/1.2.0/tensorflow-core-1.2.0.pom")
JAVA_PARENT_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<parent>
  <groupId>org.tensorflow</groupId>
  <artifactId>tensorflow-core</artifactId>
  <version>1.1.0</version>
</parent>
<groupId>org.tensorflow</groupId>
<artifactId>tensorflow-core</artifactId>
<version>1.2.0</version>
<packaging>pom</packaging>
</project>
"""

# Only files that contain this line are overwritten.
WRITTEN = "Written by python -m tensorflow_ext config, which overwrites changes"

# The characters that every tool accepts in a path; each tool splits at some others.
_IN_PATHS = r"[\w ./+@%=~-]"


class ConfigError(Exception):
    """The command failed; the message says why."""


@dataclasses.dataclass
class Setting:
    """The settings that one language needs.

    Attributes:
      text: The text to print.
      files: The files to write, by name.
      after: The text to print after writing the files.
    """

    text: str
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    after: str = ""


def check_path(path: str | pathlib.Path) -> None:
    """Checks that the tools can read a path.

    Raises:
      ConfigError: A tool does not accept one of its characters.
    """
    others = sorted(set(re.sub(_IN_PATHS, "", str(path))))
    if others:
        raise ConfigError(
            f"config: the path {str(path)!r} contains {' and '.join(map(repr, others))}, "
            "which compilers, linkers or shells misread; move it to a path without these "
            "characters"
        )


def _words(flags: Iterable[str], what: str) -> str:
    """Flags as the words of `$(...)`, which does not process quotes."""
    flags = list(flags)
    for flag in flags:
        if " " in flag:
            raise ConfigError(
                f"config: {flag!r} has a space, where $(...) would split it; "
                f"--write FOLDER writes a file instead, {what}"
            )
    return " ".join(flags)


def _quoted(flags: Iterable[str]) -> str:
    """Flags as GCC reads them from a file and Go reads them from the environment."""
    return " ".join(f'"{flag}"' if " " in flag else flag for flag in flags)


def _compiler(c: bool, folder: pathlib.Path | None) -> Setting:
    flags = [*sysconfig.get_compile_flags(c=c), *sysconfig.get_link_flags(rpath=True)]
    name = "tensorflow_ext_c.flags" if c else "tensorflow_ext_cxx.flags"
    if folder is None:
        return Setting(_words(flags, "for the compiler's @FILE"))
    # The outer quotes are the compiler's, even if the shell needs quotes too.
    return Setting("", {name: f"{_quoted(flags)}\n"}, shlex.quote(f"@{folder / name}"))


def _c(folder: pathlib.Path | None) -> Setting:
    return _compiler(True, folder)


def _cxx(folder: pathlib.Path | None) -> Setting:
    return _compiler(False, folder)


def _cmake(folder: pathlib.Path | None) -> Setting:
    package = sysconfig.get_cmake_dir()
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    if folder is None:
        flags = [f"-Dtensorflow_ext_DIR={package}", python]
        return Setting(_words(flags, "for -Dtensorflow_ext_DIR=FOLDER"))
    text = f"""\
# {WRITTEN}.
#
# For find_package(tensorflow_ext): cmake -Dtensorflow_ext_DIR="{folder}"
if(NOT Python3_EXECUTABLE)
  set(Python3_EXECUTABLE "{sys.executable}")
endif()
include("{package}/tensorflow_extConfig.cmake")
"""
    after = shlex.quote(f"-Dtensorflow_ext_DIR={folder}")
    return Setting(text, {"tensorflow_extConfig.cmake": text}, after)


def _linker_script() -> dict[str, str]:
    """libtensorflow.so for programs that link with -ltensorflow. It refers to both libraries
    of the wheel, which together hold the C interface."""
    paths = " ".join(f'"{path}"' for path in sysconfig.get_tensorflow_libraries())
    script = f"/* {WRITTEN}. */\nINPUT({paths})\n"
    return {"libtensorflow.so": script}


def _package(name: str, description: str, version: str, flags: str, libs: str) -> str:
    return f"""\
# {WRITTEN}.
Name: {name}
Description: {description}
Version: {version}
Cflags: {flags}
Libs: {libs}
"""


def _pkg_config(folder: pathlib.Path | None) -> Setting:
    def escaped(flags: Iterable[str]) -> str:
        return " ".join(flag.replace(" ", r"\ ") for flag in flags)

    compile_flags = escaped(sysconfig.get_compile_flags(c=True))
    own = _package(
        "tensorflow_ext",
        "TensorFlow ops whose gradients are written once, in C++",
        _library.VERSION,
        compile_flags,
        escaped(sysconfig.get_link_flags(rpath=True)),
    )
    if folder is None:
        return Setting(own)
    tensorflow = _package(
        "tensorflow",
        "TensorFlow's C interface, from the Python wheel",
        tf.__version__,
        compile_flags,
        escaped([f"-L{folder}", "-ltensorflow", _rpath()]),
    )
    return Setting(
        own,
        {"tensorflow_ext.pc": own, "tensorflow.pc": tensorflow, **_linker_script()},
        _exports({"PKG_CONFIG_PATH": str(folder)}, appended="PKG_CONFIG_PATH"),
    )


def _rpath() -> str:
    return f"-Wl,-rpath,{tf.sysconfig.get_lib()}"


def _exports(values: dict[str, str], appended: str = "") -> str:
    """Lines for a shell. The variable `appended` keeps its previous value."""
    lines = []
    for name, value in values.items():
        rest = f"${{{name}:+:${name}}}" if name == appended else ""
        lines.append(f"export {name}={shlex.quote(value)}{rest}")
    return "\n".join(lines)


def _cargo(folder: pathlib.Path | None) -> Setting:
    libraries = [pathlib.Path(path) for path in sysconfig.get_tensorflow_libraries()]
    names = ", ".join(f'"dylib:+verbatim={path.name}"' for path in libraries)
    target = "target.x86_64-unknown-linux-gnu"
    text = f"""\
# {WRITTEN}.
#
# .cargo/config.toml, in the folder of a crate that uses the crate "tensorflow", or
# in a folder above it.

# Without these, the crate's build script searches for an installed TensorFlow and, if
# there is none, downloads an old one.
[{target}.tensorflow]
rustc-link-search = ["native={libraries[0].parent}"]
rustc-link-lib = [{names}]

[{target}]
rustflags = ["-Clink-arg={_rpath()}"]

[env]
TENSORFLOW_EXT_LIBRARY = "{_library.LOADER}" # for tensorflow_ext::load
"""
    return Setting(text, {".cargo/config.toml": text})


def _go(folder: pathlib.Path | None) -> Setting:
    libraries = [pathlib.Path(path) for path in sysconfig.get_tensorflow_libraries()]
    link = [f"-L{libraries[0].parent}", *(f"-l:{path.name}" for path in libraries)]
    if folder is not None:
        link.append(f"-L{folder}")
    flags = sysconfig.get_compile_flags(c=True)
    text = _exports(
        {
            "CGO_CFLAGS": _quoted(["-O2", "-g", *flags]),
            "CGO_LDFLAGS": _quoted(["-O2", "-g", *link, _rpath()]),
            "TENSORFLOW_EXT_LIBRARY": str(_library.LOADER),
        }
    )
    if folder is None:
        hint = "# For -ltensorflow, which graft links, add --write FOLDER."
        return Setting(f"{hint}\n{text}")
    return Setting(text, _linker_script(), text)


def java_dependencies() -> str:
    """The Maven dependencies on the TensorFlow Java of this TensorFlow.

    Raises:
      ConfigError: It has none.
    """
    native = _compatibility.java_release()
    if native is None:
        raise ConfigError(
            f"config: TensorFlow Java has releases for TensorFlow "
            f"{' and '.join(_compatibility.java_versions())}, and this is "
            f"{tf.__version__}; the two must match, because Java uses the libraries of "
            "TensorFlow's wheel"
        )
    return "\n".join(
        _dependency(group, name, native if version is _NATIVE else version, classifier)
        for group, name, version, classifier in _JAVA
    )


def _java(folder: pathlib.Path | None) -> Setting:
    dependencies = java_dependencies()
    library = saxutils.escape(str(_library.LOADER))
    text = f"""\
<!-- The program loads this file, once and before its first graph: by TfExtLibrary.load of the
     typed ops (python -m tensorflow_ext wrappers), which takes it from the system property
     of this name, or by org.tensorflow.TensorFlow.loadLibrary with this path. -->
<properties>
  <tensorflow_ext.library>{library}</tensorflow_ext.library>
</properties>
<dependencies>
{dependencies}
</dependencies>
"""
    if folder is None:
        hint = "<!-- Maven Central lacks a part of TensorFlow Java; --write FOLDER adds it. -->"
        text = f"{hint}\n{text}"
    comment, _, rest = text.partition("<properties>\n")
    project = f"""\
<?xml version="1.0" encoding="UTF-8"?>
{comment}<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>example</groupId>
<artifactId>example</artifactId>
<version>1</version>
<repositories>
  <repository>
    <id>tensorflow-core</id>
    <url>file://${{project.basedir}}/repository</url>
  </repository>
</repositories>
<properties>
  <maven.compiler.source>11</maven.compiler.source>
  <maven.compiler.target>11</maven.compiler.target>
  <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
{rest}</project>
"""
    return Setting(text, {"pom.xml": project, f"repository/{JAVA_PARENT}": JAVA_PARENT_POM})


def _dependency(group: str, artifact: str, version: str, classifier: str) -> str:
    fields = {"groupId": group, "artifactId": artifact, "version": version}
    if classifier:
        fields["classifier"] = classifier
    lines = "".join(f"    <{name}>{v}</{name}>\n" for name, v in fields.items())
    return f"  <dependency>\n{lines}  </dependency>"


#: The purpose and the maker of the settings, by option of the command. The maker takes
#: the folder of the files, None if nothing is written.
KINDS: dict[str, tuple[str, Callable[[pathlib.Path | None], Setting]]] = {
    "c": ("flags: cc main.c $(python -m tensorflow_ext config --c)", _c),
    "cxx": ("flags: g++ main.cc $(python -m tensorflow_ext config --cxx)", _cxx),
    "cmake": ("flags that let CMake find the package tensorflow_ext", _cmake),
    "pkg-config": ("tensorflow_ext.pc; --write adds tensorflow.pc", _pkg_config),
    "cargo": (".cargo/config.toml for the crate tensorflow", _cargo),
    "go": ('exports for cgo: eval "$(python -m tensorflow_ext config --go)"', _go),
    "java": ("the Maven dependencies on TensorFlow Java, and the path to load", _java),
}
