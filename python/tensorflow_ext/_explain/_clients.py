"""The provider of an op's gradient in each client."""

import dataclasses

from tensorflow.python.framework import ops

from tensorflow_ext._runtime import _fixing, _library, _registration

_BITS = _library.Registries


@dataclasses.dataclass(frozen=True)
class Provider:
    """The provider of the gradient that a client uses.

    `who`: "tensorflow_ext", "TensorFlow", another library's file, or "none".
    `how`: a remark; may be empty.
    """

    client: str
    who: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.who} ({self.how})" if self.how else self.who


def providers(op: str, library: str | None = None) -> list[Provider]:
    """The providers of an op's gradient in Python, in C and C++, and in the runtime.

    Args:
      op: Name of a registered op.
      library: The file that holds the definition, if it is neither TensorFlow's nor
        this library's.
    """
    found = _library.registries(op)
    author = library or ("tensorflow_ext" if _BITS.FUNCTION_OWN in found else None)
    return [
        _python(op, found, author or "TensorFlow"),
        _client(op, found, author or "TensorFlow"),
        _runtime(found, author or "TensorFlow"),
    ]


def _python(op: str, found: _library.Registries, author: str) -> Provider:
    client = "Python"
    try:
        gradient = ops.gradient_registry.lookup(op)
    except LookupError:
        if _BITS.FUNCTION_RUNTIME_ALONE in found:
            return Provider(client, "none", "only the function runtime has the definition")
        return Provider(client, "none")
    fixes = op in _fixing.FIXED and _BITS.FUNCTION_OWN in found
    remark = "tensorflow_ext.gradients.fix() gives it this library's" if fixes else ""
    if gradient is None:
        return Provider(client, "none", remark or "declared to have none")
    module = getattr(gradient, "__module__", "")
    if module == _registration.__name__:
        return Provider(client, author, "this definition, replayed node by node")
    if module == _fixing.__name__ and _BITS.GRADIENT_ASKED_FOR in found:
        return Provider(client, author, "this definition, in place of any other")
    if module == _fixing.__name__:
        return Provider(client, author, "by tensorflow_ext.gradients.fix()")
    if not module.startswith("tensorflow."):
        return Provider(client, module, "tf.RegisterGradient")
    return Provider(client, "TensorFlow", remark or "its own, written in Python")


# Ops that C and C++ differentiate without a definition:
# tensorflow_ext/stock_gradients/array/identity_like.cc.
PASSED_ON = {"Identity", "ReadVariableOp"}


def _client(op: str, found: _library.Registries, author: str) -> Provider:
    client = "C and C++"
    if _BITS.CLIENT_BRIDGED in found:
        if op in PASSED_ON and _BITS.CLIENT_STANDS_IN in found:
            how, who = "passes the upstream gradient on", "tensorflow_ext"
        elif not found & _BITS.FUNCTION_GRADIENT or (_BITS.FUNCTION_RUNTIME_ALONE in found):
            how = "differentiates the functions that the node calls"
            who = "tensorflow_ext"
        else:
            how, who = "this definition, expanded into nodes", author
        if _BITS.CLIENT_STANDS_IN in found:
            how += ", in place of TensorFlow's own"
        return Provider(client, who, how)
    if _BITS.CLIENT_GRADIENT in found:
        return Provider(client, "TensorFlow", "its own, written in C++")
    if _BITS.CLIENT_NO_GRADIENT in found:
        return Provider(client, "none", "declared to have none")
    return Provider(client, "none")


def _runtime(found: _library.Registries, author: str) -> Provider:
    client = "function runtime"
    if _BITS.FUNCTION_GRADIENT in found:
        stands_in = _BITS.FUNCTION_STANDS_IN in found
        return Provider(client, author, "in place of TensorFlow's" * stands_in)
    if _BITS.FUNCTION_NO_GRADIENT in found:
        return Provider(client, "none", "declared to have none")
    return Provider(client, "none")
