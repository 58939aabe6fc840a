# SPDX-License-Identifier: Apache-2.0
"""The missing things and where they go: a list of sentences, empty if nothing is missing."""

import re
from collections.abc import Iterator

from source_tree import Tree

from completeness.cpp import BUDGETS, KERNELS_ALONE, OPS, POINTWISE_LAUNCHERS, CppFacts
from completeness.python import FORMULAS, PYTHON, PythonFacts
from completeness.reading import python_name

RULES = f"{PYTHON}/_vectorize/__init__.py"
COMPARISONS = "tests/python/comparisons.py"
_LAYERS = f"{PYTHON}/layers/__init__.py"
POINTWISE_KERNELS = f"{KERNELS_ALONE}/pointwise_kernels.py"


def missing(tree: Tree) -> list[str]:
    """Everything that the ops of a tree lack, and rows that belong to no op."""
    cpp, python = CppFacts(tree), PythonFacts(tree)
    return [
        *_folders(cpp),
        *_registrations(cpp),
        *_gpu_checks(cpp),
        *_reached(cpp, python),
        *_functions(python),
        *_rows_of_ops(cpp, python),
        *_benchmarks(python),
        *_layers(python),
    ]


def _folders(cpp: CppFacts) -> Iterator[str]:
    """Checks the files that each folder must have, and the promises of its headers."""
    for folder, paths in cpp.folders.items():
        for suffix in ("_op.cc", "_kernels.cc", "_grad.cc", "_gpu.cu.cc"):
            path = f"{OPS}/{folder}/{folder}{suffix}"
            if not any(p.endswith(suffix) for p in paths):
                yield f"there is no {path}: write it (tensorflow_ext/ops/BUILD)"
    for header, name in cpp.undefined:
        yield f"{header} declares {name}: define it in a file of its folder"
    for path, header in cpp.absent_headers:
        yield f"{path} includes {header}, which is not there: write it"
    for header, functor in cpp.unread_functors:
        kernels = header.replace(".h", "_kernels.cc")
        yield (
            f"{functor} of {header} has members: write a ReadAttributes that sets "
            f"them, to {kernels}"
        )
    loops = {"CPU": "_cpu.cc", "GPU": "_gpu.cu.cc"}
    for one, other in (("GPU", "CPU"), ("CPU", "GPU")):
        functors = cpp.functors(one)
        for functor in functors.keys() - cpp.functors(other).keys():
            path = functors[functor].rsplit("_", 1)[0] + loops[other]
            yield f"{functor} has no loops for the {other}: add them to {path}"


def _registrations(cpp: CppFacts) -> Iterator[str]:
    kernels = {device: cpp.kernels(device) for device in ("CPU", "GPU")}
    for op, folder in cpp.registered.items():
        base = f"{OPS}/{folder}/{folder}"
        for device, ops in kernels.items():
            if op not in ops:
                yield (
                    f"TfExt>{op} has no {device} kernel: register one in "
                    f"{base}_kernels.cc, or add it to the list of functors in {base}.h"
                )
        if op not in cpp.lowerings:
            yield (
                f"TfExt>{op} has no lowering for XLA: register one in "
                f"{base}_xla.cc, or add it to the list of functors in {base}.h"
            )
        if op not in cpp.gradients:
            yield f"TfExt>{op} has no gradient: define it in {base}_grad.cc"
        if op not in cpp.cases:
            yield (
                f"TfExt>{op} has no cases: write some to a file of tests/clients/cases "
                f"such as {python_name(op).removesuffix('_grad')}.cases"
            )
    for op in cpp.gradients.keys() - cpp.registered.keys():
        path = cpp.gradient_files[op].replace("_grad.cc", "_op.cc")
        yield f"a gradient is of TfExt>{op}, which is no op: REGISTER_OP it in {path}"
    for op in cpp.cases - cpp.registered.keys():
        yield f"cases in tests/clients/cases are of TfExt>{op}, which is no op"
    for name, rows in cpp.functor_lists.items():
        for op in rows.keys() - cpp.registered.keys():
            yield f"the list {name} has TfExt>{op}, which is no op: REGISTER_OP it"


def _gpu_checks(cpp: CppFacts) -> Iterator[str]:
    for functor, path in cpp.functors("GPU").items():
        if functor not in cpp.launched_alone:
            yield (
                f"no check launches {functor} of {path}: add it to the tables of "
                f"{POINTWISE_LAUNCHERS}"
            )
    for functor in sorted(cpp.pointwise - cpp.checked_alone):
        yield (
            f"nothing is known of what {functor} computes on a GPU: add a "
            f"PointwiseKernel to {POINTWISE_KERNELS}"
        )
    for functor in sorted(cpp.checked_alone - cpp.pointwise):
        yield (
            f"{POINTWISE_KERNELS} names {functor}, which is not launched: add it to "
            f"the tables of {POINTWISE_LAUNCHERS}"
        )
    for name, path in cpp.gpu_launchers.items():
        if name not in cpp.launched_alone:
            family = path.rsplit("/", 1)[1].removesuffix(".h")
            yield (
                f"no check calls {name} of {path}: write a launcher to "
                f"{KERNELS_ALONE}/{family}_launchers.cc"
            )
    families = {
        name.removesuffix("_launchers.cc").removesuffix("_checks.py") for name in cpp.checks_alone
    }
    for family in sorted(families):
        for suffix in ("_checks.py", "_launchers.cc"):
            if family + suffix not in cpp.checks_alone:
                path = f"{KERNELS_ALONE}/{family}{suffix}"
                yield f"there is no {path}: write it (tests/gpu/README.md)"
    for kernel, path in cpp.gpu_kernels.items():
        if kernel not in cpp.budgets:
            yield (
                f"{kernel} of {path} has no budget of registers: add a row to "
                f"_REGISTERS in {BUDGETS}"
            )
    for functor, path in cpp.functors_of_three.items():
        if functor not in cpp.functor_budgets:
            yield (
                f"{functor} of {path} takes more registers than functors of fewer "
                f"arguments: add a row to _FUNCTOR_REGISTERS in {BUDGETS}"
            )
    for kernel in sorted(cpp.budgets - cpp.gpu_kernels.keys()):
        yield f"_REGISTERS in {BUDGETS} names {kernel}, which is no kernel"


def _reached(cpp: CppFacts, python: PythonFacts) -> Iterator[str]:
    """Each op needs a Python function that calls it, or must be the gradient of an op that has
    one."""
    reached = {op for op in cpp.registered if python_name(op) in python.called_ops}
    pending = list(reached)
    while pending:
        for op in cpp.gradients.get(pending.pop(), set()) - reached:
            reached.add(op)
            pending.append(op)
    for op in cpp.registered.keys() - reached:
        yield (
            f"Python has no function that calls TfExt>{op}, and no gradient does: add "
            f"one, {python_name(op)}, to a module of {PYTHON}/ops"
        )
    named = {python_name(op) for op in cpp.registered}
    for name in sorted(python.called_ops - named):
        yield f"{PYTHON}/ops calls raw_ops.{name}, which is no op: REGISTER_OP it"


def _functions(python: PythonFacts) -> Iterator[str]:
    for name, path in python.functions.items():
        if name.startswith("_"):
            continue
        if name not in python.exported:
            yield f'{path} does not export {name}: add "{name}" to its __all__'
        if name not in python.comparisons:
            yield (
                f"{name} is compared with nothing: add a Comparison to {COMPARISONS}, "
                "with TensorFlow's own ops that compute the same"
            )
        if name not in python.in_readme:
            yield f"README.md does not name {name}: add it to the table of 'The ops'"
    for name in sorted(python.comparisons.keys() - python.functions.keys()):
        yield f"{COMPARISONS} compares {name}, which is no function of {PYTHON}/ops"
    for module, times in python.imported_modules.items():
        if times != 3:
            yield (
                f"{PYTHON}/ops/__init__.py does not hand on all of {module}: import "
                "it, import * from it, and add its __all__"
            )


def _rows_of_ops(cpp: CppFacts, python: PythonFacts) -> Iterator[str]:
    rules = python.rules(map(python_name, cpp.registered))
    for op in cpp.registered:
        if python_name(op) not in rules:
            yield (
                f"tf.vectorized_map does not know TfExt>{op}: say by which rule it is "
                f"vectorized, in _RULES of {RULES}"
            )
        if python_name(op) in python.called_ops and op not in python.formulas:
            yield (
                f"the page of TfExt>{op} has no formula: add it, in LaTeX, to FORMULAS "
                f"in {FORMULAS}"
            )
    for op in sorted(python.formulas - cpp.registered.keys()):
        yield f"FORMULAS in {FORMULAS} names {op}, which is no op"
    names = {python_name(op) for op in cpp.registered} | {"check_gradient_shape", "no_gradient"}
    for name in sorted(rules - names):
        yield f"_RULES of {RULES} names {name}, which is no op"


def _benchmarks(python: PythonFacts) -> Iterator[str]:
    for name in python.functions_of_ops:
        measured = any(
            re.search(rf"\b(?:tfe|raw_ops)\.{name}\b", text) for text in python.benchmarks.values()
        )
        if not measured and not python.comparisons.get(name):
            yield (
                f"nothing measures {name}: write a suite benchmarks/{name}.py with a "
                "function run(), or a Comparison with tensors of any shape, which "
                "benchmarks/elementwise.py measures"
            )
    for suite in python.benchmarks.keys() - set(python.suites):
        yield f'benchmarks/{suite}.py is not run: add "{suite}" to SUITES of run.py'
    for suite in set(python.suites) - python.benchmarks.keys():
        yield f"SUITES of benchmarks/run.py names {suite}, which has no run()"


def _layers(python: PythonFacts) -> Iterator[str]:
    tables = {
        "tests/python/layers_table.py": ("layers.", "a Case to CASES"),
        "tests/models/own_models.py": ("ours.", "it to a model"),
    }
    for name, path in python.layers.items():
        if name.startswith("_"):
            continue
        if name not in python.exported_layers:
            yield f"{_LAYERS} does not hand on {name} of {path}: add it, and to __all__"
        for table, (prefix, what) in tables.items():
            of_layer = name in python.layer_classes
            if of_layer and name not in python.mentions(table, prefix):
                yield f"{table} has no layer {name}: add {what}"
