"""Finds the Python interpreter for the repository rules."""

# The variables that find_python reads, for the `environ` of a repository rule.
PYTHON_ENVIRON = ["PATH", "TF_PYTHON"]

def find_python(ctx):
    """The path of the interpreter whose packages this build uses.

    Args:
      ctx: the context of a repository rule whose environ has PYTHON_ENVIRON.

    Returns:
      $TF_PYTHON, else the interpreter of .venv in the workspace being built,
      else that of .venv in this workspace, if it is a dependency, else python3
      on PATH. Symlinks are not resolved, because behind them a virtual
      environment's interpreter no longer finds its packages.
    """
    named = ctx.os.environ.get("TF_PYTHON", "")
    if named:
        if not ctx.path(named).exists:
            fail("TF_PYTHON=%s: no such file; name a Python interpreter that has TensorFlow" % named)
        return named
    tried = []
    for workspace in [Label("@//:WORKSPACE"), Label("//:WORKSPACE")]:
        in_venv = str(ctx.path(workspace).dirname) + "/.venv/bin/python"
        if ctx.path(in_venv).exists:
            return in_venv
        tried.append(in_venv)
    on_path = ctx.which("python3")
    if not on_path:
        fail(("no Python: neither %s nor python3 on PATH; `./run build` of tensorflow_ext " +
              "makes the former") % " nor ".join(tried))
    return str(on_path)
