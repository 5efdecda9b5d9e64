"""The bytes that one run may hold, and who holds them: one account, to which every holder reports, a block at a time.

Two kinds of stages hold elements. A shuffle's buffer, an open group, a cache in memory, a batch that is gathered must hold what
they hold: they have a ``Holding``. What reads ahead (prefetch, the windows of parallel maps, a feed) can do with less: it has an
``Ahead`` (``physical.budget``), an equal part of what the others leave, and asks again for each block. Nobody waits for bytes that
another holds: who has no room waits for its own reader, and one element always passes, so two holders never wait for each other.

What counts. An element weighs what its leaves hold, taken from three elements of each block, as to look at all of them would
cost more than a cheap pipeline does. Only where that says too much is each element looked at, and memory that several share
counts once: arrays that are the same, and views, together at most what they are views of. Nothing counts for memory that is
there anyway: the arrays of ``from_tensor_slices``, and files that are mapped into memory. In index space an index has 8 bytes.
What is in the hands of stages, a block each, is beside the budget, and a single element always passes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import numpy as np

from headrace.elements.structure import Element, flatten
from headrace.errors import ResourceExhaustedError
from headrace.log import warn_once
from headrace.observe.meter import Gauge, Meter
from headrace.observe.tables import data_size

__all__ = ["HeldBytes", "Holder", "Holding", "owner_of"]


# Elements are looked at again when there are this many more bytes than the last time.
_AGAIN_AT: Final = 1.05


class HeldBytes:
    """How much one run holds that cannot be less, and how much it may.

    Args:
        total_bytes: the budget.
        most_bytes: how much must be held before that is an error: the budget itself where it was stated, else all that the
            process may take.
        whole_bytes: how much the process may take, which not even a single element may exceed; by default as ``most_bytes``.
        present: the ids of the arrays that are there anyway.

    Attributes:
        held_bytes: how much is held that cannot be less.
        ahead_bytes: how much is held that was read ahead.
        highest_bytes: the most that was held of both together.
    """

    def __init__(
        self,
        total_bytes: int,
        *,
        most_bytes: int | None = None,
        whole_bytes: int | None = None,
        present: frozenset[int] = frozenset(),
    ) -> None:
        self.total_bytes: Final = total_bytes
        self.most_bytes: Final = total_bytes if most_bytes is None else most_bytes
        self.whole_bytes: Final = self.most_bytes if whole_bytes is None else whole_bytes
        self._present = present
        self._holdings: dict[int, Holding] = {}  # by their ids: what a function makes is opened in many threads
        # Kept, and not summed when somebody asks: a dealt plan has a holding for each stream, and each asks for every block.
        self.held_bytes = self.ahead_bytes = self.highest_bytes = 0
        self._lock = threading.Lock()

    def holding(self, stage: str, remedy: str, meter: Meter | None = None) -> Holding:
        """Makes a holding for a stage that must hold elements.

        Args:
            stage: how messages call it.
            remedy: what makes it hold less, in words.
            meter: of the operation that holds them.
        """
        holding = Holding(self, stage, remedy, meter)
        self._holdings[id(holding)] = holding
        return holding

    def gathering(self, stage: str, remedy: str, meter: Meter | None = None) -> Holding:
        """Makes a holding for a stage that gathers one element of many, which passes unless the process may not take so much.

        Args:
            stage: how messages call it.
            remedy: what makes it hold less, in words.
            meter: of the operation that holds them.
        """
        holding = Holding(self, stage, remedy, meter, gathers=True)
        self._holdings[id(holding)] = holding
        return holding

    def count(self, holding: Holding, nbytes: int) -> None:
        """Takes in how much a stage holds now; one thread at a time for each."""
        self.change(holding, nbytes - holding.nbytes)

    def change(self, holding: Holding, nbytes: int) -> None:
        """Takes in how many bytes more, or with a negative number less, a stage holds; from any thread."""
        with self._lock:  # in which nothing is called: a garbage collection may close the run in any call
            self.held_bytes += nbytes
            holding.nbytes += nbytes
            if self.held_bytes + self.ahead_bytes > self.highest_bytes:  # noqa: PLR1730 - max is a call
                self.highest_bytes = self.held_bytes + self.ahead_bytes

    @property
    def all_bytes(self) -> int:
        """How much is held now, by all."""
        return self.held_bytes + self.ahead_bytes

    def held_for(self) -> dict[int, int]:
        """Returns how many bytes are held for each operation, by the id of its meter."""
        found: dict[int, int] = {}
        for holder in self._holders():
            found[holder.meter_id] = found.get(holder.meter_id, 0) + holder.nbytes
        return found

    def _holders(self) -> Iterable[Holder]:
        return list(self._holdings.values())

    def let_go(self, holding: Holding) -> None:
        """Forgets a stage that is no more."""
        self._holdings.pop(id(holding), None)

    def exact_bytes(self, elements: Iterable[Element]) -> int:
        """Counts the bytes that these elements hold, each looked at."""
        found: dict[object, int] = {}
        parts: set[tuple[int, int]] = set()  # of arrays that were counted: where they begin, and how long they are
        for element in elements:
            for leaf in flatten(element)[0]:
                if not isinstance(leaf, np.ndarray):
                    found[id(leaf)] = len(leaf) if isinstance(leaf, (str, bytes)) else int(getattr(leaf, "nbytes", 8))
                elif (part := (leaf.__array_interface__["data"][0], leaf.nbytes)) not in parts:
                    parts.add(part)
                    self._count(leaf, found)
        return sum(found.values())

    def _count(self, array: np.ndarray, found: dict[object, int]) -> None:
        owner = owner_of(array)
        if id(owner) not in self._present and not _is_mapped_file(owner):
            most = owner.nbytes if isinstance(owner, np.ndarray) else sys.maxsize
            found[id(owner)] = min(found.get(id(owner), 0) + array.nbytes, most)

    def _others(self, holding: Holding) -> str:
        """Says what all others hold; together those of one operation, of which each stream of a dealt plan has its own."""
        held: dict[str, list[int]] = {}
        for other in list(self._holdings.values()):
            if other is not holding and other.nbytes:
                held.setdefault(other.stage, []).append(other.nbytes)
        return "".join(
            f", {stage if len(nbytes) == 1 else f'{len(nbytes)} more of {stage}'} {data_size(sum(nbytes))}"
            for stage, nbytes in held.items()
        )

    def refuse(self, holding: Holding, needs: str) -> None:
        """Says that too much is held.

        Raises:
            ResourceExhaustedError: it is more than there may ever be.
        """
        held = self.held_bytes
        others = self._others(holding)
        most = holding.most_bytes
        if held > most:
            is_stated = most == self.total_bytes
            of = "the ram_budget of" if is_stated else "what the process may take,"
            larger = ", or a larger Options(ram_budget=)" if is_stated else ""
            message = (
                f"{needs}{others}: {data_size(held - most)} more than {of} {data_size(most)}. {holding.remedy}{larger}"
            )
            raise ResourceExhaustedError(message, stage=holding.stage)
        warn_once(
            f"{holding.stage}: {needs}{others}: {data_size(held - self.total_bytes)} more than the ram_budget of "
            f"{data_size(self.total_bytes)}, a quarter of what the process may take. {holding.remedy}, or state an "
            "Options(ram_budget=) that allows for it",
            about=f"what is held by {holding.stage}",  # an epoch is a run, and tells nothing new
        )


class Holder(Protocol):
    """Somebody who holds elements."""

    nbytes: int
    meter_id: int


class Holding:
    """What one stage holds, and cannot hold less of."""

    __slots__ = (
        "_allowed",
        "_budget",
        "_count",
        "_gauge",
        "_looked_at",
        "_scale",
        "meter_id",
        "most_bytes",
        "nbytes",
        "remedy",
        "stage",
    )

    def __init__(
        self, budget: HeldBytes, stage: str, remedy: str, meter: Meter | None = None, *, gathers: bool = False
    ) -> None:
        self._budget = budget
        self._allowed = budget.whole_bytes if gathers else budget.total_bytes
        self.most_bytes = budget.whole_bytes if gathers else budget.most_bytes
        self._gauge = None if meter is None or gathers else Gauge(meter)  # what is gathered is not ready
        self.meter_id = id(meter)
        self.stage = stage
        self.remedy = remedy
        self.nbytes = 0
        self._count = 0  # of elements that have so many bytes
        self._scale = 1.0  # of what was found when each element was looked at to what was thought
        self._looked_at = 0.0  # how much it was thought to be then

    @property
    def budget_bytes(self) -> int:
        """How much all may hold together."""
        return self._budget.total_bytes

    def hold(
        self,
        nbytes: int,
        elements: Callable[[], Iterable[Element]],
        *,
        count: int,
        needs: Callable[[int], str] | None = None,
    ) -> None:
        """Says how much is held now.

        Args:
            nbytes: about how much.
            elements: gives the elements, to be looked at where that is too much.
            count: how many they are; one is always allowed.
            needs: says what a number of bytes are, for the error.

        Raises:
            ResourceExhaustedError: it is more than there may ever be.
        """
        budget = self._budget
        self._count = count
        budget.count(self, int(nbytes * self._scale))
        if self._gauge is not None:
            self._gauge.set(count, self.nbytes)
        if count <= 1 or budget.held_bytes <= self._allowed or nbytes < self._looked_at * _AGAIN_AT:
            return
        self._looked_at = nbytes
        budget.count(self, budget.exact_bytes(elements()))
        self._scale = self.nbytes / max(1, nbytes)
        if budget.held_bytes > self._allowed:
            says = needs or (lambda held: f"the {count:,} elements that it holds so far have {data_size(held)}")
            budget.refuse(self, says(self.nbytes))

    def add(self, nbytes: int) -> None:
        """Says that so many bytes came, or with a negative number went; from any thread."""
        self._budget.change(self, nbytes)

    def room(self, count: int) -> int:
        """Returns how many more elements can come before that is too much, or a quarter as many again; at least one.

        Args:
            count: how many are held now, which are as heavy as those that were told of last.
        """
        if not (self.nbytes and self._count):
            return sys.maxsize
        each = self.nbytes / self._count
        left = self._budget.total_bytes - self._budget.held_bytes + self.nbytes - each * count
        return max(1, count // 4, int(left / each))

    def release(self) -> None:
        """Holds nothing any more."""
        self._budget.count(self, 0)
        self._budget.let_go(self)
        if self._gauge is not None:
            self._gauge.set(0, 0)


def _is_mapped_file(owner: object) -> bool:
    module = sys.modules.get("mmap")  # who maps a file has imported it
    return module is not None and isinstance(owner, module.mmap)


def owner_of(array: np.ndarray) -> Any:
    """Returns the object that holds the memory of an array."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return owner.obj if isinstance(owner, memoryview) else owner
