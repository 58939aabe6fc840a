"""The command line: python -m tensorflow_ext COMMAND."""

import argparse
import sys

import tensorflow as tf

from tensorflow_ext import _add_training, _saved_model
from tensorflow_ext._explain import _command as _explain_command
from tensorflow_ext.testing._op import _command
from tensorflow_ext_codegen import config as _config
from tensorflow_ext_codegen import wrappers as _wrappers


def main(given: list[str] | None = None) -> int:
    """Runs a command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tensorflow_ext",
        description="Explains gradients, checks ops, and helps programs in other languages.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    explain = commands.add_parser(
        "explain",
        help="print or draw the gradient of an op",
        description="Prints the gradient of an op, line by line, and its provider in each client.",
    )
    _explain_command.add_arguments(explain)
    explain.set_defaults(run=_explain_command.run, error=_explain_command.ExplainError)
    check = commands.add_parser(
        "check",
        help="check an op, or all ops of a library",
        description="Checks an op, or each op of a library, and prints the results as a table; "
        "exits with 1 if something is missing or wrong.",
    )
    _command.add_arguments(check)
    check.set_defaults(run=_command.run, error=_command.CheckError)
    wrappers = commands.add_parser(
        "wrappers",
        help="write typed wrappers of ops for another language",
        description="Writes typed wrappers of the ops of a library, from their definitions.",
    )
    _wrappers.add_arguments(wrappers)
    wrappers.set_defaults(run=_wrappers.run, error=_wrappers.WrappersError)
    config = commands.add_parser(
        "config",
        help="print the build settings of a program in C, C++, Go, Rust or Java",
        description="Prints the build settings of a program in another language: flags, "
        "exports or the text of a file.",
    )
    _config.add_arguments(config)
    config.set_defaults(run=_config.run, error=_config.ConfigError)
    prepare = commands.add_parser(
        "prepare",
        help="make a SavedModel or a frozen graph differentiable in every client",
        description="Writes into a SavedModel which gradients its nodes have "
        "(tf.custom_gradient), so that clients in other languages use them without a call. Turns "
        "loops of TensorFlow 1, in a SavedModel or a frozen graph, into While ops, which have a "
        "gradient.",
    )
    _saved_model.add_arguments(prepare)
    prepare.set_defaults(run=_saved_model.run, error=tf.errors.OpError)
    training = commands.add_parser(
        "add-training",
        help="write a SavedModel that trains itself, without this library",
        description="Writes a copy of a SavedModel with the signatures gradients, train_step, "
        "evaluate, save and restore, made of TensorFlow's own ops. A program in any language then "
        "trains it by running signatures.",
    )
    _add_training.add_arguments(training)
    training.set_defaults(run=_add_training.run, error=_add_training.AddTrainingError)
    arguments = parser.parse_args(given)
    try:
        arguments.run(arguments)
    except arguments.error as error:
        message = error.message if isinstance(error, tf.errors.OpError) else error
        print(f"{parser.prog}: {message}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
