"""How group_by_window opens the datasets that its function makes of groups: each by itself, or many of one form together."""

from __future__ import annotations

import bisect
import itertools
import time
from collections.abc import Sequence

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor, SavedCursor, State
from headrace.blocks.origin import Indices, Within, subset
from headrace.blocks.payload import Rows
from headrace.frozen import frozen, mutable
from headrace.observe.frames import within
from headrace.physical.at_once import SmallPlans, without_prefetch
from headrace.physical.context import StageContext
from headrace.physical.given import Cut
from headrace.physical.input_history import GroupOrigin, InputRuns, ReadOrigin
from headrace.physical.lower import lower
from headrace.physical.made import Made
from headrace.physical.own_time import OwnTime
from headrace.physical.stage import Stage
from headrace.physical.stages.nesting_openers import NestingPaces
from headrace.physical.stages.nesting_opening import paces_of
from headrace.physical.stages.together.forms import Form, MadeTogether, made_of
from headrace.physical.stages.together.plans import ROOMS, form_of
from headrace.physical.stages.windowing_held import Group, GroupCursor, GroupsPosition
from headrace.physical.workers.subplan_reader import Opened, SubplanReader
from headrace.plan.node import Node
from headrace.plan.timeouts import with_timeouts
from headrace.plan.windowing import GroupByWindow
from headrace.semantics.failures import as_element_error
from headrace.semantics.inner_plans import in_run
from headrace.semantics.window_contents import WindowBlock
from headrace.semantics.windowing import reduced_plan

__all__ = ["FullGroup", "GroupOpening", "GroupRun", "OpenGroup"]


@mutable
class FullGroup:
    """A group of which a dataset is made; as an origin, its members.

    Attributes:
        group: its elements have been taken.
        elements: they are here.
        read: how many elements had been read when it was full.
        groups: those that its position may have to tell of.
        runs: what was read.
    """

    group: Group
    elements: Rows
    read: int
    groups: Sequence[Group]
    runs: InputRuns

    @classmethod
    def of(cls, group: Group, kinds: frozenset[type], read: int, groups: Sequence[Group], runs: InputRuns) -> FullGroup:
        """Takes the elements of a group that is full, which have types among these, after so many were read."""
        elements = Rows(group.rows, kinds if len(kinds) == 1 else None)
        group.rows = []  # the dataset has them
        return cls(group, elements, read, groups, runs)

    @property
    def held(self) -> WindowBlock:
        """The elements, as its dataset has them."""
        return WindowBlock(self.elements, self, range(len(self.elements.elements)))

    @property
    def position(self) -> GroupsPosition:
        """Where the stage stands while its dataset is read."""
        assert self.group.full_at is not None  # as it is full
        return GroupsPosition(self.read, self.group.full_at + 1, self.groups, self.group, self.runs)

    def subset(self, indices: Indices) -> ReadOrigin:
        return ReadOrigin(self.runs, subset(np.array(self.group.indices), indices))

    def describe(self, index: int) -> str:
        read_index = self.group.indices[index]
        return ReadOrigin(self.runs, range(read_index, read_index + 1)).describe(0)

    def origin(self) -> str:
        """Returns where its elements came from, in words."""
        return self.as_one.describe(0)

    @property
    def as_one(self) -> GroupOrigin:
        """The same as one origin."""
        return GroupOrigin([(self, len(self.group.indices))])


@mutable
class OpenGroup:
    """A group, and what reads its dataset."""

    full: FullGroup
    reader: SubplanReader


class GroupOpening:
    """Opens datasets of groups.

    Args:
        node: whose function makes them.
        context: its own.
    """

    def __init__(self, node: GroupByWindow, context: StageContext) -> None:
        self._node = node
        self._context = context
        self.small = SmallPlans(context, node)
        self.own_time = OwnTime()  # that the function took
        self._paces = paces_of(context, node)
        self._was_at_once: bool | None = None  # of the dataset that was opened since one was read; None where none was

    @within(lambda at: at["full"].origin())
    def plan(self, full: FullGroup) -> Node | Failure:
        """Calls the function with a group; returns the plan that it made, or why there is none."""
        try:
            plan = reduced_plan(self._node, full.group.key, full.held)
            return with_timeouts(plan, self._context.options.timeout_s)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return self._failed(full, error)

    def open(self, full: FullGroup, saved: State | None, made: Node | Stage | Failure | None = None) -> OpenGroup:
        """Returns a group whose dataset is opened when it is read, at its start or where the state says.

        Args:
            full: the group.
            saved: the state.
            made: what the function made of it, where it was called already, or what that became.
        """

        def open_plan(room: int) -> Opened:
            plan: Node | Stage | Failure | None = made
            if plan is None:
                with self.own_time:
                    plan = self.plan(full)
            return plan if isinstance(plan, (Stage, Failure)) else self._opened(full, plan, saved, room)

        return OpenGroup(full, SubplanReader(open_plan, None if saved is None else SavedCursor(saved), full.origin))

    def _opened(self, full: FullGroup, plan: Node, saved: State | None, room: int) -> Opened:
        assert full.group.full_at is not None  # or it would not be opened
        try:
            pieces = self.small.elements(plan, max(room, self._paces.room)) if saved is None else None
            self._was_at_once = isinstance(pieces, list)
            if pieces is not None:
                return Made(pieces) if isinstance(pieces, list) else pieces
            plan, inside = in_run(plan, self._node, full.group.full_at, self._context)
            return lower(plan, saved, inside)
        except Exception as error:  # noqa: BLE001 - what is asked of the user's objects may raise anything
            return self._failed(full, error)

    def begun(self, full: FullGroup, plan: Node, cuts: Sequence[Cut]) -> Stage:
        """Returns a stage that begins with what became of a group's dataset already."""
        return self.small.begun(plan, cuts, full.group.full_at)

    @property
    def room(self) -> int:
        """On how many elements of one group functions may be called."""
        return self._paces.room

    def ran(self, opened: int, given: int, seconds: float) -> None:
        """Learns how many elements are made in no time, where so many groups were made together."""
        self._paces.begun(seconds / opened, at_once=True)
        self._paces.observe(opened, given, seconds)

    def read(self, given: int, seconds: float) -> None:
        """Learns how many elements are made in no time, where so many were read that are a dataset's first ones."""
        at_once, self._was_at_once = self._was_at_once, None
        if at_once is not None:
            self._paces.begun(seconds, at_once=at_once)
            self._paces.observe(1, given, seconds)

    def _failed(self, full: FullGroup, error: Exception) -> Failure:
        nowhere = IndexCursor(0)  # the stage knows where it stands
        return Failure(as_element_error(error, stage=self._node.reduce_label, origin=full.origin()), nowhere, nowhere)


class GroupRun:
    """Groups one after the other whose plans have one form.

    Args:
        opening: opens those that are not made together.

    Attributes:
        groups: them.
        elements: how many their datasets have, before functions were called that may leave some out.
        lacks_room: whether there is room for too few calls yet, as it is not known how long they take.
    """

    def __init__(self, opening: GroupOpening) -> None:
        self.groups: list[FullGroup] = []
        self.elements = 0
        self.lacks_room = False
        self._opening = opening
        self._plans: list[Node] = []
        self._form: Form | None = None
        self._most = 0

    @property
    def is_full(self) -> bool:
        """Whether it has as many groups as may be made together."""
        return self._form is not None and len(self.groups) >= self._most

    def takes(self, full: FullGroup, plan: Node | Failure) -> bool:
        """Takes another group if its plan has the form of the first one's."""
        if isinstance(plan, Failure):
            return False
        if self._form is None:
            self._form = self._form_of(without_prefetch(plan))
            if self._form is None:
                return False
        elif not self._form.takes(without_prefetch(plan)):
            return False
        self.groups.append(full)
        self._plans.append(plan)
        self.elements += self._form.lengths[-1]
        return True

    def _form_of(self, plan: Node) -> Form | None:
        form = form_of(plan)
        calls = 0 if form is None else form.calls
        self.lacks_room = calls > self._opening.room
        if form is None or form.reads or self.lacks_room:
            return None
        self._most = min(form.most_plans, max(1, ROOMS * self._opening.room // calls) if calls else form.most_plans)
        return form

    def block(self) -> tuple[Block | None, list[OpenGroup]]:
        """Makes the elements of all, or of the first ones; returns them, and the groups of which each is to be made by itself."""
        form = self._form
        assert form is not None  # as there are some
        start_s = time.perf_counter()
        openers = _Openers(self.groups), 0
        opening = self._opening
        made = made_of(form, len(self.groups), openers, opening.small, opening.room, NestingPaces.block_s)
        apart = self._apart(made)
        if made.payload is None:
            return None, apart
        groups, payload = self.groups[: made.plans], made.payload
        self._opening.ran(len(groups), len(payload), time.perf_counter() - start_s)
        form.let_go()
        ends = list(itertools.accumulate(form.lengths))
        origin = _RunOrigin(form, groups, ends, range(len(payload)))
        return Block(payload, _RunCursor(form, groups, ends, 0), origin) if len(payload) else None, apart

    def _apart(self, made: MadeTogether) -> list[OpenGroup]:
        """Returns the groups that were not made, to be read one by one."""
        opened = []
        for number in range(made.plans, len(self.groups)):
            full, plan = self.groups[number], self._plans[number]
            cuts = made.cuts.get(number)
            opened.append(self._opening.open(full, None, self._opening.begun(full, plan, cuts) if cuts else plan))
        return opened


@frozen
class _Openers:
    """Groups, each as one origin."""

    groups: Sequence[FullGroup]

    def subset(self, indices: Indices) -> _Openers:
        return _Openers([self.groups[int(index)] for index in indices])

    def describe(self, index: int) -> str:
        return self.groups[index].origin()


@frozen
class _RunCursor:
    """In the datasets of groups whose plans have one form, after so many of their elements."""

    form: Form
    groups: Sequence[FullGroup]
    ends: Sequence[int]
    taken: int

    def advance(self, count: int) -> _RunCursor:
        return _RunCursor(self.form, self.groups, self.ends, self.taken + count)

    def state(self) -> State:
        # After all, at the last one's end.
        number = min(bisect.bisect_right(self.ends, self.taken), len(self.groups) - 1)
        inner = self.form.cursor(number).advance(self.taken - (self.ends[number - 1] if number else 0))
        return GroupCursor(self.groups[number].position, inner).state()


@frozen
class _RunOrigin:
    """Elements of groups whose plans have one form."""

    form: Form
    groups: Sequence[FullGroup]
    ends: Sequence[int]
    picked: Indices

    def subset(self, indices: Indices) -> _RunOrigin:
        return _RunOrigin(self.form, self.groups, self.ends, subset(self.picked, indices))

    def describe(self, index: int) -> str:
        at = int(self.picked[index])
        number = bisect.bisect_right(self.ends, at)
        at -= self.ends[number - 1] if number else 0
        return Within(self.form.origin(number), self.groups[number].as_one, 0).describe(at)
