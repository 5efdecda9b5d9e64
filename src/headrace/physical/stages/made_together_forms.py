"""What plans have in common that are made together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from headrace.blocks.cursor import Cursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload
from headrace.physical.at_once import SmallPlans
from headrace.physical.made import MOST_BYTES
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.physical.stages.made_together_maps import MappedForm

__all__ = ["Done", "Form"]

# What an operation did: its elements, its seconds, and those of its inputs.
Done = tuple[Node, int, float, float]

# Of all plans together: a block of elements, which is copied in about the time that it stands for.
_MOST_BYTES_TOGETHER: Final = 16 * MOST_BYTES


class Form:
    """What plans have in common that are made together, and those that were taken so far.

    Attributes:
        node: of the plan that was taken first.
        inputs: the forms of what it reads.
        count: how many elements each plan gives; the first one, where that may differ.
        cursor: the position before the first element of each plan.
        is_held: whether its elements are those of the windows, which others see as well.
    """

    is_held = False
    # How many elements each plan that was taken gives, where that may differ.
    lengths: list[int] | None = None

    def __init__(self, node: Node, inputs: Sequence[Form], count: int, cursor: Cursor) -> None:
        self.node = node
        self.inputs = inputs
        self.count = count
        self.cursor = cursor

    def vary(self) -> None:
        """Takes plans that give another number of elements, as well, where it can; no other form reads this one."""

    def takes(self, plan: Any) -> bool:
        """Takes another plan if it has this form; where it has not, the parts of it that were taken are dropped by ``keep``."""
        raise NotImplementedError

    def keep(self, plans: int) -> None:
        """Keeps the first plans that were taken."""
        for form in self.inputs:
            form.keep(plans)

    def total(self, plans: int) -> int:
        """Returns how many elements the first plans give."""
        return plans * self.count if self.lengths is None else sum(self.lengths[:plans])

    @property
    def calling(self) -> MappedForm | None:
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

    def origin(self, index: int) -> Origin:
        """Returns where the elements of one of the plans came from."""
        raise NotImplementedError

    def elements(self, plans: int, small: SmallPlans) -> Payload | None:
        """Makes the elements of all plans, one plan after the other; None where each has to be made by itself."""
        spans: list[tuple[Form, float, float]] = []
        try:
            payload = self._timed(spans)
            if payload is not None and self.is_held:
                payload = handed_out(payload)
        except Exception:  # noqa: BLE001 - an element's own methods may raise anything; each by itself finds out which of them
            return None
        if payload is not None:
            passed = dict(self.passed(self.total(plans)))
            small.count([(form.node, passed[form], span_s, inside_s) for form, span_s, inside_s in spans], self.node)
        return payload

    def passed(self, given: int) -> Iterator[tuple[Form, int]]:
        """Yields it, and each form that it reads, with how many elements it gave when this one gave so many."""
        yield self, given
        for form in self.inputs:
            yield from form.passed(self._read(form, given))

    def _read(self, form: Form, given: int) -> int:
        """Returns how many elements an input gave when this one gave so many."""
        return given // self.count * form.count

    def _timed(self, spans: list[tuple[Form, float, float]]) -> Payload | None:
        start = time.perf_counter()
        parts: list[Payload] = []
        for form in self.inputs:
            part = form._timed(spans)  # noqa: SLF001 - of its own class
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
