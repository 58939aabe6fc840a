"""Reads loops and calls in the machine code of x86-64, as objdump prints it."""

import dataclasses
import functools
import re
import subprocess

_SYMBOL = re.compile(r"^[0-9a-f]+ <(?P<name>.+)>:$")
_INSTRUCTION = re.compile(r"^ +(?P<address>[0-9a-f]+):\t(?P<text>[^\t]+)$")
_RELOCATION = re.compile(r"^\t+[0-9a-f]+: R_X86_64_\w+\t(?P<name>[^+-]+)")
# Arithmetic on one float or double, without moves and conversions.
_SCALAR = re.compile(r"v?(add|sub|mul|div|sqrt|min|max|rndscale|round|fn?m\w+)s[sd]\b")
_REGISTERS = {"baseline": "xmm", "avx2": "ymm", "avx512": "zmm"}


@dataclasses.dataclass
class _Instruction:
    address: int
    text: str  # operator and operands
    relocation: str = ""  # the symbol that the linker puts in

    @property
    def operator(self) -> str:
        return self.text.split()[0]

    @property
    def jump(self) -> int | None:
        """The address that a jump goes to."""
        match = re.match(r"j\w+ +([0-9a-f]+) <", self.text)
        return int(match[1], 16) if match and not self.relocation else None


@dataclasses.dataclass
class Function:
    """The machine code of a function."""

    name: str
    instructions: list[_Instruction]

    @property
    def calls(self) -> set[str]:
        """The names of the functions that it calls: the linker's symbols."""
        return {
            i.relocation
            for i in self.instructions
            if i.relocation and (i.operator == "call" or i.operator.startswith("j"))
        }

    @functools.cached_property
    def loops(self) -> list[list[_Instruction]]:
        """The innermost loops: each from the target of a backward jump to the jump."""
        index = {i.address: k for k, i in enumerate(self.instructions)}
        spans = {
            (index[i.jump], k)
            for k, i in enumerate(self.instructions)
            if i.jump in index and index[i.jump] <= k
        }
        return [
            self.instructions[begin : end + 1]
            for begin, end in sorted(spans)
            if not any((b, e) != (begin, end) and begin <= b and e <= end for b, e in spans)
        ]

    def vector_loops(self, isa: str) -> int:
        """The number of loops that compute only in full vectors of the instruction set.

        Such a loop has an instruction on the widest registers, no arithmetic on a single number,
        and no calls.
        """
        register = "%" + _REGISTERS[isa]
        packed = re.compile(r"v?(\w+p[sd]|p\w+|movdq\w+)\b.*" + register)
        return sum(
            any(packed.match(i.text) for i in loop)
            and not any(_SCALAR.match(i.text) or i.operator == "call" for i in loop)
            for loop in self.loops
        )

    def has_vector_arithmetic(self, isa: str) -> bool:
        """True if full vectors compute anything, or a loop copies memory with them."""
        register = "%" + _REGISTERS[isa]
        packed = re.compile(
            r"v(add|sub|mul|div|sqrt|min|max|cmp|and|andn|or|blendv?)p[sd]\b.*" + register
        )
        return any(packed.match(i.text) for i in self.instructions) or self.vector_loops(isa) > 0


def functions(path: str, *, demangle: bool = False) -> dict[str, Function]:
    """The functions in an object file or an archive of them, by name."""
    command = ["objdump", "-dr", "--no-show-raw-insn"] + ["-C"] * demangle
    text = subprocess.run([*command, path], stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, Function] = {}
    instructions: list[_Instruction] = []
    for line in text.splitlines():
        if match := _SYMBOL.match(line):
            instructions = []
            found[match["name"]] = Function(match["name"], instructions)
        elif match := _INSTRUCTION.match(line):
            text_of = match["text"].strip()
            instructions.append(_Instruction(int(match["address"], 16), text_of))
        elif match := _RELOCATION.match(line):
            instructions[-1].relocation = match["name"].strip()
    return found
