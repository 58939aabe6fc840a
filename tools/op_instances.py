"""Makes nodes of an op for the values that its attributes may have."""

import itertools
from collections.abc import Iterator
from typing import Any

from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.core.framework import (
    attr_value_pb2,
    function_pb2,
    node_def_pb2,
    op_def_pb2,
    tensor_shape_pb2,
    types_pb2,
)

# Types to try, in this order, if an OpDef accepts any type.
_ANY_TYPE = [types_pb2.DT_FLOAT, types_pb2.DT_COMPLEX64, types_pb2.DT_INT32]
# Values for attributes whose OpDef does not say what the op really accepts.
_GIVEN: dict[str, list] = {
    "SrcT": [types_pb2.DT_FLOAT],
    "DstT": [types_pb2.DT_DOUBLE],
    "equation": [b"ij,jk->ik"],
    "ksize": [[1, 2, 2, 1]],
    "ksizes": [[1, 2, 2, 1]],
    "strides": [[1, 2, 2, 1]],
    "rates": [[1, 1, 1, 1]],
    "padding": [b"VALID"],
    "kernel_size": [3],
}


def _function(
    name: str, nodes: dict[str, tuple[str, list[str]]], results: dict[str, int], counters: int = 0
) -> function_pb2.FunctionDef:
    """A function of two floats, preceded by `counters` integers.

    `nodes` are its float ops with their inputs, and `results` are the nodes that it returns, with
    their types."""
    function = function_pb2.FunctionDef()
    function.signature.name = name
    for i in range(counters):
        function.signature.input_arg.add(name=f"i{i}", type=types_pb2.DT_INT32)
    for argument in ("x", "y"):
        function.signature.input_arg.add(name=argument, type=types_pb2.DT_FLOAT)
    for node, (op, inputs) in nodes.items():
        made = function.node_def.add(name=node, op=op, input=inputs)
        made.attr["T"].type = types_pb2.DT_FLOAT
    for node, kind in results.items():
        function.signature.output_arg.add(name=f"{node}_result", type=kind)
        function.ret[f"{node}_result"] = f"{node}:z:0"
    return function


_FORMULA, _STEP, _TEST = "probe_formula", "probe_step", "probe_test"
# Functions for the ops that call functions: (x, y) -> (x y, x - y) and x < y.
FUNCTIONS = function_pb2.FunctionDefLibrary(
    function=[
        *(
            _function(
                name,
                {"product": ("Mul", ["x", "y"]), "difference": ("Sub", ["x", "y"])},
                {"product": types_pb2.DT_FLOAT, "difference": types_pb2.DT_FLOAT},
                counters,
            )
            for name, counters in ((_FORMULA, 0), (_STEP, 1))
        ),
        _function(_TEST, {"less": ("Less", ["x", "y"])}, {"less": types_pb2.DT_BOOL}),
    ]
)
# Values by the kind of the attribute.
_OF_KIND = {
    "bool": True,
    "float": 1.0,
    "func": attr_value_pb2.NameAttrList(name=_FORMULA),
    "list(float)": [1.0],
    "list(func)": [attr_value_pb2.NameAttrList(name=_FORMULA)] * 2,
    "list(int)": [1, 1],
    "list(shape)": [tensor_shape_pb2.TensorShapeProto(unknown_rank=True)] * 2,
    "shape": tensor_shape_pb2.TensorShapeProto(unknown_rank=True),
    "string": b"x",
}
# Values for single ops.
_WINDOWS_3D = {"ksize": [[1, 2, 2, 2, 1]], "strides": [[1, 2, 2, 2, 1]]}
_OF_WINDOWS_3D = (
    "AvgPool3D AvgPool3DGrad Conv3D Conv3DBackpropFilter Conv3DBackpropFilterV2 "
    "Conv3DBackpropInput Conv3DBackpropInputV2 MaxPool3D MaxPool3DGrad MaxPool3DGradGrad"
)
_GIVEN_FOR: dict[str, dict[str, list]] = dict.fromkeys(_OF_WINDOWS_3D.split(), _WINDOWS_3D)
_GIVEN_FOR["StatelessWhile"] = _GIVEN_FOR["While"] = {
    "cond": [attr_value_pb2.NameAttrList(name=_TEST)]
}
_GIVEN_FOR["For"] = {"body": [attr_value_pb2.NameAttrList(name=_STEP)]}
_GIVEN_FOR["RaggedTensorToTensor"] = {"row_partition_types": [[b"FIRST_DIM_SIZE", b"ROW_SPLITS"]]}
for _values in ("Dense", "Ragged", "Sparse"):
    _GIVEN_FOR[f"{_values}CountSparseOutput"] = {"binary_output": [False]}
# Matrix products.
_GIVEN_FOR["XlaDot"] = _GIVEN_FOR["XlaDotV2"] = {
    "dimension_numbers": [
        xla_data_pb2.DotDimensionNumbers(
            lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0]
        ).SerializeToString()
    ]
}
_GIVEN_FOR["FractionalAvgPool"] = _GIVEN_FOR["FractionalMaxPool"] = {
    "pooling_ratio": [[1.0, 1.5, 1.5, 1.0]]
}
_GIVEN_FOR["XlaConv"] = _GIVEN_FOR["XlaConvV2"] = {
    "dimension_numbers": [
        xla_data_pb2.ConvolutionDimensionNumbers(
            input_feature_dimension=1, output_feature_dimension=1, kernel_output_feature_dimension=1
        ).SerializeToString()
    ]
}
_GIVEN_FOR["ExtractVolumePatches"] = {"ksizes": [[1, 2, 2, 2, 1]], "strides": [[1, 1, 1, 1, 1]]}


def _choices(op: str, attribute: op_def_pb2.OpDef.AttrDef) -> list:
    """Values to try for an attribute; None leaves it at its default."""
    for given in (_GIVEN_FOR.get(op, {}), _GIVEN):
        if attribute.name in given and not attribute.HasField("default_value"):
            return given[attribute.name]
    if attribute.type == "type":
        if attribute.HasField("allowed_values"):
            allowed = list(attribute.allowed_values.list.type)
            return sorted(allowed, key=lambda t: (t != types_pb2.DT_FLOAT, t))
        return _ANY_TYPE
    if attribute.HasField("default_value"):
        return [None]
    if attribute.type == "int":
        return [max(2, attribute.minimum)]
    if attribute.type == "list(type)":
        return [[types_pb2.DT_FLOAT, types_pb2.DT_FLOAT]]
    if attribute.type == "string" and attribute.HasField("allowed_values"):
        return list(attribute.allowed_values.list.s)
    return [_OF_KIND.get(attribute.type)]


def _set(node: node_def_pb2.NodeDef, name: str, kind: str, value: object) -> None:
    target = node.attr[name]
    fields = {"type": "type", "int": "i", "float": "f", "string": "s", "bool": "b"}
    fields |= {"func": "func", "shape": "shape"}
    if kind.startswith("list("):
        getattr(target.list, fields[kind[5:-1]]).extend(value)
    elif kind in ("shape", "func"):
        getattr(target, kind).CopyFrom(value)
    else:
        setattr(target, fields[kind], value)


def instances(op_def: op_def_pb2.OpDef) -> Iterator[node_def_pb2.NodeDef]:
    """Nodes of the op, one for each combination of types that it accepts.

    Float comes first. Other attributes have their default, or a value that the op accepts.
    """
    attributes = list(op_def.attr)
    choices = [_choices(op_def.name, attribute) for attribute in attributes]
    for values in itertools.product(*choices):
        node = node_def_pb2.NodeDef(op=op_def.name)
        for attribute, value in zip(attributes, values, strict=True):
            if value is not None:
                _set(node, attribute.name, attribute.type, value)
        yield node


def types_of(
    arguments: list[op_def_pb2.OpDef.ArgDef], op_def: op_def_pb2.OpDef, node: node_def_pb2.NodeDef
) -> list[int]:
    """The types of these arguments of the op, with lists flattened."""
    defaults = {attribute.name: attribute.default_value for attribute in op_def.attr}

    def value(name: str) -> Any:
        return node.attr[name] if name in node.attr else defaults[name]

    types: list[int] = []
    for argument in arguments:
        if argument.type_list_attr:
            types += value(argument.type_list_attr).list.type
            continue
        count = value(argument.number_attr).i if argument.number_attr else 1
        kind = argument.type or value(argument.type_attr).type
        types += [kind] * count
    return types
