"""@local_config_cuda: the installed CUDA toolkit, if any.

  //:defs.bzl        HAVE_CUDA, NVCC, CUOBJDUMP ('' if there is none),
                     if_cuda(then, otherwise = [])
  //:headers         cuda_runtime.h and what it includes
  //:cudart_static   the CUDA runtime, linked statically
  //:stamp           a header with the toolkit's version, for nvcc's actions

Search order: $NVCC, $CUDA_HOME, /usr/local/cuda, PATH, the packages of the
Python interpreter (nvidia/cu*, where pip puts the toolkit).
TENSORFLOW_EXT_CUDA=no disables the search; =yes makes it an error to find
nothing; with =auto, the default, the build is then for the CPU only.
"""

load("//third_party/python:find_python.bzl", "PYTHON_ENVIRON", "find_python")

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = {headers},
    includes = {includes},
)

# Whole, so that its symbols are definitions in what is linked, whatever the
# order of libraries: TensorFlow's GPU wheel exports stubs of the same names.
cc_library(
    name = "cudart_static",
    srcs = {libraries},
    linkopts = {linkopts},
    alwayslink = 1,
)

filegroup(
    name = "stamp",
    srcs = ["cuda_stamp.h"],
)
"""

_DEFS = """
HAVE_CUDA = {have_cuda}
NVCC = "{nvcc}"
CUOBJDUMP = "{cuobjdump}"

def if_cuda(then, otherwise = []):
    return {chosen}
"""

def _python_candidates(ctx):
    """The places where pip installs nvcc: site-packages/nvidia/cu13/bin and the
    like."""
    found = ctx.execute([
        find_python(ctx),
        "-I",
        "-c",
        "import glob, sysconfig; " +
        "d = sysconfig.get_path('purelib') + '/nvidia/'; " +
        "print('\\n'.join(sorted(glob.glob(d + 'cu[0-9]*/bin/nvcc'), reverse=True)))",
    ])
    return found.stdout.strip().split("\n") if found.return_code == 0 else []

def _find_nvcc(ctx):
    env = ctx.os.environ
    candidates = [env.get("NVCC", "")]
    if env.get("CUDA_HOME", ""):
        candidates.append(env["CUDA_HOME"] + "/bin/nvcc")
    candidates.append("/usr/local/cuda/bin/nvcc")
    candidates.append(str(ctx.which("nvcc") or ""))
    for candidate in candidates + _python_candidates(ctx):
        if candidate and ctx.path(candidate).exists:
            return candidate
    return None

def _find_toolkit(ctx, nvcc):
    """The toolkit of an nvcc, as a struct; otherwise the reason why it is
    unusable."""

    # nvcc itself reports its toolkit, through wrappers and links.
    run = ctx.execute([nvcc, "--dryrun", "-x", "cu", "-c", "/dev/null", "-o", "/dev/null"])
    home = None
    for line in run.stderr.split("\n"):
        if line.startswith("#$ TOP="):
            home = str(ctx.path(line[len("#$ TOP="):].strip()).realpath)
    if not home:
        return "%s does not run: %s" % (nvcc, run.stderr)
    include = home + "/include"
    if not ctx.path(include + "/cuda_runtime.h").exists:
        return "no %s/cuda_runtime.h" % include
    library = None
    for directory in ["lib64", "lib", "targets/x86_64-linux/lib"]:
        candidate = "%s/%s/libcudart_static.a" % (home, directory)
        if ctx.path(candidate).exists:
            library = candidate
            break
    if not library:
        return "no libcudart_static.a below %s" % home
    said = ctx.execute([nvcc, "--version"]).stdout
    version = said.split(", V")[-1].split("\n")[0] if ", V" in said else "unknown"
    cuobjdump = home + "/bin/cuobjdump"
    if not ctx.path(cuobjdump).exists:
        cuobjdump = str(ctx.which("cuobjdump") or "")
    return struct(
        cuobjdump = cuobjdump,
        include = include,
        library = library,
        version = version,
    )

def _without_cuda(ctx):
    ctx.file("cuda_stamp.h", "// no CUDA\n")
    ctx.file("BUILD", _BUILD.format(headers = [], includes = [], libraries = [], linkopts = []))
    ctx.file("defs.bzl", _DEFS.format(
        chosen = "otherwise",
        cuobjdump = "",
        have_cuda = False,
        nvcc = "",
    ))

def _cuda_configure_impl(ctx):
    wanted = ctx.os.environ.get("TENSORFLOW_EXT_CUDA", "") or "auto"
    if wanted not in ["auto", "no", "yes"]:
        fail("TENSORFLOW_EXT_CUDA=%s: expected auto, yes or no" % wanted)
    if wanted == "no":
        _without_cuda(ctx)
        return
    nvcc = _find_nvcc(ctx)
    toolkit = _find_toolkit(ctx, nvcc) if nvcc else "no nvcc found"
    if type(toolkit) == "string":
        if wanted == "yes":
            fail(("TENSORFLOW_EXT_CUDA=yes: %s. Set CUDA_HOME to a complete toolkit, or let " +
                  "`./run build --cuda=yes` install one into .venv.") % toolkit)
        if nvcc:
            # buildifier: disable=print
            print("CUDA is skipped: %s" % toolkit)
        _without_cuda(ctx)
        return
    ctx.symlink(toolkit.include, "include")
    ctx.symlink(toolkit.library, "libcudart_static.a")
    ctx.file("cuda_stamp.h", "// CUDA %s, %s\n" % (toolkit.version, nvcc))
    ctx.file("BUILD", _BUILD.format(
        headers = ["include"],
        includes = ["include"],
        libraries = ["libcudart_static.a"],
        linkopts = ["-ldl", "-lrt", "-lpthread"],
    ))
    ctx.file("defs.bzl", _DEFS.format(
        chosen = "then",
        cuobjdump = toolkit.cuobjdump,
        have_cuda = True,
        nvcc = nvcc,
    ))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = PYTHON_ENVIRON + ["CUDA_HOME", "NVCC", "TENSORFLOW_EXT_CUDA"],
    local = True,
    doc = "Finds the CUDA toolkit; without one the repository is empty.",
)
