"""Nodes as TensorFlow Addons wrote them, with inputs and expected outputs."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import formulas
import numpy as np
from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2

from tensorflow_ext._runtime._attributes import to_node_def

_RNG = np.random.default_rng(0)

# The types of T.
TYPES = {
    "half": types_pb2.DT_HALF,
    "bfloat16": types_pb2.DT_BFLOAT16,
    "float": types_pb2.DT_FLOAT,
    "double": types_pb2.DT_DOUBLE,
}
_INDEX_TYPES = {np.dtype(np.int32): types_pb2.DT_INT32, np.dtype(np.int64): types_pb2.DT_INT64}


@dataclasses.dataclass(frozen=True)
class Case:
    """An op with inputs and attributes.

    Attributes:
      name: The test's name.
      op: The op's type.
      inputs: Its inputs in order; floating ones in float64.
      attributes: All attributes that are not of type `type`.
      defaults: The attributes that have their default.
      formula: A function of the inputs and all attributes that returns an output or a tuple.
    """

    name: str
    op: str
    inputs: tuple[np.ndarray, ...]
    formula: Callable[..., Any]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    defaults: tuple[str, ...] = ()

    def outputs(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """The op's outputs for other values of the inputs."""
        found = self.formula(*inputs, **self.attributes)
        return [*found] if isinstance(found, tuple) else [found]

    @property
    def differentiable(self) -> list[int]:
        return [i for i, x in enumerate(self.inputs) if x.dtype.kind == "f"]

    def node(
        self, dtype: int = types_pb2.DT_DOUBLE, strip_defaults: bool = False
    ) -> node_def_pb2.NodeDef:
        """The node `y` with the inputs x0, x1, ..."""
        stripped = self.defaults if strip_defaults else ()
        values = {k: value for k, value in self.attributes.items() if k not in stripped}
        if indices := [x.dtype for x in self.inputs if x.dtype.kind == "i"]:
            values["Tindices"] = indices[0]
        node = to_node_def(self.op, {"T": dtype, **values})
        node.name = "y"
        node.input.extend(f"x{i}" for i in range(len(self.inputs)))
        return node

    def graph(
        self, dtype: int = types_pb2.DT_DOUBLE, strip_defaults: bool = False
    ) -> graph_pb2.GraphDef:
        """A graph of that node and placeholders of unknown shapes."""
        graph = graph_pb2.GraphDef()
        for i, x in enumerate(self.inputs):
            node = graph.node.add(name=f"x{i}", op="Placeholder")
            indices = _INDEX_TYPES.get(x.dtype)
            node.attr["dtype"].type = dtype if indices is None else indices
            node.attr["shape"].shape.unknown_rank = True
        graph.node.append(self.node(dtype, strip_defaults))
        graph.versions.producer = 27  # TensorFlow 1.13 to 2.15 wrote 27 or more.
        return graph


def _normal(*shape: int) -> np.ndarray:
    return _RNG.normal(size=shape)


def _with_gradient(
    label: str,
    op: str,
    formula: tuple[Callable[..., Any], Callable[..., Any]],
    inputs: tuple[np.ndarray, ...],
    of_gradient: tuple[np.ndarray, ...],
    attributes: dict[str, Any] | None = None,
    defaults: tuple[str, ...] = (),
) -> list[Case]:
    """Cases of an op and of its gradient's op, which takes `of_gradient`."""
    forward, backward = formula
    values = attributes or {}
    return [
        Case(label, f"Addons>{op}", inputs, forward, values, defaults),
        Case(f"{label}_grad", f"Addons>{op}Grad", of_gradient, backward, values, defaults),
    ]


def _activation(
    op: str,
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    attributes: Sequence[tuple[dict[str, Any], tuple[str, ...]]] = (({}, ()),),
) -> list[Case]:
    x, gradients = _normal(3, 5), _normal(3, 5)
    cases = []
    for values, defaults in attributes:
        label = "_".join([op.lower(), *map(str, values.values())])
        formula = (forward, backward)
        cases += _with_gradient(label, op, formula, (x,), (gradients, x), values, defaults)
    return cases


_BOUNDS = [
    ({"lower": -0.5, "upper": 0.5}, ("lower", "upper")),
    ({"lower": -1.0, "upper": 0.25}, ()),
]


def _embedding_bags() -> list[Case]:
    formula = (formulas.embedding_bag, formulas.embedding_bag_grad)
    cases = []
    for index_type in (np.int32, np.int64):
        indices = _RNG.integers(0, 4, size=(3, 5)).astype(index_type)
        inputs = (indices, _normal(4, 3), _normal(3, 5))
        of_gradient = (*inputs, _normal(3, 3))
        for combiner, defaults in {"SUM": ("combiner",), "MEAN": ()}.items():
            label = f"embedding_bag_{combiner}_{np.dtype(index_type)}"
            values = {"combiner": combiner}
            cases += _with_gradient(
                label, "EmbeddingBag", formula, inputs, of_gradient, values, defaults
            )
    return cases


def _resamplers() -> list[Case]:
    data = _normal(2, 3, 4, 2)
    # Inside the image, on the border's slope and beyond it, away from whole numbers, where the
    # derivative jumps.
    warp = _RNG.integers(-2, 5, size=(2, 3, 2, 2)) + _RNG.uniform(0.2, 0.8, (2, 3, 2, 2))
    of_gradient = (data, warp, _normal(2, 3, 2, 2))
    formula = (formulas.resampler, formulas.resampler_grad)
    return _with_gradient("resampler", "Resampler", formula, (data, warp), of_gradient)


def _correlation_costs() -> list[Case]:
    names = ("kernel_size", "max_displacement", "stride_1", "stride_2", "pad")
    formula = (formulas.correlation_cost, formulas.correlation_cost_grad)
    layouts = {"NHWC": ((2, 3, 4, 2), ("data_format",)), "NCHW": ((2, 2, 3, 4), ())}
    cases = []
    for sizes in [(1, 1, 1, 1, 1), (3, 2, 2, 2, 2), (1, 2, 2, 1, 3), (3, 0, 1, 2, 0)]:
        for data_format, (shape, defaults) in layouts.items():
            inputs = (_normal(*shape), _normal(*shape))
            values = {**dict(zip(names, sizes, strict=True)), "data_format": data_format}
            of_gradient = (*inputs, _normal(*formulas.correlation_cost(*inputs, **values).shape))
            label = "_".join(map(str, ("correlation_cost", *sizes, data_format)))
            cases += _with_gradient(
                label, "CorrelationCost", formula, inputs, of_gradient, values, defaults
            )
    return cases


CASES = [
    *_activation(
        "Gelu",
        formulas.gelu,
        formulas.gelu_grad,
        [({"approximate": True}, ("approximate",)), ({"approximate": False}, ())],
    ),
    *_activation("Hardshrink", formulas.hardshrink, formulas.shrink_grad, _BOUNDS),
    *_activation("Lisht", formulas.lisht, formulas.lisht_grad),
    *_activation("Mish", formulas.mish, formulas.mish_grad),
    *_activation("Softshrink", formulas.softshrink, formulas.shrink_grad, _BOUNDS),
    *_activation("Tanhshrink", formulas.tanhshrink, formulas.tanhshrink_grad),
    *_embedding_bags(),
    *_resamplers(),
    *_correlation_costs(),
]
