"""@local_config_go: the installed Go toolchain, if any, and the modules of go.sum.

  //:defs.bzl        HAVE_GO, GO (the command), GO_ENVIRON (its environment,
                     with TensorFlow's C API for cgo),
                     if_go(then, otherwise = [])

Go must be on PATH, and `./run test` puts the modules into `go`, next to the `bin`
of the Python interpreter. Without both, targets that need Go are not built.
"""

load("//third_party/python:find_python.bzl", "PYTHON_ENVIRON", "find_python")

# The oldest version that compiles the programs; Debian 12 has it.
_OLDEST = (1, 19)

_DEFS = """
HAVE_GO = {have_go}
GO = "{go}"
GO_ENVIRON = {environ}

def if_go(then, otherwise = []):
    return {chosen}
"""

def _find_go(ctx):
    """The command and an empty string; otherwise None, and what is wrong with
    the one that there is."""
    go = ctx.which("go")
    if not go:
        return None, ""
    modules = ctx.path(find_python(ctx)).dirname.dirname.get_child("go")
    made_from = modules.get_child(".made-from")
    if not made_from.exists:
        return None, ""
    said = ctx.execute([go, "env", "GOVERSION", "CGO_ENABLED", "GOCACHE"])
    lines = said.stdout.strip().split("\n")
    if said.return_code or len(lines) != 3 or not lines[0].startswith("go1."):
        return None, "%s does not run: %s" % (go, said.stderr)
    minor = lines[0][len("go1."):].split(".")[0].split("rc")[0].split("beta")[0]
    if int(minor) < _OLDEST[1]:
        return None, "%s is %s; expected go%d.%d or newer" % (go, lines[0], _OLDEST[0], _OLDEST[1])
    if lines[1] != "1":
        return None, "CGO_ENABLED=%s; the programs call C" % lines[1]
    found = struct(
        cache = lines[2],
        modules = modules,
        path = str(go),
        version = lines[0] + " with " + ctx.read(made_from),
    )
    return found, ""

def _go_configure_impl(ctx):
    ctx.file("BUILD", "")
    go, why = _find_go(ctx)
    if not go:
        if why:
            # buildifier: disable=print
            print("Go is skipped: %s" % why)
        ctx.file("defs.bzl", _DEFS.format(environ = "{}", go = "", have_go = False, chosen = "otherwise"))
        return
    library = ctx.path(Label("@local_config_tf//:libtensorflow_cc.so.2")).realpath
    wheel = library.dirname

    # The C API is in two libraries, and Go asks for one: this tells the linker.
    ctx.file("link/libtensorflow.so", "INPUT({0}/{1} {0}/libtensorflow_framework.so.2)\n".format(
        wheel,
        library.basename,
    ))
    ctx.file("defs.bzl", _DEFS.format(
        environ = repr({
            "CC": ctx.os.environ.get("CC", "") or "gcc",
            "CGO_CFLAGS": "-O2 -I%s/include" % wheel,
            "CGO_ENABLED": "1",
            "CGO_LDFLAGS": "-L%s -Wl,-rpath,%s" % (ctx.path("link"), wheel),
            # Go's cache of compiled packages, which is made to be shared.
            "GOCACHE": go.cache,
            "GOENV": "off",
            "GOFLAGS": "-buildvcs=false -trimpath",
            "GOMODCACHE": str(go.modules),
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "PATH": "/usr/bin:/bin",
            # Go does not read it; it makes the command depend on the versions.
            "VERSION": go.version.strip(),
        }),
        go = go.path,
        chosen = "then",
        have_go = True,
    ))

go_configure = repository_rule(
    implementation = _go_configure_impl,
    configure = True,
    environ = PYTHON_ENVIRON + ["CC", "GOCACHE"],
    local = True,
    doc = "Finds the Go toolchain; without one the repository says so.",
)
