"""A case: one program as people write it, and the same for each side that can do it.

House rules. A case says what it does and how each side writes it, and measures nothing. A side's program is built once for
its data, untimed, and gives an epoch each time it is iterated; one that is a function is called for each epoch. The plain
loop is what somebody would write who has Python and NumPy alone, and its elements are the right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

from idioms.sameness import Sameness, in_order


class Unit(StrEnum):
    """What a figure is for, and so which cost of the engine's own is allowed."""

    ELEMENT = "element"
    BATCH = "batch"  # where a batch is what the operations are given
    INNER = "inner dataset"
    WINDOW = "window"
    TOKEN = "token"


class _Same:
    """tf.data's program is headrace's, word for word."""


SAME: Final = _Same()

# What a program iterates over: how many units, and a folder of its own for its files.
Data: TypeAlias = Any
MakeData: TypeAlias = Callable[[int, Path], Data]
Program: TypeAlias = Callable[[Any, Data], Any]  # of a library's words and the data: a dataset, or what gives an epoch


def only_the_size(units: int, folder: Path) -> int:
    """The data of a case that counts."""
    del folder
    return units


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One program.

    Attributes:
        name: by which it is chosen; begins with the operation.
        written: the program for people, as short as it can be read.
        ours: headrace's; given the names of the package, and the data.
        plain: the loop; given the data, it returns the elements of an epoch.
        tfdata: tf.data's, given TensorFlow and the data; SAME where it is headrace's; None where it has no such thing.
        torch: DataLoader's, given `torch` and the data; None where it has no such thing.
        data: makes the data for a number of units.
        unit: what a figure is for.
        small: how many units the check and the first look have.
        full: how many units an epoch has where they fit the time.
        same: how elements are compared with the plain loop's.
        note: what a reader must know of a side's program.
        needs: the package that its elements are of, if they are of one.
    """

    name: str
    written: str
    ours: Program
    plain: Callable[[Data], Iterable[Any]]
    tfdata: Program | _Same | None = None
    torch: Program | None = None
    data: MakeData = only_the_size
    unit: Unit = Unit.ELEMENT
    small: int = 1_000
    full: int = 500_000
    same: Sameness = in_order
    note: str = ""
    needs: str | None = None
