"""java_jar and java_program: sources compiled by the JDK on PATH, offline.

Bazel's own Java rules ask for a toolchain that Bazel downloads.
"""

load(
    "@local_config_java//:defs.bzl",
    "HAVE_JAVA",
    "JAR",
    "JAVA",
    "JAVAC",
    "JAVA_CLASS_PATH",
    "JAVA_LIBRARY_PATH",
)

# --date gives the same bytes in every build.
_COMPILE = """
set -eu
classes=$$(mktemp -d)
sources=$$(mktemp -d)
trap 'rm -rf "$$classes" "$$sources"' EXIT
for source in {srcs}; do
  case $$source in
    *.srcjar) (source=$$PWD/$$source; cd "$$sources"; {jar} --extract --file "$$source") ;;
    *.java) cp "$$source" "$$sources" ;;
  esac
done
deps=$$(echo {deps} {libraries} | tr ' ' ':')
{javac} -Xlint:all -Werror -proc:none --release {release} -encoding UTF-8 \\
  -cp "$$deps$$(printf ':%s' $(locations @local_config_java//:jars))" -d "$$classes" \\
  "$$sources"/*.java
for dep in {deps}; do (dep=$$PWD/$$dep; cd "$$classes"; {jar} --extract --file "$$dep"); done
rm -rf "$$classes/META-INF"
{resources}
{jar} --create --date=2000-01-01T00:00:00Z --file $@ -C "$$classes" .
"""

# The jar follows these lines; to the JVM the file is a jar. TensorFlow Java's
# native libraries are in ./run's folder; otherwise every process would search
# its cache for them, and the first would unpack a gigabyte. Standard output
# belongs to the program, so the JVM's warnings go to standard error. A test may
# write only into its own folder.
_START = """#!/bin/sh
exec {java} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \\
  -Xlog:disable -Xlog:all=warning:stderr \\
  -Djava.library.path={library_path} -Dorg.bytedeco.javacpp.pathsFirst=true \\
  ${{TEST_TMPDIR:+-Dorg.tensorflowext.cachedir="$TEST_TMPDIR"}} \\
  -cp "$0:{class_path}" {main_class} "$@"
"""

def java_jar(name, srcs, deps = [], libraries = [], resources = {}, release = 17, **kwargs):
    """Compiles a jar; does nothing if there is no Java.

    Args:
      name: the jar's file name, with its ending.
      srcs: Java sources (*.java), or archives of some (*.srcjar).
      deps: java_jar targets, whose classes this jar also contains.
      libraries: java_jar targets on its class path.
      resources: other files for the jar: a map from label to path in the jar.
      release: the Java version that it must run on.
      **kwargs: passed on to genrule.
    """
    if not HAVE_JAVA:
        return
    copies = [
        "mkdir -p \"$$classes/$$(dirname {path})\"; cp $(location {label}) \"$$classes/{path}\"".format(
            label = label,
            path = path,
        )
        for label, path in resources.items()
    ]
    native.genrule(
        name = name + "_compile",
        srcs = srcs + deps + libraries + resources.keys() + ["@local_config_java//:jars"],
        outs = [name],
        cmd = _COMPILE.format(
            deps = " ".join(["$(location %s)" % dep for dep in deps]),
            jar = JAR,
            libraries = " ".join(["$(location %s)" % library for library in libraries]),
            javac = JAVAC,
            release = release,
            resources = "\n".join(copies),
            srcs = " ".join(["$(locations %s)" % src for src in srcs]),
        ),
        **kwargs
    )

def java_program(name, main_class, srcs, deps = [], **kwargs):
    """An executable file, with its classes and the path to TensorFlow Java.

    Args:
      name: the file.
      main_class: the class with `main`, with its package.
      srcs: as for java_jar.
      deps: as for java_jar.
      **kwargs: passed on to genrule.
    """
    if not HAVE_JAVA:
        return
    java_jar(
        name = name + ".jar",
        srcs = srcs,
        deps = deps,
        testonly = kwargs.get("testonly", 0),
        visibility = ["//visibility:private"],
    )
    start = _START.format(
        class_path = JAVA_CLASS_PATH,
        java = JAVA,
        library_path = JAVA_LIBRARY_PATH,
        main_class = main_class,
    )
    native.genrule(
        name = name + "_program",
        srcs = [name + ".jar"],
        outs = [name],
        cmd = "{ cat <<'END'\n%sEND\ncat $<; } > $@" % start.replace("$", "$$"),
        executable = 1,
        **kwargs
    )
