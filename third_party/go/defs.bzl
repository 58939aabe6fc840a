"""go_modules, go_program: Go programs that call TensorFlow's C API, built by the Go
toolchain itself."""

load("@local_config_go//:defs.bzl", "GO", "GO_ENVIRON", "HAVE_GO")
load("@local_config_tf//:info.bzl", "TF_VERSION")

# Go compiles modules, which are folders that hold all their sources, so
# generated sources are first copied next to those of the tree.
_COMMAND = """
set -eu
program=$$PWD/$@
work=$$(mktemp -d)
trap 'rm -rf "$$work"' EXIT
for file in $(SRCS); do
  place=$$work/$${{file#$(BINDIR)/}}
  mkdir -p "$$(dirname "$$place")"
  cp -L "$$file" "$$place"
done
cd "$$work/{module}"
export HOME=$$work
export {environ}
export CGO_CFLAGS="$$CGO_CFLAGS -DTF_VERSION={version}"
"""

_BUILD = """
changes=$$("$$({go} env GOROOT)/bin/gofmt" -d .)
if [ -n "$$changes" ]; then
  echo "gofmt -w changes:\n$$changes" >&2
  exit 1
fi
{go} vet ./...
{go} build -ldflags='-s -w' -o "$$program" "./{package}"
"""

def _go(name, command, tags = [], **kwargs):
    native.genrule(
        name = name,
        cmd = (_COMMAND + command).format(
            environ = " ".join(["%s='%s'" % item for item in sorted(GO_ENVIRON.items())]),
            go = GO,
            module = native.package_name(),
            version = TF_VERSION,
        ),
        # Outside the sandbox, which does not contain Go's cache.
        tags = ["no-sandbox"] + tags,
        **kwargs
    )

def go_modules(name, packages):
    """Compiles packages of other modules, so that programs do not do it side by side.

    Args:
      name: the target, a file that says nothing; without Go there is none.
      packages: the packages, of modules in go.sum.
    """
    if HAVE_GO:
        _go(
            name = name,
            srcs = ["go.mod", "go.sum"],
            outs = [name + ".txt"],
            command = "{go} build %s && : >\"$$program\"" % " ".join(packages),
            # The result is in Go's cache, not in Bazel's.
            tags = ["no-cache"],
        )

def go_program(name, package, modules, **kwargs):
    """A program, formatted by gofmt; `go vet` finds nothing in its module.

    If there is no Go, there is no target.

    Args:
      name: the target and the program.
      package: the folder of its package main, below this one.
      modules: the go_modules that it imports.
      **kwargs: passed on to genrule. `srcs` has all sources of the program and of its module,
        which this folder has, with go.mod and go.sum.
    """
    if HAVE_GO:
        _go(
            name = name + "_program",
            command = _BUILD.replace("{package}", package),
            executable = True,
            outs = [name],
            tools = [modules],
            **kwargs
        )
