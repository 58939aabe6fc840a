"""The settings for compiling against each version of TensorFlow.

tensorflow_ext/base/compatibility.h has the differences in source code.
"""

def split_version(version):
    """Splits a version into the macros of TensorFlow's release_version.h.

    Args:
      version: of a wheel, such as "2.21.0rc1".

    Returns:
      A struct of the strings major, minor, patch and suffix: "2", "21", "0", "rc1".
    """
    major, minor, rest = version.split(".", 2)
    patch = ""
    for i in range(len(rest)):
        if not rest[i].isdigit():
            break
        patch += rest[i]
    return struct(major = major, minor = minor, patch = patch, suffix = rest[len(patch):])

def _minor(version):
    parts = split_version(version)
    return (int(parts.major), int(parts.minor))

def check_version(version, list_of_versions):
    """Compares a wheel with the versions that this tree is built and tested
    for.

    Args:
      version: the wheel's version.
      list_of_versions: the text of requirements/tensorflow_versions.txt.

    Returns:
      A struct of `error`, the reason not to compile, and `warning`; each may be
      "".
    """
    tested = [
        line
        for line in [line.split("#")[0].strip() for line in list_of_versions.split("\n")]
        if line
    ]
    if _minor(version) < _minor(tested[0]):
        return struct(warning = "", error = (
            "TensorFlow %s: expected %s or newer; the versions are %s."
        ) % (version, tested[0], ", ".join(tested)))
    if _minor(version) > _minor(tested[-1]):
        return struct(error = "", warning = (
            "TensorFlow %s is newer than %s, the last tested version. If something does not " +
            "compile, change tensorflow_ext/base/compatibility.h and " +
            "third_party/tensorflow/versions.bzl."
        ) % (version, tested[-1]))
    return struct(error = "", warning = "")

def compiler_settings(version):
    """Returns the compile settings for files that include TensorFlow's headers.

    They are the same in all versions from 2.18 to 2.21; add differences here.

    Args:
      version: the wheel's version.

    Returns:
      A struct of `defines` and, below the wheel's folder, `includes`.
    """
    parts = split_version(version)
    return struct(
        # The settings that the wheel was built with. A changed wheel changes
        # the version and therefore every command that compiles against it.
        defines = [
            "EIGEN_MAX_ALIGN_BYTES=64",
            "TF_MAJOR_VERSION=" + parts.major,
            "TF_MINOR_VERSION=" + parts.minor,
            "TF_PATCH_VERSION=" + parts.patch,
            "TF_VERSION_SUFFIX=\\\"%s\\\"" % parts.suffix,
        ],
        includes = [
            "include",
            "include/external/farmhash_archive/src",
            "include/external/highwayhash",
        ],
    )
