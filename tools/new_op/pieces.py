# SPDX-License-Identifier: Apache-2.0
"""The pieces of an op: new files, and rows of existing files."""

import re
from collections.abc import Callable, Iterator

from completeness.checks import POINTWISE_KERNELS
from completeness.cpp import BUDGETS, KERNELS_ALONE, OPS, POINTWISE_LAUNCHERS
from source_tree import Tree

from new_op import edits
from new_op.errors import NewOpError
from new_op.op import Op
from new_op.piece import Piece, new_file
from new_op.python_pieces import in_python
from new_op.rendering import render


def pieces(op: Op, tree: Tree) -> list[Piece]:
    """All pieces of an op, in an order in which they can be applied."""
    kind = "general" if op.kind == "general" else "pointwise"
    found = list(_family(op) if op.family else _folder(op, kind))
    case_file = f"tests/clients/cases/{op.name}.cases"
    found.append(new_file(op, case_file, f"{kind}/op.cases", "cases, for every client"))
    found += _on_gpu(op)
    found += in_python(op, tree)
    return found


# ----- C++.


def _folder(op: Op, kind: str) -> Iterator[Piece]:
    """The files of an op with its own folder."""
    base = f"{OPS}/{op.name}/{op.name}"
    files = {
        ".h": "the formula and its derivative" if kind == "pointwise" else "arithmetic",
        "_cpu.cc": "loops for the CPU",
        "_gpu.cu.cc": "loops for the GPU",
        "_grad.cc": "the gradient, to second order",
        "_kernels.cc": "the kernels",
        "_op.cc": "registration, shape function and documentation",
    }
    if op.broadcasts or kind == "general":
        files["_xla.cc"] = "the lowering for XLA"
    if op.has_minima:
        yield _attributes(op)
    for suffix, what in files.items():
        stem = suffix.removeprefix("_")
        template = "header.h" if suffix == ".h" else stem
        yield new_file(op, f"{base}{suffix}", f"{kind}/{template}", what)


def _attributes(op: Op) -> Piece:
    path = f"{OPS}/{op.folder}/{op.name}_attributes.h"
    return new_file(op, path, "attributes.h", "how its attributes are checked")


def _family(op: Op) -> Iterator[Piece]:
    """An elementwise op in the files of its family."""
    base = f"{OPS}/{op.family}/{op.family}"
    macro = f"TENSORFLOW_EXT_{op.folder.upper()}"
    name = re.escape(op.op)
    rows = [f'OP("TfExt>{op.op}", {op.op})', f'OP("TfExt>{op.op}Grad", {op.op}Grad)']

    def blocks(text: str, path: str, *bounds: tuple[str, str]) -> str:
        for begin, end in bounds:
            text = edits.remove_block(path, text, begin, end)
        return text

    def at_end(template: str, anchor: str) -> Callable[[str, str], str]:
        return lambda path, text: edits.formatted(
            path, edits.insert_above_last(path, text, anchor, render(op, template))
        )

    if op.has_minima:
        yield _attributes(op)
    include = f'#include "{OPS}/{op.family}/{op.name}_attributes.h"'

    def including(path: str, text: str) -> str:
        if not op.has_minima:
            return text
        return edits.insert_among(path, text, '#include "tensorflow_ext/', include)

    def without_include(path: str, text: str) -> str:
        if not op.has_minima:
            return text
        return edits.remove_lines(path, text, include.__eq__)

    registrations = at_end("pointwise/registrations.cc", "}  // namespace tensorflow_ext")
    functors = at_end("pointwise/functors.h", "}  // namespace tensorflow_ext")
    yield Piece(
        f"{base}.h",
        "the formula and its derivative",
        lambda path, text: edits.change_macro(
            path, functors(path, text), macro, lambda found: [*found, *rows]
        ),
        lambda path, text: edits.change_macro(
            path,
            blocks(
                text, path, (rf"struct {name} \{{", r"\};"), (rf"struct {name}Grad \{{", r"\};")
            ),
            macro,
            lambda found: [row for row in found if row not in rows],
        ),
    )
    documentation = r"\)doc\"\);"
    yield Piece(
        f"{base}_op.cc",
        "registration, shape function and documentation",
        lambda path, text: registrations(path, including(path, text)),
        lambda path, text: blocks(
            without_include(path, text),
            path,
            (rf'REGISTER_OP\("TfExt>{name}"\)', documentation),
            (rf'REGISTER_OP\("TfExt>{name}Grad"\)', documentation),
        ),
    )
    functions = [f"void {name}Gradient", f"void {name}GradGrad"]
    functions.insert(1, rf"Values? {name}Second")
    registered = [f"TfExt>{name}", f"TfExt>{name}Grad"]
    yield Piece(
        f"{base}_grad.cc",
        "the gradient, to second order",
        at_end("pointwise/gradient.cc", "}  // namespace"),
        lambda path, text: blocks(
            text,
            path,
            *((rf"{function}\(", r".*\}$") for function in functions),
            *((rf'REGISTER_GRADIENT\("{x}",', r".*;$") for x in registered),
        ),
    )
    if op.attributes:
        registration = f"{macro}(REGISTER_ELEMENTWISE)"
        yield Piece(
            f"{base}_kernels.cc",
            "how the attributes are read",
            lambda path, text: edits.formatted(
                path,
                edits.insert_above_last(
                    path, including(path, text), registration, render(op, "pointwise/attributes.cc")
                ),
            ),
            lambda path, text: _without_readers(path, without_include(path, text), op.op),
        )


def _without_readers(path: str, text: str, name: str) -> str:
    """Removes the functions that read a functor's attributes."""
    reader = rf"// [^\n]*\ntemplate <typename Functor>\nabsl::Status Read{name}\(.*?^}}\n"
    overload = (
        r"absl::Status ReadAttributes\(tensorflow::OpKernelConstruction\* context,\s+"
        rf"{name}(?:Grad)?\* functor\) \{{.*?^}}\n"
    )
    found = re.search(rf"{reader}(?:{overload})*\n?", text, re.M | re.S)
    if found is None:
        raise NewOpError(f"{path} has no function Read{name}")
    return text[: found.start()] + text[found.end() :]


# ----- Standalone checks of the GPU kernels.


def _on_gpu(op: Op) -> Iterator[Piece]:
    base = f"{KERNELS_ALONE}/{op.name}"
    if op.kind == "general":
        launchers, checks = "general/launchers.cc", "general/checks.py"
        yield new_file(op, f"{base}_launchers.cc", launchers, "its launcher for tests")
        yield new_file(op, f"{base}_checks.py", checks, "checks of the GPU's kernel")
        row = f'    "{op.op}Kernel": 32,'
        yield Piece(
            BUDGETS,
            "registers that the GPU's kernel may take",
            lambda path, text: edits.insert_below(path, text, "_REGISTERS = {", f"{row}\n"),
            lambda path, text: edits.remove_lines(
                path, text, lambda line: line.startswith(f'    "{op.op}Kernel":')
            ),
        )
        return
    if op.kind == "binary" and not op.broadcasts:
        anchor = "_FUNCTOR_REGISTERS = {"
        yield Piece(
            BUDGETS,
            "registers that the gradient's GPU kernel may take",
            lambda path, text: edits.insert_sorted(path, text, anchor, f'    "{op.op}Grad": 48,'),
            lambda path, text: without_budgets(path, text, op),
        )
    if not op.family:
        yield Piece(POINTWISE_LAUNCHERS, "its launchers for tests", *_launchers(op))
    yield Piece(
        POINTWISE_KERNELS,
        "the formula in NumPy, for checks of the GPU's kernels",
        lambda path, text: edits.formatted(
            path,
            edits.append_to_list(
                path,
                text,
                "BROADCAST = (" if op.broadcasts else "ELEMENTWISE = (",
                render(op, "python/pointwise_kernels.py"),
            ),
        ),
        lambda path, text: edits.remove_calls(
            path, text, "PointwiseKernel", {op.op, f"{op.op}Grad"}.__contains__
        ),
    )


def without_budgets(path: str, text: str, op: Op) -> str:
    """Removes the budgets of an op's functors, which its author may have added."""
    return re.sub(rf'^    "{op.op}(?:Grad)?": \d+,\n', "", text, flags=re.M)


def _launchers(op: Op) -> tuple[Callable[[str, str], str], Callable[[str, str], str]]:
    include = f'#include "{OPS}/{op.name}/{op.name}.h"'
    if op.broadcasts:
        rows = [
            f'    {{"{name}", {name}::kArity, LaunchBroadcast<{name}>}},\n'
            for name in (op.op, f"{op.op}Grad")
        ]
        anchor = "} constexpr kBroadcast[] = {"
    else:
        rows = [f"    TENSORFLOW_EXT_{op.name.upper()}(LAUNCHER)\n"]
        anchor = "} constexpr kElementwise[] = {"
    first = '#include "tensorflow_ext/ops/activations/activations.h"'

    def insert(path: str, text: str) -> str:
        text = edits.insert_below(path, text, first, f"{include}\n")
        text = edits.append_to_list(path, text, anchor, "".join(rows))
        return edits.formatted(path, text)

    def remove(path: str, text: str) -> str:
        text = edits.remove_lines(path, text, include.__eq__)
        row = rf'\{{"{op.op}(?:Grad)?",[^}}]*\}},'
        macro = rf"TENSORFLOW_EXT_{op.name.upper()}\(LAUNCHER\)"
        without = re.sub(rf"^ +(?:{row}|{macro})\n", "", text, flags=re.M)
        if without == text:
            raise NewOpError(f"{path} has no row of {op.op}")
        return without

    return insert, remove
