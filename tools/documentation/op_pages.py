"""A page per op of this library, made from its OpDef, its cases and its gradient's plan."""

import functools
import html
import inspect
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator

import benchmark_rows
import latex2mathml.converter
import plots
from op_instances import instances
from tensorflow.core.framework import attr_value_pb2, op_def_pb2

import tensorflow_ext as tfe
from tensorflow_ext import raw_ops
from tensorflow_ext._explain import _clients as _explain_clients
from tensorflow_ext._explain import _draw, _explain, _lines, _node
from tensorflow_ext._runtime import _attributes

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "clients" / "python"))

import case_files  # noqa: E402
from cases import Case  # noqa: E402

_NAMESPACE = "TfExt>"
# A table of results with more lines is folded.
_MOST_LINES = 12
_RAW_NAMES = {op: name for name, op in raw_ops.OPS.items()}


def ops() -> list[str]:
    """The ops, sorted: each before the ops of its gradient."""
    return sorted(_RAW_NAMES)


def short_name(op: str) -> str:
    return op.removeprefix(_NAMESPACE)


def page_name(op: str) -> str:
    return f"ops/{_RAW_NAMES[op]}.md"


def files() -> dict[str, str | bytes]:
    """The pages with their drawings and plots, by name in docs/."""
    made: dict[str, str | bytes] = {"ops/index.md": _index()}
    for op in ops():
        made |= _Page(op).files()
    return made


def _function_name(op: str) -> str | None:
    """The op's function in tensorflow_ext, if it has one."""
    wanted = _RAW_NAMES[op].replace("_", "")
    public = {name.replace("_", ""): name for name in tfe.ops.__all__}
    return public.get(wanted)


def _index() -> str:
    """The list of all ops."""
    functions, parts, texts = [], [], []
    for op in ops():
        function = _function_name(op)
        link = f"[`{short_name(op)}`]({_RAW_NAMES[op]}.md)"
        summary = _text(_summary(op), op)
        if op in raw_ops.CLIENT_OPS:
            texts.append(f"| {link} | {summary} |")
        elif function:
            functions.append(f"| {link} | `{function}` | {summary} |")
        else:
            parts.append(f"| {link} | {summary} |")
    rows, rest, told = map("\n".join, (functions, parts, texts))
    return (
        f"# The {len(ops())} ops\n\n"
        "Each op, except those in the last table, has kernels for the CPU, CUDA and XLA, a "
        "gradient in C++ up to second order, a shape function and a rule for "
        f"`tf.vectorized_map`. The registered names begin with `{_NAMESPACE}`.\n\n"
        '<div class="filter" data-filter="ops" markdown>\n\n'
        "## With a function of `tensorflow_ext`\n\n"
        f"| op | function | description |\n|---|---|---|\n{rows}\n\n"
        "## Parts of gradients\n\n"
        "`tensorflow_ext.raw_ops` has these and all other ops.\n\n"
        f"| op | description |\n|---|---|\n{rest}\n\n"
        "## Information about graphs and models\n\n"
        "These ops are for clients that run ops but cannot call functions of a library. They "
        "compute no numbers, run on the CPU and have no gradient.\n\n"
        f"| op | description |\n|---|---|\n{told}\n\n</div>\n"
    )


@functools.cache
def _op_def(op: str) -> op_def_pb2.OpDef:
    """The OpDef with its documentation."""
    return next(op_def for op_def in raw_ops._OP_DEFS if op_def.name == op)


def _summary(op: str) -> str:
    """The first sentence of its documentation."""
    op_def = _op_def(op)
    text = f"{op_def.summary} {op_def.description.partition(chr(10) * 2)[0]}"
    text = " ".join(text.split())
    return re.split(r"(?<=[a-z\])}0-9])[.:] (?=[A-Z])", text)[0].rstrip(".:") + "."


def _text(text: str, own: str) -> str:
    """Plain text as Markdown, with links to the ops that it names."""
    text = re.sub(r"([\\`*_\[\]|#])", r"\\\1", html.escape(text, quote=False))

    def link(match: re.Match[str]) -> str:
        op = _NAMESPACE + match[0]
        if op == own or op not in _RAW_NAMES:
            return match[0]
        return f"[{match[0]}]({_RAW_NAMES[op]}.md)"

    return re.sub(r"\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b", link, text)


def _paragraphs(text: str, own: str) -> str:
    """Paragraphs as Markdown; indented ones stay as they are."""
    parts = []
    for part in text.split("\n\n"):
        indented = all(line.startswith("  ") for line in part.splitlines())
        parts.append(f"```text\n{part}\n```" if indented else _text(part, own))
    return "\n\n".join(parts)


class _Page:
    """The page of one op."""

    def __init__(self, op: str) -> None:
        self._op = op
        self._name = _RAW_NAMES[op]
        self._op_def = _op_def(op)
        self._files: dict[str, str | bytes] = {}

    def files(self) -> dict[str, str | bytes]:
        sections = [
            f"# {self._op}",
            self._documentation(),
            self._formula(),
            self._plot(),
            self._signature(),
            self._gradient(),
            self._clients(),
            self._speed(),
            self._cases(),
        ]
        text = "\n\n".join(section for section in sections if section)
        return {page_name(self._op): f"{text}\n", **self._files}

    def _documentation(self) -> str:
        text = f"{self._op_def.summary}\n{self._op_def.description}"
        return _paragraphs(text, self._op)

    def _formula(self) -> str:
        lines = tfe.ops.OPS.get(short_name(self._op), {}).get("formula", ())
        mathematics = (latex2mathml.converter.convert(line, display="block") for line in lines)
        shown = "\n".join(f'<div class="formula">{line}</div>' for line in mathematics)
        return f"## Formula\n\n{shown}" if lines else ""

    def _plot(self) -> str:
        what = plots.curve(self._name, self._op_def)
        if what is None:
            return ""
        file = f"ops/plots/{self._name}.svg"
        self._files[file] = plots.draw(self._name, self._op_def, what)
        alternative = f"{self._op} and its gradient for {what.along}{what.remark}"
        return (
            f"## Plot\n\n![{alternative}](plots/{self._name}.svg){{ .plot }}\n\n"
            f"The value and the gradient for `{what.along}`{what.remark}, in double."
        )

    def _signature(self) -> str:
        lines = ["## Signature"]
        function = _function_name(self._op)
        if function:
            call, signature = function, inspect.signature(getattr(tfe, function))
        else:
            call = f"raw_ops.{self._name}"
            signature = inspect.signature(getattr(raw_ops, self._name))
        names = ", ".join(
            str(parameter.replace(annotation=inspect.Parameter.empty))
            for parameter in signature.parameters.values()
        )
        lines.append(f"```python\ntensorflow_ext.{call}({names})\n```")
        rows = [
            *self._argument_rows("input", self._op_def.input_arg),
            *self._argument_rows("output", self._op_def.output_arg),
            *self._attribute_rows(),
        ]
        table = "\n".join(rows)
        lines.append(f"| | name | type | |\n|---|---|---|---|\n{table}")
        return "\n\n".join(lines)

    def _argument_rows(
        self, kind: str, arguments: Iterable[op_def_pb2.OpDef.ArgDef]
    ) -> Iterator[str]:
        for argument in arguments:
            number = argument.number_attr
            type_name = argument.type_attr or argument.type_list_attr
            type_name = type_name or _node.type_name(argument.type)
            shown = f"{number} * {type_name}" if number else type_name
            described = _text(" ".join(argument.description.split()), self._op)
            yield f"| {kind} | `{argument.name}` | `{shown}` | {described} |"

    def _attribute_rows(self) -> Iterator[str]:
        for attr in self._op_def.attr:
            kind = attr.type
            allowed = attr.allowed_values.list
            if allowed.type:
                names = [_node.type_name(one) for one in allowed.type]
                kind = f"{{{', '.join(names)}}}"
            elif allowed.s:
                kind = f"{{{', '.join(repr(one.decode()) for one in allowed.s)}}}"
            elif attr.has_minimum:
                kind += f" >= {attr.minimum}"
            if attr.HasField("default_value"):
                kind += f" = {_lines.attr_text(attr.default_value)}"
            described = _text(" ".join(attr.description.split()), self._op)
            yield f"| attribute | `{attr.name}` | `{kind}` | {described} |"

    def _explanation(self) -> _explain.Explanation:
        """The gradient for the attributes of a case, or else for any attributes that fit."""
        node = next(iter(instances(self._op_def)))
        for attr in self._op_def.attr:
            if attr.name not in node.attr and attr.HasField("default_value"):
                node.attr[attr.name].CopyFrom(attr.default_value)
        providers = _explain_clients.providers(self._op)
        return _explain.explain_node(node, set(), providers)

    def _gradient(self) -> str:
        if self._op in raw_ops.CLIENT_OPS:
            return "## Gradient\n\nThis op has no gradient, because it computes no numbers."
        try:
            explanation = self._explanation()
        except _explain.ExplainError as error:
            return f"## Gradient\n\n{_text(str(error), self._op)}"
        gradient, node = explanation.gradient, explanation.node
        source = _draw.dot(node, gradient)
        self._files[f"ops/drawings/{self._name}.svg"] = _draw.render(source, ".svg")
        lines = "\n".join(gradient.text) or "No input has a gradient."
        attributes = ", ".join(
            f"{name} = {_lines.attr_text(node.attr[name])}"
            for name in (attr.name for attr in self._op_def.attr)
        )
        reused = (
            f"Outputs of the op that are reused: {', '.join(gradient.reused)}.\n\n"
            if gradient.reused
            else ""
        )
        command = f"python -m tensorflow_ext explain '{self._op}'"
        alternative = html.escape(f"The gradient of {self._op}, drawn")
        drawing = f"drawings/{self._name}.svg"
        return (
            f"## Gradient\n\nEvery client runs this, for {attributes}:\n\n"
            f"```text\n{lines}\n```\n\n{reused}"
            f"[![{alternative}]({drawing}){{ .drawing }}]({drawing})\n\n"
            f"`{command}` prints this for other attributes."
        )

    def _clients(self) -> str:
        if self._op in raw_ops.CLIENT_OPS:
            return ""
        rows = "\n".join(
            f"| {provider.client} | {_text(str(provider), self._op)} |"
            for provider in _explain_clients.providers(self._op)
        )
        return f"## Clients\n\n| client | provider of the gradient |\n|---|---|\n{rows}"

    def _speed(self) -> str:
        tables = benchmark_rows.tables_of(short_name(self._op))
        if not tables:
            return ""
        shown = "\n\n".join(
            _folded(heading, table)
            if table.count("\n") > _MOST_LINES
            else f"**{heading}**\n\n{table}"
            for heading, table in tables.items()
        )
        return (
            "## Speed\n\n"
            "*ratio*: our time divided by the rival's; below 1, we are faster "
            f"([how this was measured](../benchmarks.md)).\n\n{shown}"
        )

    def _cases(self) -> str:
        path, cases = _cases_of(self._op)
        if path is None:
            return ""
        relative = f"../../{path.relative_to(ROOT)}"
        rows = "\n".join(_case_row(case) for case in cases)
        table = f"| case | types | inputs | attributes |\n|---|---|---|---|\n{rows}"
        return (
            f"## Cases\n\nEvery client runs these cases from [{path.name}]({relative}), "
            "in every type that they name "
            "([how they are compared](../../tests/clients/README.md)).\n\n"
            f"{_folded(f'{len(cases)} cases', table)}"
        )


def _folded(title: str, text: str) -> str:
    """Text that opens on a click."""
    indented = "\n".join(f"    {line}" for line in text.splitlines())
    return f'??? abstract "{title}"\n\n{indented}'


@functools.cache
def _all_cases() -> dict[str, tuple[pathlib.Path, list[Case]]]:
    found: dict[str, tuple[pathlib.Path, list[Case]]] = {}
    for path, cases in case_files.table().items():
        for case in cases:
            found.setdefault(case.op, (path, []))[1].append(case)
    return found


def _cases_of(op: str) -> tuple[pathlib.Path | None, list[Case]]:
    return _all_cases().get(op, (None, []))


def _case_row(case: Case) -> str:
    inputs = ", ".join(
        f"{one.argument} {list(one.shape)}".replace(" ", "&nbsp;") for one in case.inputs
    )
    attrs = ", ".join(f"{name} = {_attr(value)}" for name, value in case.attrs.items())
    error = f" (refused: {case.error})" if case.error else ""
    name = case.name.replace("_", " ")
    return f"| {name}{error} | {', '.join(case.types)} | {inputs} | {attrs} |"


def _attr(value: object) -> str:
    if isinstance(value, attr_value_pb2.AttrValue):
        value = _attributes.to_python(value)
    return str(value)
