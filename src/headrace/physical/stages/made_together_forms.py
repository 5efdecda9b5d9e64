"""What plans have in common that are made together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headrace.blocks.cursor import Cursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload
from headrace.physical.at_once import SmallPlans
from headrace.physical.made import MOST_BYTES
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.physical.stages.made_together_calls import CalledForm

__all__ = ["Done", "Form", "picked_runs"]

# What an operation did: its elements, its seconds, and those of its inputs.
Done = tuple[Node, int, float, float]

# Of all plans together: a block of elements, which is copied in about the time that it stands for.
_MOST_BYTES_TOGETHER: Final = 16 * MOST_BYTES


class Form:
    """What plans have in common that are made together, and those that were taken so far.

    Attributes:
        node: of the plan that was taken first.
        inputs: the forms of what it reads.
        lengths: how many elements each plan gives; before functions were called that may leave some out, how many at most.
        varies: whether plans are taken that give another number of elements than the first one.
        is_held: whether its elements are those of the windows, which others see as well.
    """

    is_held = False
    varies = False

    def __init__(self, node: Node, inputs: Sequence[Form], count: int) -> None:
        self.node = node
        self.inputs = inputs
        self.lengths = [count]

    @property
    def count(self) -> int:
        """How many elements the first plan gives, and each other one where they do not vary."""
        return self.lengths[0]

    @property
    def is_even(self) -> bool:
        """Whether all plans give as many."""
        return not self.varies or self.lengths.count(self.lengths[0]) == len(self.lengths)

    def vary(self) -> None:
        """Takes plans that give another number of elements, as well, where it can."""
        self.varies = True
        for form in self.inputs:
            form.vary()

    def takes(self, plan: Any) -> bool:
        """Takes another plan if it has this form; where it has not, the parts of it that were taken are dropped by ``keep``."""
        raise NotImplementedError

    def took(self) -> bool:
        """Takes in that each input took what the next plan reads; returns whether it gives as many elements as it may."""
        length = self._length(len(self.lengths))
        self.lengths.append(length)
        return length == self.lengths[0] or (self.varies and length > 0)

    def _length(self, index: int) -> int:
        """Returns how many elements one of the plans gives, given how many its inputs do."""
        return self.inputs[0].lengths[index]

    def settle(self) -> None:
        """Takes in how many elements there are, once functions were called that leave some out."""
        for form in self.inputs:
            form.settle()
        self.lengths = [self._length(index) for index in range(len(self.inputs[0].lengths))]

    def keep(self, plans: int) -> None:
        """Keeps the first plans that were taken."""
        del self.lengths[plans:]
        for form in self.inputs:
            form.keep(plans)

    @property
    def calling(self) -> CalledForm | None:
        """The one that calls functions on elements; no form reads two of them."""
        return self.inputs[0].calling if self.inputs else None

    @property
    def nbytes(self) -> int:
        """About how many bytes the elements of one plan have, or its windows."""
        return sum(form.nbytes for form in self.inputs)

    @property
    def most_plans(self) -> int:
        """How many plans may be made together."""
        return _MOST_BYTES_TOGETHER // max(1, self.nbytes)

    def cursor(self, index: int) -> Cursor:
        """Returns the position before the first element of one of the plans."""
        raise NotImplementedError

    def origin(self, index: int) -> Origin:
        """Returns where the elements of one of the plans came from."""
        raise NotImplementedError

    def elements(self, small: SmallPlans) -> Payload | None:
        """Makes the elements of all plans, one plan after the other; None where each has to be made by itself."""
        spans: list[tuple[Form, float, float]] = []
        try:
            payload = self.timed(spans)
            if payload is not None and self.is_held:
                payload = handed_out(payload)
        except Exception:  # noqa: BLE001 - an element's own methods may raise anything; each by itself finds out which of them
            return None
        if payload is not None:
            passed = dict(self.passed())
            small.count([(form.node, passed[form], span_s, inside_s) for form, span_s, inside_s in spans], self.node)
        return payload

    def passed(self, times: Sequence[int] | None = None) -> Iterator[tuple[Form, int]]:
        """Yields it, and each form that it reads, with how many elements it gave to the first plans, read so many times each."""
        lengths = self.lengths
        given = sum(lengths) if times is None else sum(map(int.__mul__, lengths, times))
        yield self, given
        for form in self.inputs:
            yield from form.passed(self._read(times))

    def _read(self, times: Sequence[int] | None) -> Sequence[int] | None:
        """Returns how many times each plan reads its inputs, given how many times it is read."""
        return times

    def timed(self, spans: list[tuple[Form, float, float]]) -> Payload | None:
        """Makes the elements, and notes how long each form took, and its inputs of that."""
        start = time.perf_counter()
        parts: list[Payload] = []
        for form in self.inputs:
            part = form.timed(spans)
            if part is None:
                return None
            parts.append(part)
        begun = time.perf_counter()
        payload = self._made(parts)
        spans.append((self, time.perf_counter() - start, begun - start))
        return payload

    def _made(self, parts: list[Payload]) -> Payload | None:
        """Makes the elements of all plans of those that each input gives."""
        raise NotImplementedError


def picked_runs(payload: Payload, begins: Sequence[int] | np.ndarray, lengths: Sequence[int] | np.ndarray) -> Payload:
    """Returns the elements of a payload in runs, of which each begins at such an index and has so many."""
    counts = np.asarray(lengths)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    indices = np.arange(total) + np.repeat(np.asarray(begins) - (ends - counts), counts)
    return payload.subset(indices)
