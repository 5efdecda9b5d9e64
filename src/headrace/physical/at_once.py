"""The elements of small plans, made at once where a stage would be made for each operation, to give them block by block.

Functions make plans of elements, windows and groups by the thousand, mostly of a few elements each. To make the stages of such a
plan takes longer than to make its elements. So a plan of operations that have a case here, over a source that says that it has
few elements, is done operation by operation, all elements at a time. What comes out is what its stages would give: the same
elements and failures, positions and origins, and the same counts.

What always holds:
- A case knows whether it can do its operation before any function of the user's is called.
- Functions are called on no more elements than there is room for, as in a stage that was asked for so many. Where they suddenly
  take long, a stage goes on after what was made.
- What holds no functions is made whole, up to ``MOST_ELEMENTS``: that is quick, and to cut it costs next to nothing.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from headrace.blocks.block import Block
from headrace.clock import Clock
from headrace.errors import InternalError
from headrace.frozen import replaced
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.given import Cut, GivenStage, TakesLong
from headrace.physical.loop_policy import Patience
from headrace.physical.lower import lower
from headrace.physical.made import Pieces
from headrace.physical.stage import Stage
from headrace.plan.buffering import Prefetch
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.files import Files
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.plan.node import Node
from headrace.plan.quiet import MOST_ELEMENTS
from headrace.plan.sequencing import Concatenate, Repeat, Skip, Take
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, Range
from headrace.plan.windowing import WindowContents

if TYPE_CHECKING:
    from headrace.physical.loops.taking import Taking

__all__ = [
    "INDICES",
    "MOST_ELEMENTS",
    "Making",
    "SmallPlans",
    "called",
    "makes_at_once",
    "only_block",
    "whole",
    "without_prefetch",
]

# Makes all elements of a node: (node, what is being made, for how many elements there is room) -> pieces, or None where it cannot.
Case = Callable[[Any, "Making", int], Pieces | None]
C = TypeVar("C", bound=Case)
# What a node did: its elements, its seconds, and those of its inputs.
Done = tuple[Node, int, float, float]

# For who takes all elements in any case: what is called on is held meanwhile.
_MOST_CALLS: Final = 256
# Between two looks at the clock, which cost little beside so many calls: so many may suddenly take long, and what comes after
# them may need some more.
_ROWS_A_LOOK: Final = 8

# In which module a case stands, which is imported when a plan first has such an operation.
_MODULES: Final[dict[type[Node], str]] = {
    Range: "sources",
    FromTensorSlices: "sources",
    FromTensors: "sources",
    FromGenerator: "generators",
    Files: "files",
    WindowContents: "windowing",
    Map: "calls",
    Filter: "calls",
    Enumerate: "combining",
    Zip: "combining",
    Take: "sequencing",
    Skip: "sequencing",
    Repeat: "sequencing",
    Concatenate: "sequencing",
    Batch: "grouping",
    PaddedBatch: "grouping",
    RaggedBatch: "grouping",
}
_cases: Final[dict[type[Node], Case]] = {}
# The first numbers, to be cut from.
INDICES: Final = np.arange(MOST_ELEMENTS, dtype=np.int64)
INDICES.flags.writeable = False


def makes_at_once(kind: type[Node]) -> Callable[[C], C]:
    """Registers how nodes of this very class are done at once."""

    def register(case: C) -> C:
        _cases[kind] = case
        return case

    return register


def _learned(kind: type[Node]) -> Case | None:
    """Returns the case of an operation that is met for the first time; None where it has none."""
    module = _MODULES.get(kind)
    if module is None:
        return None
    importlib.import_module(f"headrace.physical.stages.at_once.{module}")
    return _cases[kind]


def without_prefetch(plan: Node) -> Node:
    """Returns what a prefetch reads: nothing is read ahead inside a task, which has one thread."""
    while type(plan) is Prefetch:
        plan = plan.input
    return plan


class SmallPlans:
    """Makes the elements of the plans that the function of one operation makes.

    Args:
        context: of that operation.
        opener: it, where its function makes the plans.
    """

    def __init__(self, context: StageContext, opener: Node | None = None) -> None:
        within = context.within if opener is None else (*context.within, opener.label)
        self._context = replaced(context, within=within)
        self._outer, self._opener = context, opener
        self._inside: dict[tuple[object, ...], SmallPlans] = {}
        # Of operations as they were written: the label of each node, which names its meter, takes longer to find. The value
        # keeps what the key names.
        self._known: dict[tuple[object, ...], tuple[list[Meter], object]] = {}

    def elements(self, plan: Node, room: int) -> Pieces | Stage | None:
        """Returns all elements of a plan, or a stage that has the first ones ready; None where only its stages can give them.

        Args:
            plan: as the function made it.
            room: on how many elements functions may be called.
        """
        plan = without_prefetch(plan)
        if type(plan) not in _MODULES:
            return None
        making = Making(room, self.patience, self)
        found: Pieces | Stage | None
        try:
            found = making.of(plan, MOST_ELEMENTS)
        except TakesLong as cut:
            found = self.begun(plan, [cut])
        if found is None:
            return None
        self.count(making.done, plan)
        return found

    def stage(self, plan: Node, room: int) -> Stage | None:
        """Returns a stage that has all elements of a plan ready, or the first ones; None where only its stages can give them."""
        found = self.elements(plan, room)
        return GivenStage(found) if isinstance(found, list) else found

    def patience(self) -> Patience:
        """Returns how long functions may be called from now on."""
        now_s, until_s, rows_a_look = self._context.policy.loops.patience()
        return Patience(now_s, until_s, min(rows_a_look, _ROWS_A_LOOK))

    @property
    def clock(self) -> Clock:
        """By which it is known how long functions take."""
        return self._context.policy.clock

    def taking(self, node: FromGenerator) -> Taking:
        """Returns what takes the elements of a generator: generators of one name learn together, which is nothing but speed."""
        learned = self._context.learned
        name = getattr(node.generator, "__qualname__", None)
        key = ("taking", self._context.within, node.name, name, node.signature is None)
        taking: Taking | None = learned.get(key)
        if taking is None:
            from headrace.physical.loops.taking import Taking  # what few plans need

            taking = learned.setdefault(key, Taking(self._context.policy.loops, takes_lists=node.signature is None))
        return taking

    def begun(self, plan: Node, cuts: Sequence[Cut], index: int | None = None) -> Stage:
        """Returns a stage that begins with what became of a plan's first elements.

        Args:
            plan: as the function made it.
            cuts: what became of them.
            index: that of the element of which the plan was made; None where nothing of the plan can be random.
        """
        from headrace.physical.begun import with_begun  # what few plans need

        context = self._within(plan)
        if index is not None and self._opener is not None:
            context = self._outer.for_subplan(plan, opener=self._opener, index=index)
        return lower(with_begun(plan, cuts), None, context)

    def inside(self, plan: Node, node: Node) -> SmallPlans:
        """Returns what makes the plans that the function of an operation of a plan makes."""
        key = _key_of(node)
        found = None if key is None else self._inside.get(key)
        if found is None:
            found = SmallPlans(self._within(plan), node)
            if key is not None:
                self._inside[key] = found
        return found

    @property
    def timeout_s(self) -> float | None:
        """How long the functions of maps may take that say nothing themselves."""
        return self._outer.options.timeout_s

    def count(self, done: Sequence[Done], plan: Node, place: int = 0) -> None:
        """Counts what operations of a plan did; they stand in another place of it than those of the same kinds with another number."""
        for (_, elements, span_s, inside_s), meter in zip(done, self._meters(done, plan, place), strict=True):
            own_s = span_s - inside_s
            meter.add((elements, elements, own_s if own_s > 0 else 0.0, 0.0, inside_s, 0.0))

    def _meters(self, done: Sequence[Done], plan: Node, place: int) -> list[Meter]:
        keys = (place, *[_key_of(node) for node, *_ in done])
        found = self._known.get(keys)
        if found is None:
            context = self._within(plan)
            meters = [context.meter(node) for node, *_ in done]
            if None in keys:
                return meters
            functions: Any = [function for node, *_ in done for function in node.functions()]
            found = self._known[keys] = meters, [getattr(function, "__code__", None) for function in functions]
        return found[0]

    def _within(self, plan: Node) -> StageContext:
        """Returns the context of the operations of a plan, as its function made it."""
        return replaced(self._context, opened=plan) if self._opener is not None else self._context


def _key_of(node: Node) -> tuple[object, ...] | None:
    """Returns what is the same of an operation in all plans that one function makes; None where that is not to be told."""
    functions = node.functions()
    if not functions:
        return type(node), node.name
    function = functions[0]
    if len(functions) > 1:
        return None
    if type(function) is FunctionType:
        return type(node), node.name, function.__qualname__, id(function.__code__)
    return (type(node), node.name, function) if _is_of_a_module(function) else None


def _is_of_a_module(function: Any) -> bool:
    """Returns whether a function is written in C and there is one of it in the program, as of ``len`` and ``int``."""
    if type(function) is BuiltinFunctionType:
        return type(function.__self__) is ModuleType
    return type(function) is type and function.__module__ == "builtins"


class Making:
    """One plan whose elements are being made.

    Args:
        room: on how many elements functions may be called.
        patience: says how long functions may be called from then on.
        small: whose plan it is; None where it is nobody's, and no generator is run.
        counts: whether somebody may ask what its operations did.
    """

    __slots__ = ("_begin", "_inside_s", "_patience", "counts", "done", "first", "has_called", "room", "small")

    def __init__(
        self, room: int, patience: Callable[[], Patience], small: SmallPlans | None = None, *, counts: bool = True
    ) -> None:
        self.room = room
        self.counts = counts
        self.small = small
        self._begin = patience
        self._patience: Patience | None = None
        self.done: list[Done] = []
        self.has_called = False  # functions, so that it is too late for stages
        self.first: int | None = None  # of the generator that comes next, how many elements are read at most
        self._inside_s = 0.0

    @property
    def patience(self) -> Patience:
        """How long functions may be called, from the first call on."""
        if self._patience is None:
            self._patience = self._begin()
        return self._patience

    def of(self, node: Node, room: int) -> Pieces | None:
        """Returns all elements of a node that has at most ``room``; None where that is not known, or it has no case."""
        node = without_prefetch(node)
        case = _cases.get(type(node)) or _learned(type(node))
        if case is None:
            return None
        if not self.counts:
            return case(node, self, room)
        before_s, self._inside_s = self._inside_s, 0.0
        start = time.perf_counter()
        try:
            pieces = case(node, self, room)
        except TakesLong as cut:
            if cut.node is node:
                self.done.append((node, _elements(cut.made), time.perf_counter() - start, self._inside_s))
            raise
        span_s = time.perf_counter() - start
        if pieces is not None:
            self.done.append((node, _elements(pieces), span_s, self._inside_s))
        self._inside_s = before_s + span_s
        return pieces

    def unread(self, node: Node, room: int) -> Pieces | None:
        """Returns the same of a node for which no function is called: of what is left out, or what another input may decide."""
        kept, self.room = self.room, 0
        try:
            return self.of(node, room)
        finally:
            self.room = kept

    def first_of(self, node: FromGenerator, count: int, room: int) -> Pieces | None:
        """Returns the first elements of a generator, which is left then."""
        self.first = count
        try:
            return self.of(node, room)
        finally:
            self.first = None

    def passed_again(self, since: int, times: int) -> None:
        """Has what was done after so many others count that often: its elements come again without being made again."""
        again = [(node, elements * times, span_s, inside_s) for node, elements, span_s, inside_s in self.done[since:]]
        self.done[since:] = again

    def to_call_on(self, node: Node, room: int) -> Pieces | None:
        """Returns all elements of a node, to call a function on each, which is begun with."""
        pieces = self.of(node, min(room, self.room))
        self.has_called = self.has_called or bool(pieces)
        return pieces


def _elements(pieces: Pieces) -> int:
    return sum([len(piece.payload) for piece in pieces if type(piece) is Block])


def whole(plan: Node, *, counts: bool = True) -> tuple[Pieces, list[Done]] | None:
    """Returns all elements of a plan that calls no function, and what its operations did, if that counts; None where only its stages can give them."""
    making = Making(0, _no_patience, counts=counts)
    pieces = making.of(plan, MOST_ELEMENTS)
    return None if pieces is None else (pieces, making.done)


def called(plan: Node, patience: Callable[[], Patience]) -> Pieces | Node | None:
    """Returns all elements of a plan that may call functions, or where these take long a plan that begins with the first ones; else None."""
    making = Making(_MOST_CALLS, patience, counts=False)
    try:
        return making.of(plan, MOST_ELEMENTS)
    except TakesLong as cut:
        from headrace.physical.begun import with_begun  # as above

        return with_begun(plan, [cut])
    except Exception:
        if making.has_called:  # once is enough
            raise
        return None


def _no_patience() -> Patience:
    raise InternalError("a plan without functions called one")


def only_block(pieces: Pieces) -> Block | None:
    """Returns the block, where there is nothing else."""
    return pieces[0] if len(pieces) == 1 and type(pieces[0]) is Block else None
