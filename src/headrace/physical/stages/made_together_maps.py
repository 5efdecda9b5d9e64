"""The form of maps over small plans, whose functions are called in one row: those of one plan, then those of the next.

What always holds:
- A function is called on an element once. What was called for plans that are not made together after all goes into what each of
  them becomes by itself: a stage that begins with it.
- All functions have one code, so that what is counted, and said in reports, is of one operation.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from headrace.blocks.block import Block
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Origin, Within
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import Element
from headrace.observe.frames import holds, since
from headrace.physical.at_once import TakesLong
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.alone import gone_on, map_loop
from headrace.physical.loops.text import Loop
from headrace.physical.made import Pieces
from headrace.physical.stages.made_together_forms import Done, Form
from headrace.plan.elementwise import Map
from headrace.plan.vectorized import Vectorized

__all__ = ["MappedForm", "has_same_code"]


# Of elements that opened datasets, and which of them opened the first one.
OpenersOrigin = tuple[Origin, int]


class _Called(NamedTuple):
    """What functions made of the elements of several plans.

    Attributes:
        nodes: the maps.
        made: what they returned.
        last: the plan after these, if some of its elements were called on: what became of them, and what is left.
    """

    nodes: Sequence[Map]
    made: list[Element]
    last: tuple[Pieces, Pieces] | None


class MappedForm(Form):
    """What a map makes of the elements of each plan.

    Attributes:
        done: what it and the operations that it reads did as functions were called.
    """

    def __init__(self, node: Map, form: Form) -> None:
        super().__init__(node, (form,), form.count, form.cursor)
        self._nodes: list[Any] = [node]
        self._called: _Called | None = None
        self.done: list[Done] = []

    @staticmethod
    def fits(node: Map) -> bool:
        """Returns whether nothing is done but to call a function, once for each element."""
        return node.on_error == "raise" and node.timeout_s is None and not isinstance(node.function, Vectorized)

    @property
    def calling(self) -> MappedForm:
        """Itself."""
        return self

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if type(plan) is not Map or plan.name != node.name or not has_same_code(plan.function, node.function):
            return False
        if plan.on_error != "raise" or plan.timeout_s is not None or not self.inputs[0].takes(plan.input):
            return False
        self._nodes.append(plan)
        return True

    def keep(self, plans: int) -> None:
        del self._nodes[plans:]
        super().keep(plans)

    def origin(self, index: int) -> Origin:
        return self.inputs[0].origin(index)

    def call(self, openers: OpenersOrigin, patience: Patience, end_s: float) -> int:
        """Calls the functions of all plans that were taken; returns for how many of them all calls returned in time.

        Args:
            openers: where the elements came from that opened them.
            patience: of what goes through elements, once they suddenly take long.
            end_s: after which no other plan is begun.
        """
        start_s = time.perf_counter()
        spans: list[tuple[Form, float, float]] = []
        payload = self.inputs[0]._timed(spans)  # noqa: SLF001 - of its own class
        if payload is None:
            return 0
        if self.inputs[0].is_held:
            payload = handed_out(payload)
        inside_s = time.perf_counter() - start_s
        rows = payload.rows()
        loop = map_loop(has_tuples=payload.has_tuples)
        made, last = self._made_of(rows, loop, openers, patience, start_s, end_s)
        span_s = time.perf_counter() - start_s
        whole = len(made) // self.count
        read = whole + (last is not None)
        self._called = _Called(list(self._nodes), made, last)
        passed = dict(self.passed(read * self.count))
        self.done = [(form.node, passed[form], own_s, in_s) for form, own_s, in_s in spans]
        elements = len(made) + (0 if last is None else sum(len(piece) for piece in last[0] if isinstance(piece, Block)))
        self.done.append((self.node, elements, span_s, inside_s))
        return whole

    @holds(lambda at, _: (at["self"].node.label, at["self"].place(at["openers"], at["number"], len(at["made"]))))
    @since("start_s")
    def _made_of(
        self,
        rows: Sequence[Element],
        loop: Loop,
        openers: OpenersOrigin,
        patience: Patience,
        start_s: float,
        end_s: float,
    ) -> tuple[list[Element], tuple[Pieces, Pieces] | None]:
        each, run, number = self.count, loop.run, 0
        now_s, until_s, look = patience
        looks = -(-each // look)
        made: list[Element] = []
        left = iter(rows)
        for number, node in enumerate(self._nodes):
            part = itertools.islice(left, each)
            error = run(part, None, -1, look, looks, now_s, until_s, made, None, (node.function,), ())[2]
            if error is not None or len(made) < (number + 1) * each:
                mine = made[number * each :]
                del made[number * each :]
                of = list(rows[number * each : (number + 1) * each])
                return made, self._gone_on(number, of, mine, error, start_s, patience)
            if time.perf_counter() > end_s:
                break
        return made, None

    def _gone_on(
        self,
        number: int,
        rows: list[Element],
        made: list[Element],
        error: Exception | None,
        start_s: float,
        patience: Patience,
    ) -> tuple[Pieces, Pieces]:
        """Returns what becomes of the elements of a plan of which one failed, or some took long, and those that are left."""
        block = Block(Rows(rows), self.cursor, self.origin(number))
        pieces, done = gone_on(self._nodes[number], block, made, error, start_s, patience)
        return pieces, [block.slice(done, len(block))] if done < len(block) else []

    def place(self, openers: OpenersOrigin, number: int, made: int) -> str:
        """Returns where an element of a plan came from, of which the functions made so many with those before it."""
        origin, begun = openers
        at = min(made - number * self.count, self.count - 1)
        return Within(self.origin(number), origin, begun + number).describe(at)

    def begun(self, number: int) -> TakesLong | None:
        """Returns what became of a plan whose functions were called, and what is left of it; None where none was."""
        called, each = self._called, self.count
        if called is None or number > len(called.made) // each:
            return None
        node = called.nodes[number]
        if number < len(called.made) // each:
            part = called.made[number * each : (number + 1) * each]
            return TakesLong(node, [Block(Rows(part), self.cursor, self.origin(number))], [])
        return None if called.last is None else TakesLong(node, *called.last)

    def let_go(self) -> None:
        """Forgets what functions made, which is in other hands."""
        self._called = None

    def _timed(self, spans: list[tuple[Form, float, float]]) -> Payload | None:
        assert self._called is not None  # the functions are called first, and counted then
        return Rows(self._called.made)


def has_same_code(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Returns whether two functions do the same, perhaps with other values."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) is FunctionType:
        return one.__code__ is other.__code__ and one.__qualname__ == other.__qualname__
    if type(one) is MethodType:
        return has_same_code(one.__func__, other.__func__)  # type: ignore[attr-defined]  # both are methods
    return type(one) is functools.partial and has_same_code(one.func, other.func)  # type: ignore[attr-defined]  # both are partials
