# SPDX-License-Identifier: Apache-2.0
"""Reads kernels in the machine code of sm_90, as `cuobjdump -sass` prints it."""

import collections
import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator

_FUNCTION = re.compile(r"^\s*Function : (\S+)$")
_INSTRUCTION = re.compile(
    r"^\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<guard>@!?U?P\w+ )?\s*"
    r"(?P<operator>[A-Z][\w.]*)(?P<operands>[^;]*);"
)
_GLOBAL = ("LDG", "STG", "REDG", "ATOMG", "ATOM", "RED")
# By the first part of the operator, the classes that share a pipe; pipes.py says what
# each can do. The rest is integers, comparisons and selections.
_CLASSES = {
    "memory": (*_GLOBAL, "LDS", "STS", "ATOMS", "LDC", "LDL", "STL"),
    "float": ("FADD", "FMUL", "FFMA", "HADD2", "HMUL2", "HFMA2"),
    "double": ("DADD", "DMUL", "DFMA", "DSETP"),
    "multiply": ("IMAD",),
    "special": ("MUFU", "F2F", "F2I", "I2F", "FRND", "FLO", "BREV", "POPC"),
    "exchange": ("SHFL", "VOTE", "R2UR", "S2UR"),
    "control": (
        *("BRA", "BRX", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BAR", "NOP"),
        *("WARPSYNC", "ENDCOLLECTIVE", "YIELD", "BREAK", "BMOV"),
    ),
    "uniform": (
        *("ULDC", "UMOV", "UIADD3", "UIMAD", "USHF", "ULEA", "UISETP", "USEL"),
        *("ULOP3", "UBREV", "UFLO", "UPLOP3", "CS2R", "S2R"),
    ),
}
CLASS_NAMES = (*_CLASSES, "integer")
_CLASS_OF = {name: kind for kind, names in _CLASSES.items() for name in names}


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One instruction."""

    address: int
    guard: str  # empty: it always takes place
    operator: str
    operands: str

    @property
    def name(self) -> str:
        """The operator without what modifies it."""
        return self.operator.split(".")[0]

    @property
    def kind(self) -> str:
        """Its class, of CLASS_NAMES."""
        return _CLASS_OF.get(self.name, "integer")

    @property
    def accesses(self) -> bool:
        """Whether it asks global memory for something that an argument points to."""
        # What is in the program itself, a table of a formula, is read as constant.
        return self.name in _GLOBAL and ".CONSTANT" not in self.operator

    @property
    def bytes(self) -> int:
        """How many bytes of a thread it moves from or to global memory."""
        if not self.accesses:
            return 0
        size = re.search(r"\.[USF]?(8|16|32|64|128)(?:x(\d))?\b", self.operator)
        return int(size[1]) // 8 * int(size[2] or 1) if size else 4

    @property
    def target(self) -> int | None:
        """Where a branch goes to that a warp takes together."""
        # BRA.DIV goes to what a warp does whose threads are apart.
        if self.name != "BRA" or ".DIV" in self.operator:
            return None
        return int(self.operands.split()[-1], 16)

    @property
    def ends(self) -> bool:
        """Whether what stands behind it does not follow it."""
        always = not self.guard and not re.match(r"\s*!?U?P\d", self.operands)
        return always and (self.name in ("EXIT", "RET") or self.target is not None)


@dataclasses.dataclass
class Way:
    """What a warp issues on one way through code: how often of each class."""

    kinds: collections.Counter[str]
    accesses: int
    bytes: int

    @property
    def instructions(self) -> int:
        return self.kinds.total()


class Kernel:
    """The machine code of a kernel: blocks of instructions and the ways among them."""

    def __init__(self, name: str, code: list[Instruction]) -> None:
        """Divides the code into blocks, each by its first address."""
        self.name = name
        starts = {code[0].address} | {i.target for i in code if i.target is not None}
        for one, behind in itertools.pairwise(code):
            if one.name in ("BRA", "EXIT", "RET"):
                starts.add(behind.address)
        self.blocks: dict[int, list[Instruction]] = {}
        for instruction in code:
            if instruction.address in starts:
                self.blocks[instruction.address] = []
                block = self.blocks[instruction.address]
            block.append(instruction)
        addresses = list(self.blocks)
        self.next: dict[int, list[int]] = {}
        for block_start, following in zip(addresses, [*addresses[1:], None], strict=True):
            last = self.blocks[block_start][-1]
            onward = [] if last.target is None else [last.target]
            if not last.ends and following is not None:
                onward.append(following)
            self.next[block_start] = onward
        self._order = self._reverse_postorder()

    def _reverse_postorder(self) -> list[int]:
        """The blocks that are reached, each before what only follows it."""
        first = next(iter(self.blocks))
        order: list[int] = []
        seen = {first}
        stack = [(first, iter(self.next[first]))]
        while stack:
            block, onward = stack[-1]
            for other in onward:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(self.next[other])))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]

    @functools.cached_property
    def _dominators(self) -> dict[int, set[int]]:
        """The blocks that every way to a block leads through."""
        before = collections.defaultdict(list)
        for block in self._order:
            for other in self.next[block]:
                before[other].append(block)
        first, *others = self._order
        found = {first: {first}} | {block: set(self._order) for block in others}
        changed = True
        while changed:
            changed = False
            for block in others:
                common = set.intersection(*(found[b] for b in before[block]))
                if common | {block} != found[block]:
                    found[block] = common | {block}
                    changed = True
        return found

    @functools.cached_property
    def _back(self) -> set[tuple[int, int]]:
        """The branches that close a loop."""
        return {
            (block, other)
            for block in self._order
            for other in self.next[block]
            if other in self._dominators[block]
        }

    @functools.cached_property
    def loops(self) -> dict[int, set[int]]:
        """The blocks of each loop, by the one that it begins with."""
        before = collections.defaultdict(list)
        for block in self._order:
            for other in self.next[block]:
                before[other].append(block)
        found: dict[int, set[int]] = {}
        for last, head in self._back:
            body = found.setdefault(head, {head})
            waiting = [last]
            while waiting:
                block = waiting.pop()
                if block not in body:
                    body.add(block)
                    waiting += before[block]
        return found

    @functools.cached_property
    def hot_loop(self) -> int | None:
        """Where the loop begins that moves the most bytes each time, of the innermost
        that access global memory; None: there is no loop that does."""

        def moved(blocks: Collection[int]) -> int:
            return sum(i.bytes for b in blocks for i in self.blocks[b])

        accessing = {h: b for h, b in self.loops.items() if moved(b)}
        innermost = {
            head: body
            for head, body in accessing.items()
            if not any(other < body for other in accessing.values())
        }
        return max(innermost, key=lambda h: moved(innermost[h]), default=None)

    def once(self, *, longest: bool = False) -> Way:
        """One time through the hot loop: the way that accesses memory most often and,
        of these, the one of the fewest instructions, or of the most."""
        assert self.hot_loop is not None
        body = self.loops[self.hot_loop]
        ends = {last for last, head in self._back if head == self.hot_loop}
        sign = 1 if longest else -1
        found = self._best(self.hot_loop, ends, body, lambda b: self._worth(b, sign))
        return self._way(found)

    def around(self) -> Way:
        """The shortest way through the kernel that leads through the hot loop, less
        that loop."""
        exits = {b for b in self._order if any(i.name == "EXIT" for i in self.blocks[b])}
        everything = set(self._order)
        inside = set() if self.hot_loop is None else self.loops[self.hot_loop]

        def worth(block: int) -> tuple[int, int]:
            hot = block == self.hot_loop
            return int(hot), 0 if block in inside else -len(self.blocks[block])

        # A guarded EXIT before the hot loop is for threads without work.
        first = self._order[0]
        path = self._best(first, exits, everything, worth)
        return self._way([b for b in path if b not in inside])

    def _worth(self, block: int, sign: int) -> tuple[int, int]:
        accesses = sum(i.accesses for i in self.blocks[block])
        return accesses, sign * len(self.blocks[block])

    def _best(
        self, first: int, ends: set[int], within: set[int], worth: Callable[[int], tuple[int, int]]
    ) -> list[int]:
        """The way from `first` to one of `ends` of the largest worth, no loop twice."""
        best: dict[int, tuple[tuple[float, float], list[int]]] = {first: (worth(first), [first])}
        for block in self._order:
            if block not in best:
                continue
            so_far, path = best[block]
            for other in self.next[block]:
                if other not in within or (block, other) in self._back:
                    continue
                added = worth(other)
                total = so_far[0] + added[0], so_far[1] + added[1]
                if other not in best or total > best[other][0]:
                    best[other] = total, [*path, other]
        reached = [best[end] for end in ends if end in best]
        none: tuple[tuple[float, float], list[int]] = ((-math.inf, 0), [])
        return max(reached, default=none)[1]

    def _way(self, path: list[int]) -> Way:
        code = [i for block in path for i in self.blocks[block]]
        return Way(
            collections.Counter(i.kind for i in code),
            sum(i.accesses for i in code),
            sum(i.bytes for i in code),
        )


def kernels(text: str) -> Iterator[Kernel]:
    """The kernels in what cuobjdump printed."""
    name, code = "", list[Instruction]()
    for line in [*text.splitlines(), "Function : behind_the_last"]:
        if match := _FUNCTION.match(line):
            if code:
                yield Kernel(name, code)
            name, code = match[1], []
        elif match := _INSTRUCTION.match(line):
            address, guard, operator, operands = match.groups()
            code.append(Instruction(int(address, 16), guard or "", operator, operands.strip()))


def resources(text: str) -> dict[str, dict[str, int]]:
    """Registers of a thread and bytes of shared memory of a block, by kernel, in what
    `cuobjdump -res-usage` printed."""
    found = {}
    for name, registers, shared in re.findall(r"Function (\S+):\s+REG:(\d+) .*?SHARED:(\d+)", text):
        found[name] = {"registers": int(registers), "shared": int(shared)}
    return found
