"""op_wrappers: writes typed wrappers of ops in another language during the build."""

def _op_wrappers_impl(ctx):
    arguments = ctx.actions.args()
    arguments.add("wrappers")
    arguments.add("--" + ctx.attr.language)
    arguments.add("--write", ctx.outputs.outs[0])
    arguments.add_all(ctx.files.libraries, before_each = "--library")
    if ctx.attr.eager:
        arguments.add("--eager")
    if ctx.attr.train:
        arguments.add("--train")
    if ctx.attr.wrappers_name:
        arguments.add("--name", ctx.attr.wrappers_name)
    ctx.actions.run(
        executable = ctx.executable.command,
        arguments = [arguments],
        env = dict(
            ctx.configuration.default_shell_env,
            # Keras imports Matplotlib, which needs a writable folder.
            MPLCONFIGDIR = "/tmp",
            TF_CPP_MIN_LOG_LEVEL = "3",
            # Otherwise TensorFlow prints a note on oneDNN at each import.
            TF_ENABLE_ONEDNN_OPTS = "0",
        ),
        inputs = ctx.files.libraries + ctx.files._environment,
        outputs = ctx.outputs.outs,
        mnemonic = "OpWrappers",
        progress_message = "Writing wrappers of ops: " + ctx.outputs.outs[0].short_path,
    )

op_wrappers = rule(
    implementation = _op_wrappers_impl,
    attrs = {
        # The target's command: the host's would build the library again.
        "command": attr.label(
            cfg = "target",
            default = "//third_party/python:tensorflow_ext_command",
            executable = True,
        ),
        "eager": attr.bool(),
        "language": attr.string(mandatory = True),
        "libraries": attr.label_list(allow_files = [".so"]),
        "outs": attr.output_list(mandatory = True),
        "train": attr.bool(),
        "wrappers_name": attr.string(),
        "_environment": attr.label(
            allow_single_file = True,
            default = "@local_config_python//:environment.txt",
        ),
    },
    doc = """Runs `python -m tensorflow_ext wrappers`.

  eager: the command's --eager.
  language: an option of that command, such as "cxx".
  libraries: op libraries; if empty, this library's own ops.
  outs: the files; the command's --write names the first.
  train: the command's --train.
  wrappers_name: the command's --name.
  command: the Python program tensorflow_ext.""",
)
