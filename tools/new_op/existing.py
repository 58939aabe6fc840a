# SPDX-License-Identifier: Apache-2.0
"""The existing ops, and the names that are taken."""

import ast
import re

from completeness.cpp import OPS, CppFacts
from completeness.python import PYTHON, PythonFacts
from completeness.reading import OP, Reading
from source_tree import Tree

from new_op.errors import NewOpError
from new_op.op import Op
from new_op.specification import Argument, Attribute, camel_case


def _modules(tree: Tree) -> dict[str, str]:
    """The module of each function."""
    facts = PythonFacts(tree)
    return {
        function: module
        for module, path in facts.modules.items()
        for function in facts.names(path, "__all__")
    }


def _registered(tree: Tree) -> dict[str, str]:
    """The folder of each op of the library, including internal ops."""
    return {
        op: path.rpartition("/")[0]
        for path in tree.files("tensorflow_ext", ".cc", ".h")
        for op in re.findall(rf"REGISTER_OP\({OP}\)", tree.read(path))
    }


_APART = (f"{OPS}/", "tensorflow_ext/stock_gradients/")
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|#include[^\n]*', re.DOTALL)


def _words_of_headers(tree: Tree) -> dict[str, str]:
    """The words in the code that an op's sources include or that is included beside them
    (pointwise_launchers.cc), and the file of each."""
    found: dict[str, str] = {}
    for path in tree.files("tensorflow_ext", ".h", ".cuh"):
        *_, folder, file = path.split("/")
        if path.startswith(_APART) and file != f"{folder}.h":
            continue
        code = _COMMENT_OR_STRING.sub("", tree.read(path))
        for word in re.findall(r"\w+", code):
            found.setdefault(word, path)
    return found


def _written_in_cpp(op: Op) -> list[str]:
    """The names that the op's sources define."""
    behind = ["", "Grad", "Gradient", "GradGrad"]
    before = ["Read"]
    if op.kind == "general":
        behind += ["Arrays", "Cpu", "CpuOp", "GpuOp", "Kernel", "Lowering", "Op", "Sum"]
        before += ["Launch"]
    else:
        behind += ["Second"]
    names = [f"{op.op}{word}" for word in behind]
    return [*names, *(f"{word}{op.op}" for word in before), f"Get{op.op}Attr"]


def _names_of_python(op: Op, tree: Tree) -> set[str]:
    """The public names of tensorflow_ext, its modules, and the names that the op's own code and the
    function's module use."""
    found = {"raw_ops", "tf", "TensorLike", "op"}  # The names in a new module.
    for path in (f"{PYTHON}/__init__.py", f"{PYTHON}/ops/{op.module}.py"):
        for node in Reading(tree).parse(path).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
    for path in tree.files(PYTHON, ".py"):
        found.add(path.split("/")[2].removesuffix(".py"))
    return found


def check_free(op: Op, tree: Tree) -> None:
    """Raises NewOpError if the op's name or one of its files is taken, or if its family does not
    exist."""
    cpp = CppFacts(tree)
    folders = _registered(tree)
    functions = _modules(tree)
    for name in (op.op, f"{op.op}Grad"):
        if name in folders:
            raise NewOpError(
                f"there is an op TfExt>{name} in {folders[name]}: expected "
                "another name. Nothing is overwritten"
            )
    words = _words_of_headers(tree)
    for word in _written_in_cpp(op):
        if word in words:
            raise NewOpError(
                f"{words[word]} has a '{word}', and so would something of "
                f"TfExt>{op.op} be called: expected another name"
            )
    modules = {*functions.values(), op.module}
    if op.name in functions or op.name in modules | _names_of_python(op, tree):
        raise NewOpError(
            f"tensorflow_ext has a function or a module '{op.name}': expected another name"
        )
    if op.family is None:
        taken = tree.files(f"{OPS}/{op.name}", "")
        if taken:
            raise NewOpError(f"there is a file {taken[0]}: nothing is overwritten")
    elif f"TENSORFLOW_EXT_{op.family.upper()}" not in cpp.functor_lists:
        families = sorted(
            name.removeprefix("TENSORFLOW_EXT_").lower() for name in cpp.functor_lists
        )
        raise NewOpError(
            f"--family {op.family}: expected one of {', '.join(families)}, whose "
            "header lists the functors of its ops"
        )
    if op.module in functions:
        raise NewOpError(
            f"--module {op.module}: a function has this name: expected another, such as activations"
        )
    cases = f"tests/clients/cases/{op.name}.cases"
    if tree.exists(cases):
        raise NewOpError(f"there is a file {cases}: nothing is overwritten")


def find(name: str, tree: Tree) -> Op:
    """An op as new-op wrote it, with the details that its removal needs.

    Raises:
      NewOpError: There is no such op.
    """
    folder = CppFacts(tree).registered.get(camel_case(name))
    module = _modules(tree).get(name)
    if folder is None or module is None:
        raise NewOpError(
            f"there is no op '{name}': expected the name of a function such as "
            "squareplus, the op's registration and the function in their files"
        )
    base = f"{OPS}/{folder}/{folder}"
    kernels = tree.read(f"{base}_kernels.cc")
    broadcasts = f"BroadcastCpuOp<{camel_case(name)}>" in kernels
    is_general = tree.exists(f"tests/gpu/kernels_alone/{name}_checks.py")
    has_minima = tree.exists(f"{OPS}/{folder}/{name}_attributes.h")
    has_attributes = f"Read{camel_case(name)}(" in kernels
    return Op(
        name,
        "general" if is_general else "binary" if broadcasts else "unary",
        broadcasts,
        None if folder == name else folder,
        module,
        (Attribute("any", "float", minimum=0 if has_minima else None),)
        if has_attributes or has_minima
        else (),
        (),
        (Argument("x", "T"),),
        (Argument("y", "T"),),
    )
