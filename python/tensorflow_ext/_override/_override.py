"""tensorflow_ext.override_gradient: replaces the gradients of ops in a block."""

import difflib
import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import tensorflow as tf
from tensorflow.core.framework import function_pb2, op_def_pb2
from tensorflow.python.framework import op_def_registry, ops

from tensorflow_ext import raw_ops
from tensorflow_ext._override import _hooks, _recording
from tensorflow_ext._override._frames import Attach, Frame, current
from tensorflow_ext._override._function_gradient import FunctionGradient
from tensorflow_ext._runtime import _attributes

_Function = TypeVar("_Function", bound=Callable)
# The name of a gradient, a definition, a function, or None for no gradient.
NewGradient: TypeAlias = str | function_pb2.FunctionDef | Callable[..., Any] | None

# Python records reads of variables differently from other ops.
_NOT_REPLACED = {
    "ReadVariableOp": "Python does not record reads of variables as ops; replace the "
    "gradient of an op that takes the value, or apply tensorflow_ext.reverse_gradient, "
    "scale_gradient, clip_gradient or a tf.custom_gradient to the value"
}


class override_gradient:
    """Replaces the gradients of ops in a block or in a function.

    >>> with tfe.override_gradient({"Sign": "TfExt>SignStraightThrough"}):
    ...     loss = tf.reduce_sum(tf.sign(x))

    >>> @tfe.override_gradient({"Relu": guided_relu_gradient})
    ... def features(images): ...

    It applies to every op of these types that the thread runs eagerly in the block (as a
    decorator: in the function) or adds to a graph there: in tf.function, tf.cond,
    tf.while_loop, Keras, v1 graphs and tf.distribute's replicas. The tape may be inside
    or outside, and you may compute the gradient after the block. A tf.function that is
    called in the block is traced for it, and again for calls outside, so neither uses
    the other's trace. Blocks nest: an inner block replaces the gradients that it names
    and keeps the others. Other threads, and ops that gradients run, keep their own.

    You may use the object any number of times, from many threads at once. Where functions
    are traced, create it once: a new function in it causes a new trace.

    It does not apply to ops of a ConcreteFunction, a loaded SavedModel or an imported
    GraphDef, because these exist already. It does not apply to the body of a
    tf.py_function, which runs in another thread, or to a function of tf.recompute_grad,
    which runs again as a gradient: decorate the function itself. A SavedModel keeps the
    new gradients for Python (with experimental_custom_gradients, the default), but
    TensorFlow cannot load those of ops in branches and loops. C and C++ differentiate
    the model by the ops' own gradients.

    Args:
      gradients: The gradient of each op type, such as 'Sign'. It is one of

        * the name of an op with the same number of inputs and outputs, such as
          'TfExt>SignStraightThrough', or a name given to tf.RegisterGradient. It selects
          the gradient that Python has for this name; for this library's ops that is the
          C++ definition. The gradient sees the inputs and outputs of the op that ran,
          and the attributes that both ops have; others have their defaults.
        * a FunctionDef, either your own or from tensorflow_ext.gradients.function_def.
          It takes the op's inputs and an upstream gradient for each output and returns a
          gradient for each input.
        * a function `gradient(op, *upstream)`, as tf.RegisterGradient takes. `op` has
          type, inputs, outputs and get_attr. There is one upstream gradient for each
          output (None for one without derivatives, such as an integer). It returns one
          tensor (or tf.IndexedSlices, or None) for each input, in a list when there are
          several. In a graph it is called whenever gradients are added.
        * None: the op has no gradient.

    Raises:
      TypeError: `gradients` is not a mapping from str to these.
      ValueError: There is no such op; it has no inputs or outputs, calls functions, or
        reads variables in a special way; or the op whose gradient to use has no gradient
        or has other inputs and outputs.

    When gradients are computed, the results of the new gradient are checked. TypeError:
    a result is not a tensor, or its type differs from the input's. ValueError: the number
    of results differs from that of the inputs, or a known shape differs from the input's.
    """

    def __init__(self, gradients: Mapping[str, NewGradient]) -> None:
        if not isinstance(gradients, Mapping):
            raise TypeError(
                "override_gradient: expected a dictionary from op types to gradients, "
                f"such as {{'Sign': my_gradient}}, not {gradients!r}"
            )
        self._attach = {
            op_type: _make_attach(op_type, gradient) for op_type, gradient in gradients.items()
        }
        self._key = {op_type: _identity(gradient) for op_type, gradient in gradients.items()}

    def __enter__(self) -> None:
        outer = current.get()
        key = dict(outer.key or ()) | self._key  # type: ignore[call-overload]
        frame = Frame({**outer.attach, **self._attach}, frozenset(key.items()), outer, self)
        _hooks.install()
        current.set(frame)

    def __exit__(self, *_: object) -> None:
        frame = current.get()
        if frame.owner is not self or frame.outer is None:
            raise RuntimeError(
                "override_gradient: this block was not the last one entered in this "
                "thread; leave blocks in reverse order, in the thread that entered them"
            )
        current.set(frame.outer)
        _hooks.uninstall()

    def __call__(self, function: _Function) -> _Function:
        """Decorates a function."""
        if inspect.isclass(function) or not callable(function):
            raise TypeError(
                f"override_gradient: cannot decorate {function!r}; decorate a "
                "function, such as the `call` of a layer"
            )
        lazy = (
            inspect.isgeneratorfunction,
            inspect.iscoroutinefunction,
            inspect.isasyncgenfunction,
        )
        if any(is_lazy(function) for is_lazy in lazy):
            raise TypeError(
                f"override_gradient: calling {_recording.name_of(function)} does not run "
                "its body; write the `with` block inside the body"
            )

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            with self:
                return function(*arguments, **keywords)

        return run  # type: ignore[return-value]


def _identity(gradient: NewGradient) -> Hashable:
    """A key that distinguishes a gradient from others."""
    if isinstance(gradient, function_pb2.FunctionDef):
        return gradient.SerializeToString(deterministic=True)
    try:
        hash(gradient)
    except TypeError:
        return _Same(gradient)
    return gradient


class _Same:
    """A key that is equal only for the same object."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def _make_attach(op_type: str, gradient: NewGradient) -> Attach:
    """Makes the function that attaches the gradient to an op of this type."""
    op_def = _replaceable(op_type)
    function = _function(op_def, gradient)
    # With a list of tensors among the inputs, messages number the inputs from 0.
    listed = any(arg.number_attr or arg.type_list_attr for arg in op_def.input_arg)
    names = () if listed else tuple(arg.name for arg in op_def.input_arg)

    def attach(attrs: tuple[Any, ...], outputs: Any, inputs: Any) -> list[Any]:
        attached = _recording.Attached(
            by="override_gradient",
            op_type=op_type,
            name=op_type,
            input_names=names,
            attrs=attrs,
            gradient=function,
        )
        return attached.to(outputs, inputs)

    return attach


def _replaceable(op_type: object) -> op_def_pb2.OpDef:
    """The definition of an op whose gradient may be replaced."""
    if not isinstance(op_type, str):
        raise TypeError(f"override_gradient: expected op types, such as 'Sign', not {op_type!r}")
    op_def = op_def_registry.get(op_type)
    if op_def is None:
        raise ValueError(
            f"override_gradient: there is no op {op_type!r}{_close_to(op_type)}; check "
            "the name, or load the library that holds it first"
        )
    why = ""
    if not op_def.input_arg or not op_def.output_arg:
        missing = "outputs" if op_def.input_arg else "inputs"
        why = f"it has no {missing}, so there is nothing to differentiate"
    elif any("func" in attr.type for attr in op_def.attr):
        why = (
            "it calls functions; replace the gradients of the ops in them, or wrap the "
            "call in tf.custom_gradient"
        )
    elif any(arg.is_ref for arg in (*op_def.input_arg, *op_def.output_arg)):
        why = "it changes a variable of TensorFlow 1 in place"
    else:
        why = _NOT_REPLACED.get(op_type, "")
    if why:
        raise ValueError(
            f"override_gradient: the gradient of {op_type!r} cannot be replaced: {why}"
        )
    return op_def


def _close_to(name: str) -> str:
    known = [*dir(tf.raw_ops), *raw_ops.OPS.values()]
    found = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def _function(op_def: op_def_pb2.OpDef, gradient: Any) -> _recording.Gradient:
    """A new gradient as a function of op and upstream gradients."""
    if gradient is None:
        return _no_gradient
    if isinstance(gradient, str):
        return _NamedGradient(op_def, gradient)
    if isinstance(gradient, function_pb2.FunctionDef):
        return FunctionGradient(op_def, gradient)
    if inspect.isclass(gradient) or not callable(gradient):
        raise TypeError(
            f"override_gradient: the gradient of {op_def.name!r} is {gradient!r}; "
            "expected the name of an op, a FunctionDef, a function gradient(op, "
            "*upstream) or None"
        )
    return gradient


def _no_gradient(op: _recording.Operation, *_: Any) -> Any:
    return [None] * len(op.inputs)


class _NamedGradient:
    """The gradient that Python has registered for an op, or under a name."""

    def __init__(self, forward: op_def_pb2.OpDef, name: str) -> None:
        self.__qualname__ = name
        self._forward = forward
        self._op_def = op_def_registry.get(name)
        try:
            self._gradient = ops.gradient_registry.lookup(name) or _no_gradient
        except LookupError:
            if self._op_def is None:
                what = f"there is no op {name!r}{_close_to(name)}"
                fix = "check the name, load its library or use tf.RegisterGradient"
            else:
                what = f"the op {name!r} has no gradient"
                fix = "register one, or give a function gradient(op, *upstream)"
            raise ValueError(
                f"override_gradient: cannot replace the gradient of {forward.name!r}: {what}; {fix}"
            ) from None
        if self._op_def is not None:
            for mine, other, what in (
                (forward.input_arg, self._op_def.input_arg, "inputs"),
                (forward.output_arg, self._op_def.output_arg, "outputs"),
            ):
                if _form(mine) != _form(other):
                    raise ValueError(
                        f"override_gradient: {name!r} has the {what} "
                        f"({_listed(other)}) and {forward.name!r} has "
                        f"({_listed(mine)}); expected an op with the same number of "
                        f"{what}"
                    )

    def __call__(self, op: _recording.Operation, *upstream: Any) -> Any:
        if self._op_def is not None:
            attrs = self._fitting(op)
            op = _recording.Operation(self._op_def.name, op.name, attrs, op.inputs, op.outputs)
        return self._gradient(op, *upstream)

    def _fitting(self, op: _recording.Operation) -> tuple[Any, ...]:
        """The attributes for the op whose gradient is used."""
        given = dict(zip(op.attrs[::2], op.attrs[1::2], strict=True))
        types = {attr.name: attr.type for attr in self._forward.attr}
        flat: list[Any] = []
        for attr in self._op_def.attr:
            if types.get(attr.name) == attr.type and attr.name in given:
                value = given[attr.name]
            else:
                value = self._of_inputs(attr.name, op)
                if value is None and attr.HasField("default_value"):
                    value = _attributes.to_python(attr.default_value)
            if value is None:
                raise ValueError(
                    f"override_gradient: {self._op_def.name!r} has the attribute "
                    f"{attr.name!r} without a default, and {op.type!r} does not have it; "
                    "give a function gradient(op, *upstream)"
                )
            allowed = attr.allowed_values.list.type
            if attr.type == "type" and allowed and tf.as_dtype(value) not in allowed:
                names = ", ".join(tf.as_dtype(dtype).name for dtype in allowed)
                raise TypeError(
                    f"override_gradient: {op.type!r} ran with {attr.name}="
                    f"{tf.as_dtype(value).name}, but its gradient is that of "
                    f"{self._op_def.name!r}, which takes {names}"
                )
            flat += [attr.name, value]
        return tuple(flat)

    def _of_inputs(self, attr: str, op: _recording.Operation) -> tf.DType | None:
        """The type that the inputs give to an attribute."""
        args: Sequence[op_def_pb2.OpDef.ArgDef] = self._op_def.input_arg
        if any(arg.number_attr or arg.type_list_attr for arg in args):
            return None
        for arg, tensor in zip(args, op.inputs, strict=True):
            if arg.type_attr == attr:
                return tensor.dtype
        return None


def _form(args: Sequence[op_def_pb2.OpDef.ArgDef]) -> list[bool]:
    """For each argument, True if it is a list."""
    return [bool(arg.number_attr or arg.type_list_attr) for arg in args]


def _listed(args: Sequence[op_def_pb2.OpDef.ArgDef]) -> str:
    return ", ".join(arg.name for arg in args)
