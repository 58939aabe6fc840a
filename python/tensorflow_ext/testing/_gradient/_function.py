"""Represents any function, and its gradient, as a function of a list of tensors."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

_DOUBLE = {True: tf.complex128, False: tf.float64}


def has_gradient(value: Any) -> bool:
    """True if tensors of this type have gradients."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and (dtype.is_floating or dtype.is_complex)


def as_names(names: str | Iterable[str]) -> list[str]:
    """A list of names, from several names or a single str."""
    return [names] if isinstance(names, str) else list(names)


@dataclasses.dataclass(frozen=True)
class Function:
    """A function of floating or complex tensors and variables, and the point to evaluate.

    Attributes:
      call: Returns a list of floating or complex tensors.
      tensors: The arguments.
      variables: The variables that it reads.
      names: Names of the tensors, then of the variables.
      outputs: Names of the results.
      left_alone: Names of the inputs that stay fixed, by type or on request.
    """

    call: Callable[[Sequence[tf.Tensor]], list[tf.Tensor]]
    tensors: list[tf.Tensor]
    variables: list[tf.Variable]
    names: list[str]
    outputs: list[str]
    left_alone: Sequence[str] = ()

    @property
    def sources(self) -> list[Any]:
        """The tensors and variables with respect to which it is differentiated."""
        return [*self.tensors, *self.variables]

    def in_double(self) -> "Function":
        """The same function at the same point, in double or complex double."""
        tensors = [tf.cast(x, _DOUBLE[x.dtype.is_complex]) for x in self.tensors]
        return dataclasses.replace(self, tensors=tensors)

    def traced(self, jit_compile: bool = False) -> "Function":
        """The same function as a tf.function."""
        inner = tf.function(self.call, jit_compile=jit_compile, autograph=False)
        concrete: list[Any] = []

        def call(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
            if not concrete:
                specs = [tf.TensorSpec(x.shape, x.dtype) for x in tensors]
                concrete.append(inner.get_concrete_function(specs))
            return concrete[0](list(tensors))

        return dataclasses.replace(self, call=call)

    def gradients(
        self,
        upstreams: Sequence[tf.Tensor],
        tensors: Sequence[tf.Tensor] | None = None,
        output: int | None = None,
    ) -> list[tf.Tensor | None]:
        """The gradients with respect to every source, of all outputs or of only one."""
        tensors = list(self.tensors if tensors is None else tensors)
        with tf.GradientTape() as tape:
            for source in [*tensors, *self.variables]:
                tape.watch(source)
            results = self.call(tensors)
        if output is not None:
            results, upstreams = [results[output]], [upstreams[output]]
        found = tape.gradient(
            results, [*tensors, *self.variables], output_gradients=list(upstreams)
        )
        return [None if g is None else tf.convert_to_tensor(g) for g in found]

    def derivative(self, upstreams: Sequence[tf.Tensor], present: Sequence[bool]) -> "Function":
        """The gradients as a function of the sources and the upstream gradients.

        Args:
          upstreams: The upstream gradients at which to evaluate it.
          present: Which sources have a gradient; the others give no result.
        """
        count = len(self.tensors)

        def call(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
            found = self.gradients(tensors[count:], tensors[:count])
            return [
                tf.zeros_like(source) if g is None else g
                for g, source, there in zip(
                    found, [*tensors[:count], *self.variables], present, strict=True
                )
                if there
            ]

        pairs = zip(self.names, present, strict=True)
        return Function(
            call,
            [*self.tensors, *upstreams],
            self.variables,
            [
                *self.names[:count],
                *(f"upstream of {name}" for name in self.outputs),
                *self.names[count:],
            ],
            [f"gradient for {name}" for name, there in pairs if there],
        )


def make_function(
    fn: Callable[..., Any],
    inputs: Any,
    variables: Sequence[tf.Variable] | None,
    fixed: Sequence[str] = (),
) -> Function:
    """`fn` as a Function of the inputs that are not fixed.

    Raises:
      ValueError: Nothing has a gradient, or `fixed` has a name that is not an input's.
    """
    several = isinstance(inputs, list) or type(inputs) is tuple
    leaves = [_as_tensor(leaf) for leaf in tf.nest.flatten(inputs)]
    parts = [_components(leaf) for leaf in leaves]
    names = [
        name if len(part) == 1 else f"{name}.{k}"
        for name, part in zip(_paths(inputs, "inputs", len(leaves)), parts, strict=True)
        for k in range(len(part))
    ]
    flat = [x for part in parts for x in part]
    if unknown := set(fixed) - set(names):
        raise ValueError(f"check_gradient: fixed={sorted(unknown)}; expected some of {names}")
    free = [has_gradient(x) and name not in fixed for name, x in zip(names, flat, strict=True)]
    moved = [i for i, x in enumerate(flat) if free[i] and not _is_variable(x)]
    outputs: list[str] = []

    def call(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        values = list(flat)
        for i, tensor in zip(moved, tensors, strict=True):
            values[i] = tensor
        iterator = iter(values)
        arguments = tf.nest.pack_sequence_as(
            inputs, [_assembled(leaf, iterator) for leaf in leaves]
        )
        result = fn(*arguments) if several else fn(arguments)
        given = tf.nest.flatten(result, expand_composites=True)
        paths = _paths(result, "outputs", len(given))
        pairs = [
            (path, tf.convert_to_tensor(y))
            for path, y in zip(paths, given, strict=True)
            if y is not None
        ]
        outputs[:] = [path for path, y in pairs if has_gradient(y)]
        return [y for _, y in pairs if has_gradient(y)]

    tensors = [flat[i] for i in moved]
    with tf.GradientTape() as tape:
        results = call(tensors)
    among_inputs = {id(x): names[i] for i, x in enumerate(flat) if _is_variable(x)}
    read = list(tape.watched_variables()) if variables is None else list(variables)
    read = [v for v in read if among_inputs.get(id(v)) not in fixed]
    read += [
        x
        for x, there in zip(flat, free, strict=True)
        if _is_variable(x) and there and not any(x is v for v in read)
    ]
    if not results:
        raise ValueError("check_gradient: fn returns no floating or complex tensor")
    if not tensors and not read:
        raise ValueError(
            "check_gradient: no input is floating or complex, and fn reads no trainable variable"
        )
    return Function(
        call,
        tensors,
        read,
        [
            *(names[i] for i in moved),
            *(among_inputs.get(id(v), f"variable {v.name}") for v in read),
        ],
        list(outputs),
        [names[i] for i, x in enumerate(flat) if x is not None and not free[i]],
    )


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, tf.Variable)


def _as_tensor(leaf: Any) -> Any:
    if leaf is None or _is_variable(leaf) or _is_composite(leaf):
        return leaf
    # A tensor that is passed twice becomes two inputs.
    return tf.identity(tf.convert_to_tensor(leaf))


def _is_composite(leaf: Any) -> bool:
    return isinstance(leaf, tf.SparseTensor | tf.RaggedTensor | tf.IndexedSlices)


def _components(leaf: Any) -> list[Any]:
    if _is_composite(leaf):
        return tf.nest.flatten(leaf, expand_composites=True)
    return [leaf]


def _assembled(leaf: Any, values: Iterator[Any]) -> Any:
    if not _is_composite(leaf):
        return next(values)
    parts = [next(values) for _ in _components(leaf)]
    return tf.nest.pack_sequence_as(leaf, parts, expand_composites=True)


def _paths(structure: Any, name: str, count: int) -> list[str]:
    """A name for each of the `count` tensors of a structure."""
    found = list(_walk(structure, name))
    return found if len(found) == count else [f"{name}.{k}" for k in range(count)]


def _walk(structure: Any, name: str) -> Iterable[str]:
    if isinstance(structure, Mapping):
        members = [(f"[{key!r}]", structure[key]) for key in sorted(structure)]
    elif isinstance(structure, list | tuple):
        members = [(f"[{k}]", member) for k, member in enumerate(structure)]
    else:
        return [name]
    return [path for key, member in members for path in _walk(member, name + key)]
