# SPDX-License-Identifier: Apache-2.0
"""Facts about the ops from the Python sources, the tables and the pages."""

import ast
import functools
import re
from collections.abc import Iterable

from completeness.reading import Reading, calls

PYTHON = "python/tensorflow_ext"
FORMULAS = "tools/documentation/formulas.py"


class PythonFacts(Reading):
    """Facts from the Python sources, the tables and the pages below a root."""

    @functools.cached_property
    def modules(self) -> dict[str, str]:
        """The modules of functions, and their paths."""
        found = {}
        for path in self.tree.files(f"{PYTHON}/ops", ".py"):
            name = path.rsplit("/", 1)[1].removesuffix(".py")
            if not name.startswith("_"):
                found[name] = path
        return found

    @functools.cached_property
    def functions(self) -> dict[str, str]:
        """The functions decorated with @op, and their files."""
        return {
            node.name: path
            for path in self.modules.values()
            for node in self.parse(path).body
            if isinstance(node, ast.FunctionDef) and "op" in map(ast.unparse, node.decorator_list)
        }

    @functools.cached_property
    def functions_of_ops(self) -> list[str]:
        """The functions that call an op themselves."""
        return [
            node.name
            for path in self.modules.values()
            for node in self.parse(path).body
            if isinstance(node, ast.FunctionDef)
            and node.name in self.functions
            and "raw_ops." in ast.unparse(node)
        ]

    @functools.cached_property
    def exported(self) -> set[str]:
        """The names in __all__ of the modules of functions."""
        return {name for path in self.modules.values() for name in self.names(path, "__all__")}

    @functools.cached_property
    def imported_modules(self) -> dict[str, int]:
        """The number of times that ops/__init__.py names each module in its three lists."""
        path = f"{PYTHON}/ops/__init__.py"
        text = self.tree.read(path)
        return {
            module: (f"    {module},\n" in text)
            + (f"from tensorflow_ext.ops.{module} import *\n" in text)
            + (f"__all__ += {module}.__all__\n" in text)
            for module in self.modules
        }

    @functools.cached_property
    def called_ops(self) -> set[str]:
        """The functions of raw_ops that the modules of functions call."""
        texts = [self.tree.read(path) for path in self.modules.values()]
        return {name for t in texts for name in re.findall(r"raw_ops\.(\w+)", t)}

    def rules(self, ops: Iterable[str]) -> set[str]:
        """The given ops, as raw_ops names them, that have a vectorization rule, and other ops that
        have one."""
        rows = self.dictionary(f"{PYTHON}/_vectorize/__init__.py", "_RULES")
        plain = {
            f"{name}_grad"
            for name, rule in rows.items()
            if ast.unparse(rule) in ("elementwise", "broadcasting")
        }
        return set(rows) | (plain & set(ops))

    @functools.cached_property
    def comparisons(self) -> dict[str, bool]:
        """The functions that are compared; true for those compared with tensors of any shape."""
        found: dict[str, bool] = {}
        for node in calls(self.parse("tests/python/comparisons.py"), "Comparison"):
            name = str(ast.literal_eval(node.args[0])).partition(",")[0]
            shaped = [k for k in node.keywords if k.arg == "any_shape"]
            found[name] = found.get(name, False) or not shaped
        return found

    # ----- Tables.

    @functools.cached_property
    def formulas(self) -> set[str]:
        """The ops, without TfExt>, with a LaTeX formula on their page."""
        return set(self.dictionary(FORMULAS, "FORMULAS"))

    @functools.cached_property
    def in_readme(self) -> set[str]:
        """The names in the README's section on ops."""
        section = self.tree.read("README.md").partition("\n## The ops\n")[2]
        return set(re.findall(r"`(\w+)`", section.partition("\n## ")[0]))

    @functools.cached_property
    def benchmarks(self) -> dict[str, str]:
        """The benchmark suites: their modules, and the text of each."""
        return {
            path.rsplit("/", 1)[1].removesuffix(".py"): text
            for path, text in self.sources("benchmarks", ".py")
            if re.search(r"^def run\(", text, re.M)
        }

    @functools.cached_property
    def suites(self) -> list[str]:
        """SUITES of benchmarks/run.py."""
        return self.names("benchmarks/run.py", "SUITES")

    # ----- Layers.

    @functools.cached_property
    def layers(self) -> dict[str, str]:
        """The layers registered with Keras, and their files."""
        decorator = "keras.saving.register_keras_serializable"
        return {
            node.name: path
            for path in self.tree.files(f"{PYTHON}/layers", ".py")
            for node in self.parse(path).body
            if isinstance(node, ast.ClassDef)
            and any(ast.unparse(d).startswith(decorator) for d in node.decorator_list)
        }

    @functools.cached_property
    def layer_classes(self) -> set[str]:
        """The layers among them, without schedules and the like."""
        return {
            name for name, path in self.layers.items() if not path.rsplit("/", 1)[1].startswith("_")
        }

    @functools.cached_property
    def exported_layers(self) -> set[str]:
        path = f"{PYTHON}/layers/__init__.py"
        imported = {
            alias.name
            for node in self.parse(path).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        return imported & set(self.names(path, "__all__"))

    def mentions(self, path: str, prefix: str) -> set[str]:
        """The names that follow a prefix such as `layers.` in a file."""
        text = self.tree.read(path)
        return set(re.findall(rf"\b{re.escape(prefix)}(\w+)", text))
