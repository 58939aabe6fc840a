"""go_program: a Go program that calls TensorFlow's C API, built by the Go
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
cd "$$work"
export HOME=$$work
export {environ}
export CGO_CFLAGS="$$CGO_CFLAGS -DTF_VERSION={version}"
{go} work init {modules}
changes=$$("$$({go} env GOROOT)/bin/gofmt" -d .)
if [ -n "$$changes" ]; then
  echo "gofmt -w changes:\n$$changes" >&2
  exit 1
fi
{go} vet {packages}
{go} build -ldflags='-s -w' -o "$$program" "./{package}"
"""

def go_program(name, package, srcs, modules, **kwargs):
    """A program, formatted by gofmt; `go vet` finds nothing in its modules.

    If there is no Go, there is no target.

    Args:
      name: the target and the program.
      package: the folder of its package main, from the root of the workspace.
      srcs: all sources of the program and of the modules that it imports, go.mod
        included.
      modules: the folders of these modules, from the root of the workspace.
      **kwargs: passed on to genrule.
    """
    if not HAVE_GO:
        return
    native.genrule(
        name = name + "_program",
        srcs = srcs,
        outs = [name],
        cmd = _COMMAND.format(
            environ = " ".join(["%s='%s'" % item for item in sorted(GO_ENVIRON.items())]),
            go = GO,
            modules = " ".join(modules),
            package = package,
            packages = " ".join(["./%s/..." % module for module in modules]),
            version = TF_VERSION,
        ),
        executable = True,
        # Outside the sandbox, which does not contain Go's cache.
        tags = ["no-sandbox"],
        **kwargs
    )
