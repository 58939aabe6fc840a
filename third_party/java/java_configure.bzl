"""@local_config_java: a JDK and TensorFlow Java, if both are installed.

  //:defs.bzl   HAVE_JAVA, if_java(then, otherwise = []); JAVA, JAVAC and JAR, the
                programs; JAVA_CLASS_PATH, the jars where they lie; JAVA_LIBRARY_PATH,
                the folder of TensorFlow Java's native libraries
  //:jars       the jars to compile against

The JDK must be on PATH, 17 or later. ./run puts the jars into `java`, next to
the `bin` of the Python interpreter.
"""

load("//third_party/python:find_python.bzl", "PYTHON_ENVIRON", "find_python")

_BUILD = """
filegroup(
    name = "jars",
    srcs = {jars},
    visibility = ["//visibility:public"],
)
"""

_DEFS = """
HAVE_JAVA = {have_java}
JAVA = "{java}"
JAVAC = "{javac}"
JAR = "{jar}"
JAVA_CLASS_PATH = "{class_path}"
JAVA_LIBRARY_PATH = "{library_path}"

def if_java(then, otherwise = []):
    return {chosen}
"""

def _write(ctx, jars = [], programs = ["", "", ""], folder = None):
    ctx.file("BUILD", _BUILD.format(jars = [jar.basename for jar in jars]))
    for jar in jars:
        ctx.symlink(jar, jar.basename)
    ctx.file("defs.bzl", _DEFS.format(
        chosen = "then" if jars else "otherwise",
        class_path = ":".join([str(jar) for jar in jars]),
        have_java = bool(jars),
        jar = programs[2],
        java = programs[0],
        javac = programs[1],
        library_path = str(folder.get_child("native")) if folder else "",
    ))

def _version(ctx, javac):
    """The number before the first dot in the output of `javac -version`; 0 if
    none."""
    words = ctx.execute([javac, "-version"]).stdout.strip().split(" ")
    number = words[-1].split(".")[0].split("-")[0]
    return int(number) if number.isdigit() else 0

def _java_configure_impl(ctx):
    programs = [ctx.which(name) for name in ["java", "javac", "jar"]]
    folder = ctx.path(find_python(ctx)).dirname.dirname.get_child("java")

    # The stamp is written last, when everything else is there.
    if None in programs or not folder.get_child(".made-from").exists:
        _write(ctx)
        return
    if _version(ctx, programs[1]) < 17:
        # buildifier: disable=print
        print("Java is skipped: %s is older than 17" % programs[1])
        _write(ctx)
        return
    jars = [entry for entry in folder.readdir() if entry.basename.endswith(".jar")]
    _write(ctx, jars, programs, folder)

java_configure = repository_rule(
    implementation = _java_configure_impl,
    configure = True,
    environ = PYTHON_ENVIRON,
    local = True,
    doc = "Finds a JDK and TensorFlow Java; without them the repository is empty.",
)
