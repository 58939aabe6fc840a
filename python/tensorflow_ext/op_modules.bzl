"""op_modules: the Python modules in the folders of ops, as modules of tensorflow_ext.ops.

tensorflow_ext/ops/snake/snake.py is ops/_snake.py here. ops/_modules.py imports all of
them.
"""

def _op_modules_impl(ctx):
    outputs, names = [], []
    for src in ctx.files.srcs:
        name = "_" + src.basename[:-len(".py")]
        output = ctx.actions.declare_file("ops/%s.py" % name)
        ctx.actions.symlink(output = output, target_file = src)
        outputs.append(output)
        names.append(name)
    names = sorted(names)
    lines = ["\"\"\"The modules of ops. The build writes this file.\"\"\"", ""]
    lines += ["from tensorflow_ext.ops import %s" % name for name in names]
    lines += ["from tensorflow_ext.ops.%s import *" % name for name in names]
    lines += ["", "MODULES = [%s]" % ", ".join(names), ""]
    modules = ctx.actions.declare_file("ops/_modules.py")
    ctx.actions.write(modules, "\n".join(lines))
    return [DefaultInfo(files = depset(outputs + [modules]))]

op_modules = rule(
    implementation = _op_modules_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".py"])},
)
