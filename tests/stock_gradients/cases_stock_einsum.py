# SPDX-License-Identifier: Apache-2.0
"""Equations of Einsum that TensorFlow's kernel admits; see cases_stock.py."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from cases_stock import listed
from parity import Case
from random_values import complex_normal, normal

# An equation and the shapes of its operands.
_EQUATIONS: Sequence[tuple[str, Sequence[tuple[int, ...]]]] = (
    ("ij->ji", [(2, 3)]),
    ("ij->i", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii->", [(3, 3)]),
    ("i->ii", [(3,)]),
    ("iji->j", [(2, 3, 2)]),
    ("...ii->...i", [(2, 3, 3)]),
    ("i...j->...", [(2, 4, 3)]),
    ("a...b->b...a", [(2, 3, 4, 2)]),
    ("i,j->ij", [(2,), (3,)]),
    ("ij,jk->k", [(2, 3), (3, 4)]),
    ("iij,kj->ik", [(2, 2, 3), (4, 3)]),
    ("ijl,jkl->kk", [(2, 3, 2), (3, 4, 2)]),
    ("Bb,b->B", [(2, 3), (3,)]),
    ("...,...->...", [(2, 1, 3), (4, 3)]),
    ("i...,...->i...", [(2, 3), (4, 3)]),
    ("...i,i...j->j...", [(4, 1, 2), (2, 3, 3)]),
    ("i...j,k->...k", [(2, 3, 2), (2,)]),
    ("...ij,jk->ik", [(2, 3), (3, 2)]),
)


def einsum(equation: str, shapes: Sequence[tuple[int, ...]]) -> list[Case]:
    name = equation.replace("->", "_to_").replace(",", "_").replace("...", "n")
    double = listed(
        "Einsum", f"of_{name}", *(normal(*shape) for shape in shapes), equation=equation
    )
    return [
        double,
        dataclasses.replace(double, name=f"{double.name}_static", known_shapes=True),
        dataclasses.replace(double, name=f"{double.name}_rank", known_shapes="rank"),
        listed(
            "Einsum",
            f"of_{name}_complex",
            *(complex_normal(*shape) for shape in shapes),
            equation=equation,
        ),
    ]


def of_type(kind: type) -> Case:
    operands = normal(2, 3, dtype=kind), normal(3, 2, dtype=kind)
    return listed("Einsum", np.dtype(kind).name, *operands, equation="ij,jk->ki")


CASES = [
    *(case for row in _EQUATIONS for case in einsum(*row)),
    of_type(np.float32),
    of_type(np.float16),
    listed("Einsum", "empty", normal(0, 3), normal(3, 2), equation="ij,jk->ik"),
    listed("Einsum", "empty_sum", normal(2, 0), equation="ij->i"),
]
