# SPDX-License-Identifier: Apache-2.0
"""The ops that are there."""

from completeness.cpp import OPS, CppFacts
from completeness.python import PythonFacts
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


def check_free(op: Op, tree: Tree) -> None:
    """Raises NewOpError where an op's name or a file of it is taken, or its family is
    none."""
    cpp = CppFacts(tree)
    folders = cpp.registered
    functions = _modules(tree)
    for name in (op.op, f"{op.op}Grad"):
        if name in folders:
            raise NewOpError(
                f"there is an op TfExt>{name} in {OPS}/{folders[name]}: expected "
                "another name. Nothing is overwritten"
            )
    modules = {*functions.values(), op.module}
    packages = {"addons", "gradients", "layers", "ops", "raw_ops", "sysconfig"}
    if op.name in functions or op.name in modules | packages | {"testing"}:
        raise NewOpError(
            f"tensorflow_ext has a function or a module '{op.name}': expected another "
            "name"
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
            f"--module {op.module}: a function has this name: expected another, such "
            "as activations"
        )
    cases = f"tests/clients/cases/{op.name}.cases"
    if tree.exists(cases):
        raise NewOpError(f"there is a file {cases}: nothing is overwritten")


def find(name: str, tree: Tree) -> Op:
    """An op as new-op has written it, as far as it takes to remove it.

    Raises:
      NewOpError: There is none.
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
