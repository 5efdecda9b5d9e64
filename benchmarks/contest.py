"""The words of the benchmarks: a work, its candidates, and what one candidate delivered.

House rules. A work says what has to be done; a candidate is one library doing it, at its best. Every candidate of a
work gets the same data and owes the same result, which `Work.verify` checks. Nothing here measures or prints.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

DataT = TypeVar("DataT")
Batch: TypeAlias = Any  # a NumPy array, a torch tensor, a tuple of them: each library has its own
Epoch: TypeAlias = Callable[[], Iterable[Batch]]  # starts a new pass over the data


class Program(StrEnum):
    """How a candidate is written."""

    LIMIT = "limit"  # the bare kernel without any pipeline: what the machine could do
    ELEMENTS = "elements"  # one element after another, batched by the library: the program that people write
    BATCHES = "batches"  # batched by hand first, so that the library only ever moves whole batches


class WrongResultError(Exception):
    """A candidate delivered something else than the work asks for, so that its speed means nothing."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one epoch delivered, batch by batch."""

    sizes: list[int] = field(default_factory=list)  # examples
    firsts: list[float] = field(default_factory=list)  # the first value of each batch
    total: float = 0.0  # the sum of all values

    @property
    def examples(self) -> int:
        """Examples in all batches."""
        return sum(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Generic[DataT]):
    """One library doing one work.

    `prepare` imports the library and builds its pipeline, untimed; calling what it returns starts an epoch.
    """

    prepare: Callable[[DataT], Epoch]
    library: str  # as `pip install` knows it
    module: str  # as `import` knows it
    program: Program = Program.ELEMENTS

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.prepare.__name__

    @property
    def how(self) -> str:
        """What is particular about it: the first line of its function's docstring."""
        return (self.prepare.__doc__ or "").strip().partition("\n")[0]

    @property
    def is_installed(self) -> bool:
        """Whether its library can be imported here."""
        return importlib.util.find_spec(self.module) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Generic[DataT]):
    """Something that every library can do, and how to tell that it was done."""

    name: str
    title: str  # one line for people
    full: int  # examples in an epoch
    probe: int  # examples in the short epoch that finds out how long a full one would take
    batch_size: int
    make: Callable[[Path], None]  # writes the files it needs into a folder, unless they are there
    load: Callable[[Path, int], DataT]  # the folder, and how many examples an epoch has
    size: Callable[[Batch], int]  # examples in a batch
    first: Callable[[Batch], float]  # a batch's first value
    total: Callable[[Batch], float]  # the sum of a batch's values
    expected_total: Callable[[DataT], float]
    verify_order: Callable[[DataT, list[float]], None]  # by the batches' first values
    candidates: tuple[Candidate[DataT], ...]
    step: Callable[[Batch], None] | None = None  # what the training does with a batch before it asks for the next
    filling: int = 0  # batches of each epoch before the clock starts: those in which a pipeline fills

    def verify(self, data: DataT, examples: int, receipt: Receipt, program: Program) -> None:
        """Raise WrongResultError unless the receipt is that of a whole, correct epoch."""
        if receipt.examples != examples:
            raise WrongResultError(f"{receipt.examples} examples instead of {examples}")
        expected = self.expected_total(data)
        # Sums of float32 taken in another order differ in the last digits; a lost row shows in the second.
        if abs(receipt.total - expected) > 1e-9 * abs(expected) + 1e-3:
            raise WrongResultError(f"the values add up to {receipt.total!r} instead of {expected!r}")
        if program is not Program.LIMIT:
            self._verify_batches(examples, receipt)
            self.verify_order(data, receipt.firsts)

    def _verify_batches(self, examples: int, receipt: Receipt) -> None:
        full, rest = divmod(examples, self.batch_size)
        # Where the order is random, a library may deliver the batches as they are ready, the smaller one before others.
        if sorted(receipt.sizes, reverse=True) != [self.batch_size] * full + [rest] * (rest > 0):
            raise WrongResultError(f"the batches are not {self.batch_size} each and the rest in one")
