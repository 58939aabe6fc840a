# SPDX-License-Identifier: Apache-2.0
"""Facts about the ops from the C++ sources."""

import ast
import functools
import re

from completeness.reading import OP, Reading, calls

OPS = "tensorflow_ext/ops"
KERNELS_ALONE = "tests/gpu/kernels_alone"
POINTWISE_LAUNCHERS = f"{KERNELS_ALONE}/pointwise_launchers.cc"
BUDGETS = "tests/gpu/resource_usage_test.py"

_NAME = rf"Name\({OP}\)"
# A function at the margin: its name, and its body on one line or on its own lines.
_FUNCTION = r"^[\w:&<> ]+?(\w+)\([^;{]*?\)\s*\{(?:\n(.*?)^\}|([^\n]*)\}$)"


class CppFacts(Reading):
    """Facts from the C++ sources below a root, and from the checks of the GPU kernels."""

    # ----- C++.

    @functools.cached_property
    def folders(self) -> dict[str, list[str]]:
        """The files of each folder of ops."""
        found: dict[str, list[str]] = {}
        for path in self.tree.files(OPS, ""):
            if path.count("/") == 3:
                found.setdefault(path.split("/")[2], []).append(path)
        return found

    @functools.cached_property
    def _of_ops(self) -> dict[str, str]:
        return dict(self.sources(OPS, ".cc", ".h", ".cuh"))

    @functools.cached_property
    def registered(self) -> dict[str, str]:
        """Each op, without TfExt>, with its folder."""
        found = {}
        for path, text in self._of_ops.items():
            for op in re.findall(rf"REGISTER_OP\({OP}\)", text):
                found[op] = path.split("/")[2]
        return found

    @functools.cached_property
    def functor_lists(self) -> dict[str, dict[str, str]]:
        """The lists of elementwise functors: the functor of each op, by macro."""
        found = {}
        for text in self._of_ops.values():
            for name, body in re.findall(
                r"^#define (TENSORFLOW_EXT_\w+)\(OP\)((?:.*\\\n)+.*)", text, re.M
            ):
                rows = re.findall(rf"OP\({OP},[\s\\]*(\w+)\)", body)
                found[name] = dict(rows)
        return found

    def _listed(self, macro: str, text: str) -> dict[str, str]:
        """The functors, by op, in the lists that a text passes to a macro."""
        return {
            op: functor
            for name, rows in self.functor_lists.items()
            if f"{name}({macro})" in text
            for op, functor in rows.items()
        }

    @functools.cached_property
    def _elementwise_functors(self) -> set[str]:
        """The functors of all lists."""
        return {x for rows in self.functor_lists.values() for x in rows.values()}

    def kernels(self, device: str) -> set[str]:
        """The ops with a kernel for the CPU or GPU."""
        text = "\n".join(self._of_ops.values())
        builder = rf"Name\(\s*(?:{OP}|(\w+::k\w+))\)\s*\.Device\(DEVICE_{device}\)"
        found = {
            op or self._constants.get(constant, "") for op, constant in re.findall(builder, text)
        }
        identities = re.findall(rf"REGISTER_IDENTITY\({OP}", text)
        return found | set(identities) | self._elementwise

    @functools.cached_property
    def _constants(self) -> dict[str, str]:
        """The ops that constants of structures name, by Structure::kName."""
        return {
            f"{structure}::{name}": op
            for text in self._of_ops.values()
            for structure, body in re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.M | re.S)
            for name, op in re.findall(rf"(k\w+)(?:\[\])? = {OP}", body)
        }

    @functools.cached_property
    def _elementwise(self) -> set[str]:
        """The ops whose kernels and lowerings REGISTER_ELEMENTWISE makes."""
        text = "\n".join(self._of_ops.values())
        found = set(re.findall(rf"REGISTER_ELEMENTWISE\(\s*{OP}", text))
        return found | set(self._listed("REGISTER_ELEMENTWISE", text))

    @functools.cached_property
    def lowerings(self) -> set[str]:
        """The ops that XLA compiles."""
        text = "\n".join(self._of_ops.values())
        found = re.findall(rf"REGISTER_LOWERING\(\s*{_NAME}", text)
        return self._elementwise | set(found)

    @functools.cached_property
    def gradients(self) -> dict[str, set[str]]:
        """Each op with a gradient, and the ops that the gradient uses."""
        found = {}
        for path, text in self._of_ops.items():
            if not path.endswith("_grad.cc"):
                continue
            bodies = {
                name: long or short
                for name, long, short in re.findall(_FUNCTION, text, re.M | re.S)
            }
            registered = re.findall(rf"^[A-Z_]*GRADIENT\(\s*{OP},\s*(\w+)\);", text, re.M)
            for op, function in registered:
                found[op] = _ops_of(function, bodies, set())
        return found

    @functools.cached_property
    def undefined(self) -> list[tuple[str, str]]:
        """(header, function) for each function that is declared but not defined in its folder."""
        found = []
        function = r"^(?:void|int|int64_t|bool) (\w+)\("
        for path, text in self._of_ops.items():
            if not path.endswith(".h"):
                continue
            declared = re.findall(rf"{function}[^{{}};]*\);", text, re.M)
            folder = path.rsplit("/", 1)[0]
            texts = [t for p, t in self._of_ops.items() if p.startswith(f"{folder}/")]
            defined = {
                name for t in texts for name in re.findall(rf"{function}[^;{{}}]*\{{", t, re.M)
            }
            found += [(path, name) for name in declared if name not in defined]
        return found

    @functools.cached_property
    def cases(self) -> set[str]:
        """The ops with a test case that computes something."""
        found = set()
        for _, text in self.sources("tests/clients/cases", ".cases"):
            for block in re.split(r"^op ", text, flags=re.M)[1:]:
                cases = re.split(r"^case ", block, flags=re.M)[1:]
                if not all(re.search(r"(?:^ *|; *)error ", case, re.M) for case in cases):
                    found.add(re.split(r"[;\s]", block)[0].removeprefix("TfExt>"))
        return found

    @functools.cached_property
    def gradient_files(self) -> dict[str, str]:
        """The file that registers the gradient of each op."""
        return {
            op: path
            for path, text in self._of_ops.items()
            for op in re.findall(rf"^[A-Z_]*GRADIENT\(\s*{OP}", text, re.M)
        }

    @functools.cached_property
    def absent_headers(self) -> list[tuple[str, str]]:
        """(file, header) for each included header that does not exist."""
        return [
            (path, header)
            for path, text in self._of_ops.items()
            for header in re.findall(r'#include "(tensorflow_ext/ops/[^"]+)"', text)
            if not self.tree.exists(header)
        ]

    @functools.cached_property
    def unread_functors(self) -> list[tuple[str, str]]:
        """(header, functor) for each elementwise functor whose members nothing reads."""
        texts = "\n".join(self._of_ops.values())
        members = r"^struct (\w+) \{(?:(?!^\}).*\n)*?  (?:float|bool|int\w*) [\w, ]+;"
        return [
            (path, functor)
            for path, text in self._of_ops.items()
            for functor in re.findall(members, text, re.M)
            if functor in self._elementwise_functors
            and not re.search(rf"ReadAttributes\([^)]*\b{functor}\*", texts)
        ]

    # ----- GPU kernels.

    def functors(self, device: str) -> dict[str, str]:
        """The functors that the loops of the CPU or GPU are instantiated for, and where."""
        found = {}
        macro = f"INSTANTIATE_{device}_ELEMENTWISE"
        for path, text in self._of_ops.items():
            for functor in re.findall(
                rf"^template struct {device.capitalize()}\w+<(\w+)>;", text, re.M
            ):
                found[functor] = path
            found.update(dict.fromkeys(self._listed(macro, text).values(), path))
        return found

    @functools.cached_property
    def functors_of_three(self) -> dict[str, str]:
        """The elementwise functors with three arguments, and their headers."""
        arity = r"^struct (\w+) \{\n  static constexpr int kArity = 3;"
        return {
            functor: path
            for path, text in self._of_ops.items()
            for functor in re.findall(arity, text, re.M)
            if functor in self._elementwise_functors
        }

    @functools.cached_property
    def functor_budgets(self) -> set[str]:
        """The functors with their own register budget."""
        return set(self.dictionary(BUDGETS, "_FUNCTOR_REGISTERS"))

    @functools.cached_property
    def gpu_launchers(self) -> dict[str, str]:
        """The launchers of hand-written kernels, and the headers that declare them."""
        return {
            name: path
            for path, text in self._of_ops.items()
            for name in re.findall(r"^int (Launch\w+)\(", text, re.M)
            if path.endswith(".h")
        }

    @functools.cached_property
    def launched_alone(self) -> set[str]:
        """The functors and launchers that the kernels' standalone checks can call."""
        texts = [text for _, text in self.sources(KERNELS_ALONE, "_launchers.cc")]
        text = "\n".join(texts)
        found = set(re.findall(r"\b\w+\b", text))
        return found | set(self._listed("LAUNCHER", text).values())

    @functools.cached_property
    def pointwise(self) -> set[str]:
        """The functors that pointwise_launchers.cc launches."""
        text = self.tree.read(POINTWISE_LAUNCHERS)
        found = set(re.findall(r"Launch(?:Broadcast|Elementwise)<(\w+)>", text)) - {"Functor"}
        return found | set(self._listed("LAUNCHER", text).values())

    @functools.cached_property
    def checked_alone(self) -> set[str]:
        """The functors with a reference in NumPy."""
        module = self.parse(f"{KERNELS_ALONE}/pointwise_kernels.py")
        found = {
            str(node.args[0].value)
            for node in calls(module, "PointwiseKernel")
            if isinstance(node.args[0], ast.Constant)
        }
        functions = self.dictionary(f"{KERNELS_ALONE}/activations.py", "FUNCTIONS")
        choices = self.dictionary(f"{KERNELS_ALONE}/pointwise_kernels.py", "_CHOICES")
        for name in functions:
            of = choices.get(name)
            functor = str(ast.literal_eval(of)[0]) if of is not None else name
            found |= {functor, f"{functor}Grad"}
        return found

    @functools.cached_property
    def checks_alone(self) -> set[str]:
        """The families with *_launchers.cc, and those with *_checks.py."""
        return {
            path.rsplit("/", 1)[1]
            for path in self.tree.files(KERNELS_ALONE, "_launchers.cc", "_checks.py")
        }

    @functools.cached_property
    def gpu_kernels(self) -> dict[str, str]:
        """The kernels, and their files."""
        return {
            name: path
            for path, text in self.sources("tensorflow_ext", ".cu.cc", ".cuh")
            for name in re.findall(
                r"^__global__ void[^(]*(?:\([^)]*\)\s*(?://.*\n)?)??\s+(\w+Kernel)\(", text, re.M
            )
        }

    @functools.cached_property
    def budgets(self) -> set[str]:
        """The kernels with a register budget."""
        rows = self.dictionary(BUDGETS, "_REGISTERS")
        return {name.partition("<")[0] for name in rows}


def _ops_of(function: str, bodies: dict[str, str], seen: set[str]) -> set[str]:
    """The ops that a function of a file names, directly or in functions that it calls."""
    seen.add(function)
    body = bodies.get(function, "")
    found = set(re.findall(OP, body))
    for name in set(re.findall(r"\b\w+\b", body)) & set(bodies) - seen:
        found |= _ops_of(name, bodies, seen)
    return found
