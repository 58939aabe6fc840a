# SPDX-License-Identifier: Apache-2.0
"""The placeholder formulas of a new op, in each form that files need: x^3 for one input, x^2 y^2
for two, times 1 and the attributes; sums for other ops."""

from typing import Any

from new_op.language import cpp_as_float, cpp_type, python_value
from new_op.op import Op
from new_op.specification import FLOATING, INTEGERS, Attribute


def _of_gradient(a: Attribute) -> str:
    """The attribute as a number in the shorthand for gradients."""
    value = f'g.Attr<{cpp_type(a)}>("{a.name}")'
    return value if a.type == "float" else cpp_as_float(a, value)


def _factor(one: str, members: list[str]) -> str:
    """The factor of the placeholder's power of x: 1 and the attributes."""
    return f"({' + '.join([one, *members])}) * " if members else ""


def of_pointwise(op: Op) -> dict[str, Any]:
    names = [a.name for a in op.attributes]
    samples = [f"{a.index_of_sample:g}" for a in op.attributes]
    text = f"({' + '.join(['1', *names])}) " if names else ""
    member = _factor("T(1)", [f"T({name})" for name in names])
    number = _factor("1", samples)
    gradient = " + ".join(["1", *(_of_gradient(a) for a in op.attributes)])
    call = "".join(f", {a.name}={python_value(a, a.sample)}" for a in op.attributes)
    arguments = ", ".join(f"T {x.name}" for x in op.inputs)
    inputs = [x.name for x in op.inputs]
    escaped = [name.replace("_", r"\_") for name in names]
    latex = f"({' + '.join(['1', *escaped])}) \\, " if names else ""
    result = {
        "compared_call": f"tfe.{op.name}({', '.join(inputs)}{call})",
        "compared_inputs": inputs,
        "functor_arguments": arguments,
        "gradient_factor": gradient,
        "summary": "",
        "without_gradient": (),
    }
    if op.kind == "unary":
        result |= {
            "compared_arrays": ["_X"],
            "compared_value": f"{number}x**3",
            "formula": f"{text}x^3",
            "functor_value": f"{member}(x * x * x)",
            "functor_gradient": f"gradient * ({member}(T(3) * (x * x)))",
            "numpy_gradient": f"({number}3 * x**2)",
            "second_formula": f"{text}6 x",
            "gradient_summary": f"{text}3 x^2 dy.",
            "latex": [rf"y = {latex}x^3", rf"dx = {latex}3 x^2 \, dy"],
        }
    else:
        first = f"gradient * ({member}(T(2) * (x * (y * y))))"
        last = f"gradient * ({member}(T(2) * ((x * x) * y)))"
        result |= {
            "compared_arrays": ["_X", "_ROW" if op.broadcasts else "_X[::-1]"],
            "compared_value": f"{number}(x * y) ** 2",
            "formula": f"{text}x^2 y^2",
            "functor_value": f"{member}((x * x) * (y * y))",
            "functor_gradient": f"{{{first}, {last}}}",
            "numpy_gradient": (f"np.stack([{number}2 * x * y**2, {number}2 * x**2 * y])"),
            "second_formula": f"{text}2 y^2, {text}4 x y and {text}2 x^2",
            "gradient_summary": f"{text}2 x y^2 dz and {text}2 x^2 y dz.",
            "latex": [
                rf"z = {latex}x^2 y^2",
                rf"dx = {latex}2 x y^2 \, dz, \quad dy = {latex}2 x^2 y \, dz",
            ],
        }
    result["summary"] = f"{op.op}: {result['formula']}, element by element."
    return result


def of_general(op: Op) -> dict[str, Any]:
    sums = [[k for k, x in enumerate(op.inputs) if x.type == output.type] for output in op.outputs]
    groups: list[dict[str, Any]] = []
    returned = []
    lost = []
    for k, x in enumerate(op.inputs):
        parts = [j for j, summed in enumerate(sums) if k in summed]
        if not op.is_floating(x) or not parts:
            returned.append("Value()")
            if op.is_floating(x):
                lost.append(k)
            continue
        returned.append(f"of_{x.type}")
        if not any(group["type"] == x.type for group in groups):
            groups.append(
                {
                    "type": x.type,
                    "inputs": [k],
                    "may_be_integer": not set(op.allowed(x)) <= set(FLOATING),
                    "upstream": _sum_of_upstreams(parts),
                }
            )
    return {
        "sums": sums,
        "groups": groups,
        "returned": returned,
        "without_gradient_of_floats": lost,
        "latex": _latex(op, sums),
        **_of_kernels(op, sums),
        **_of_comparison(op, sums),
    }


def _sum_of_upstreams(outputs: list[int]) -> str:
    """A sum that is always a new node, so that a session can fetch it beside its feeds."""
    terms = [f"g.Upstream({k})" for k in outputs]
    if len(terms) == 1:
        return f'g.Call("Identity", {{{terms[0]}}})'
    return " + ".join(terms)


def _latex(op: Op, sums: list[list[int]]) -> list[str]:
    def mathematical(name: str) -> str:
        return rf"\mathrm{{{name}}}".replace("_", r"\_")

    lines = []
    for output, summed in zip(op.outputs, sums, strict=True):
        terms = " + ".join(mathematical(op.inputs[k].name) for k in summed)
        lines.append(f"{mathematical(output.name)} = {terms or 0}")
    return lines


def _of_kernels(op: Op, sums: list[list[int]]) -> dict[str, Any]:
    allowed = {t for x in op.outputs for t in op.allowed(x)}
    numeric = bool(allowed & set(INTEGERS))
    kinds = {a.element for a in op.attributes}
    return {
        "most_summed": max(len(summed) for summed in sums),
        "dispatch": "DispatchNumeric" if numeric else "DispatchFloating",
        "types": "NUMERIC" if numeric else "FLOATING",
        "has_string": "string" in kinds,
        "has_list": any(a.is_list for a in op.attributes),
        "type_definitions": [
            "kFloatingT"
            if (a.name, a.allowed, a.default) == ("T", FLOATING, None)
            else f'"{a.definition}"'
            for a in op.types
            if a not in op.attributes
        ],
        "case_types": ["T" if op.is_floating(x) else op.allowed(x)[0] for x in op.inputs],
    }


def _of_comparison(op: Op, sums: list[list[int]]) -> dict[str, Any]:
    """The comparison uses the sum of all outputs that have a gradient."""
    floats = [x.name for x in op.inputs if op.is_floating(x)]
    flowing = [k for k, summed in enumerate(sums) if op.is_floating(op.outputs[k])]
    flowing = [k for k in flowing if sums[k]]
    given = [
        x.name if op.is_floating(x) else f"tf.zeros(tf.shape({floats[0]}), tf.{op.allowed(x)[0]})"
        for x in op.inputs
    ]
    given += [f"{a.name}={python_value(a, a.sample)}" for a in op.attributes if not a.is_list]
    call = f"tfe.{op.name}({', '.join(given)})"
    if len(op.outputs) > 1:
        parts = [f"{call}[{k}]" for k in flowing]
        call = " + ".join(parts)
    terms = [op.inputs[k].name for j in flowing for k in sums[j]]
    used = set(terms)
    return {
        "summary": f"{op.op}: each output is the sum of the inputs of its type.",
        "gradient_summary": "the sum of the upstream gradients of these outputs.",
        "compared_inputs": floats,
        "compared_arrays": ["_X", *(f"_X * {k}" for k in range(2, len(floats) + 1))],
        "compared_call": call,
        "compared_value": " + ".join(terms) if len(terms) > 1 else f"1 * {terms[0]}",
        "without_gradient": tuple(k for k, name in enumerate(floats) if name not in used),
    }
