"""Draws a gradient with Graphviz."""

import html
import pathlib
import shutil
import subprocess

from tensorflow.core.framework import node_def_pb2

from tensorflow_ext._explain import _lines
from tensorflow_ext._explain._node import ExplainError

_FORMATS = (".svg", ".png", ".dot")
# Dark text on light boxes, which stand out from a white page and from a black one. The
# second line of a box also says what it is, for readers who do not see colors.
_INK, _LINE = "#1c2733", "#7d8790"
_FILLS = {
    "input": "#cfe3f7",
    "upstream gradient": "#fbdcb4",
    "output, reused": "#cfeccd",
    "gradient": "#e2d4f4",
    "op": "#f4f5f7",
}


def check(path: pathlib.Path) -> None:
    """Checks early that a drawing can be made.

    Raises:
      ExplainError: The file's extension is not a known format, its folder does not
        exist, or Graphviz is not installed.
    """
    if path.suffix not in _FORMATS:
        raise ExplainError(f"--draw {path}: expected a name that ends in {', '.join(_FORMATS)}.")
    if not path.parent.is_dir():
        raise ExplainError(f"--draw {path}: there is no folder {path.parent}.")
    if path.suffix != ".dot" and shutil.which("dot") is None:
        raise ExplainError(
            f"--draw {path} needs Graphviz's program dot: install it (Debian, Ubuntu: "
            "apt-get install graphviz), or print the text with --dot."
        )


def draw(node: node_def_pb2.NodeDef, gradient: _lines.Readable, path: pathlib.Path) -> None:
    """Draws a gradient into a file; its extension chooses the format.

    Raises:
      ExplainError: The drawing cannot be made or written.
    """
    check(path)
    source = dot(node, gradient)
    try:
        path.write_bytes(source.encode() if path.suffix == ".dot" else render(source, path.suffix))
    except OSError as error:
        raise ExplainError(f"--draw {path}: {error.strerror}.") from None


def render(source: str, suffix: str) -> bytes:
    """Runs dot on its source; returns an .svg or .png."""
    dots_per_inch = ["-Gdpi=144"] if suffix == ".png" else []
    done = subprocess.run(
        ["dot", f"-T{suffix[1:]}", *dots_per_inch],
        input=source.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        message = " ".join(done.stderr.decode(errors="replace").split())
        raise ExplainError(f"dot: {message}")
    return done.stdout


def dot(node: node_def_pb2.NodeDef, gradient: _lines.Readable) -> str:
    """A gradient in the language of Graphviz."""
    lines = [
        "digraph gradient {",
        f"  label={_quoted(f'The gradient of {node.op}')}; labelloc=t;",
        f'  bgcolor="transparent"; fontcolor="{_LINE}"; fontsize=15;',
        '  rankdir=TB; ordering="in"; nodesep=0.3; ranksep=0.45; pad=0.15;',
        '  fontname="Helvetica,Arial,sans-serif";',
        '  node [shape=box, style="rounded,filled", fontsize=13, height=0.42,',
        f'        margin="0.14,0.06", color="{_LINE}", fontcolor="{_INK}",',
        '        fontname="Helvetica,Arial,sans-serif"];',
        f'  edge [color="{_LINE}", fontcolor="{_LINE}", arrowsize=0.7, fontsize=11,',
        '        fontname="Helvetica,Arial,sans-serif"];',
    ]
    given = {
        "input": gradient.inputs,
        "upstream gradient": gradient.upstream,
        "output, reused": gradient.reused,
    }
    made_by: dict[str, str] = {}
    for kind, names in given.items():
        for name in names:
            made_by[name] = f"given_{len(made_by)}"
            lines.append(_box(made_by[name], kind, name, kind))
    num_outputs = dict.fromkeys(made_by, 0)
    for i, line in enumerate(gradient.lines):
        attrs = ", ".join(f"{name} = {value}" for name, value in line.attrs.items())
        lines.append(_box(f"op_{i}", "op", line.op, attrs))
        used = [name for name in line.outputs if name]
        made_by |= dict.fromkeys(used, f"op_{i}")
        num_outputs |= dict.fromkeys(used, len(used))
    for i, line in enumerate(gradient.lines):
        flat = [
            name
            for argument in line.inputs
            for name in ([argument] if isinstance(argument, str) else argument)
        ]
        for k, name in enumerate(flat):
            if name not in made_by:
                made = f"constant_{i}_{k}"
                lines.append(_constant(made, name))
                lines.append(f"  {made} -> op_{i};")
                continue
            label = f" [label={_quoted(name)}]" if num_outputs[name] > 1 else ""
            lines.append(f"  {made_by[name]} -> op_{i}{label};")
        lines += [f"  {made_by[name]} -> op_{i} [style=dashed];" for name in line.after]
    for i, (name, result) in enumerate(gradient.results.items()):
        if result is None:
            continue
        made = f"result_{i}"
        title = _lines.gradient_name(name)
        lines.append(_box(made, "gradient", title, "gradient"))
        if result not in made_by:
            lines.append(_constant(f"{made}_value", result))
        lines.append(f"  {made_by.get(result, f'{made}_value')} -> {made};")
    return "\n".join([*lines, "}", ""])


def _box(name: str, kind: str, title: str, remark: str) -> str:
    label = f"<b>{html.escape(title)}</b>"
    if remark:
        label += f'<br/><font point-size="10">{html.escape(_short(remark))}</font>'
    return f'  {name} [label=<{label}>, fillcolor="{_FILLS[kind]}"];'


def _constant(name: str, text: str) -> str:
    return f'  {name} [label={_quoted(text)}, shape=plaintext, style="", fontcolor="{_LINE}"];'


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_short(escaped)}"'
