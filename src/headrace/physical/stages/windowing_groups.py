"""The stage of group_by_window: elements gathered by key, and the datasets that a function makes of full groups.

The order is tf.data's: when a group is full, the elements of its dataset come before anything more is read; at the end the
groups that are left follow in the order of their keys. A failure of the input, of a key or of a size takes one element
with it; a failure to make a dataset takes its group.

Elements that are held when it is restored are read again, and no function is asked again for their keys.
"""

from __future__ import annotations

import enum
import itertools
import math
import time
from collections import deque
from typing import Any, Final

from headrace.blocks.block import Block, Failure, joined_block
from headrace.blocks.cursor import SavedCursor, State, input_state
from headrace.blocks.origin import Within
from headrace.coordination.closing import close_all
from headrace.elements.ownership import read_only_rows
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.observe.frames import holds
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.input_history import InputHistory
from headrace.physical.loop_policy import LoopPolicy, Patience
from headrace.physical.lower import lower
from headrace.physical.made import is_small
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.windowing_held import Group, GroupCursor, GroupsPosition
from headrace.physical.stages.windowing_opening import FullGroup, GroupOpening, GroupRun, OpenGroup
from headrace.plan.windowing import GroupByWindow
from headrace.semantics.failures import as_element_error, inside_element
from headrace.semantics.held_bytes import Holding
from headrace.semantics.windowing import GROUPS_REMEDY, group_lost

__all__ = ["GroupWindowsStage"]

# How long groups are made for one block: another thread hands that over in no time.
_BLOCK_S: Final = 1e-3
# What is read at once: enough for as many groups as were asked for, and no more than is quickly read.
_READ_AT_ONCE = 1024
# How long elements are put into groups while one that is full waits.
_AT_ONCE_S: Final = 1e-4
# So many groups in a row were not made with others, before nobody looks for a form any more.
_MOST_MISSES: Final = 4


class _NotYet(enum.Enum):
    """In place of an item: it takes long, and what was made is not to wait for it."""

    CAME = enum.auto()


class GroupWindowsStage(Stage):
    """The elements of datasets that are made of groups of elements."""

    def __init__(
        self,
        node: GroupByWindow,
        input_stage: Stage,
        meter: Meter,
        state: State | None,
        opening: GroupOpening,
        *,
        holding: Holding,
        policy: LoopPolicy,
    ) -> None:
        self._policy = policy
        self._holding = holding
        self._came = self._came_bytes = 0  # elements that were read so far, and what they weighed
        self._node = node
        self._opening = opening
        self._saved = state
        self._reads = InputHistory(input_stage.cursor)
        self._block: Block | None = None  # what was read and not looked at yet
        self._rows: list[Element] = []
        self._seen: list[Element] = []  # the same, for the function of keys
        self._kinds: frozenset[type] = frozenset()  # the types of all elements that were read
        self._next = 0  # the index of the next element to look at
        self._full = 0  # how many groups were full
        self._next_at_full = 0  # the same as ``_next`` when the last one was
        self._growing: dict[int, Group] = {}
        self._groups: list[Group] = []  # these, and those that were full not long ago
        self._found: deque[FullGroup | Failure] = deque()  # of what was looked at; no dataset was made of these yet
        # Those that are read one by one; each is read to its end before the next.
        self._open_groups: deque[OpenGroup] = deque()
        self._misses = 0  # how many groups in a row were not made with others
        self._left: list[int] | None = None  # the keys that are left at the end, the next one last
        self._lost = False
        self._failed: HeadraceError | None = None  # of an element that was held and fails now
        self._failure: Failure | None = None  # after what was given
        self._after_run: Failure | None = None  # the same, and after groups that are open
        self._stopped = False
        cursor = GroupCursor(self._position()) if state is None else SavedCursor(state)
        super().__init__(meter, (input_stage,), cursor)

    def _pull(self, limit: int) -> Item:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            return failure
        item = self._from_a_run(limit) if self._comes_a_run() else _NotYet.CAME
        if isinstance(item, _NotYet):
            item = self._next_item(limit)
            assert not isinstance(item, _NotYet)  # there is patience where nothing waits
            return item if not isinstance(item, Block) else self._with_more(item, limit)
        return item

    # ------------------------------------------------------------------ datasets that are made together

    def _comes_a_run(self) -> bool:
        if self._stopped or self._lost or self._misses == _MOST_MISSES:
            return False
        return not self._open_groups and self._after_run is None and self._saved is None

    def _from_a_run(self, limit: int) -> Item | _NotYet:
        """Returns the elements of the next groups' datasets; CAME where the next one was opened, to be read by itself."""
        run, now_s, patience = GroupRun(self._opening), self._policy.clock.now_s, None
        end_s = now_s() + _BLOCK_S
        while run.elements < limit and not run.is_full:
            full = self._next_group(limit, patience)
            if not isinstance(full, FullGroup):
                if not run.groups:
                    return full
                self._after_run = full if isinstance(full, Failure) else None
                break
            plan = self._opening.plan(full)
            if not run.takes(full, plan):
                self._open_groups.append(self._opening.open(full, None, plan))
                self._misses += len(run.groups) < 2 and not run.lacks_room
                break
            if now_s() > end_s:
                break
            patience = patience or self._policy.patience()
        return self._made_of(run) if run.groups else _NotYet.CAME

    def _made_of(self, run: GroupRun) -> Item | _NotYet:
        start = time.perf_counter()
        block, apart = run.block()
        self._inside_s += time.perf_counter() - start
        self._open_groups.extendleft(reversed(apart))
        if len(apart) == len(run.groups):
            self._misses += 1
        elif len(run.groups) > 1:
            self._misses = 0
        return _NotYet.CAME if block is None else block

    # ------------------------------------------------------------------ datasets, one by one

    def _with_more(self, block: Block, limit: int) -> Block:
        """Returns a block and what else the elements give that are at hand: nothing that is ready waits for what is to be read."""
        now_s = self._policy.clock.now_s
        blocks, left, end_s = [block], limit - len(block), now_s() + _BLOCK_S
        patience = self._policy.patience()
        while left > 0 and (self._found or self._block is not None) and is_small(block) and now_s() < end_s:
            item = self._next_item(left, patience)
            if not isinstance(item, Block):
                self._failure = None if isinstance(item, _NotYet) else item
                break
            block = item
            blocks.append(block)
            left -= len(block)
        return joined_block(blocks)

    def _next_item(self, limit: int, patience: Patience | None = None) -> Item | _NotYet:
        """Returns the next item of one group's dataset, or a failure on the way to it.

        Args:
            limit: how many elements it may have.
            patience: how long it may take, where something waits for it; then nothing is read. None: as long as it takes.
        """
        if self._saved is not None and not self._restored():
            return Failure(self._failed or group_lost(self._node.label), self.cursor, self.cursor)
        while not self._lost:
            while self._open_groups:
                item = self._from_dataset(self._open_groups[0], limit)
                if item is not None:
                    return item
                self._open_groups.popleft()
            if self._after_run is not None:
                failure, self._after_run = self._after_run, None
                return failure
            if patience is not None and self._comes_a_run():  # as soon as it may
                return _NotYet.CAME
            full = self._next_group(limit, patience)
            if not isinstance(full, FullGroup):
                return full
            self._open_groups.append(self._opening.open(full, None))
        return None

    def _from_dataset(self, group: OpenGroup, limit: int) -> Item:
        """Returns the next item of the group's dataset; None at its end."""
        reader, position = group.reader, group.full.position
        if self._stopped:  # stop() may have come before there was something to stop
            reader.stop()
        start, own_s = time.perf_counter(), self._opening.own_time.total_s
        item = reader.peek(limit)
        seconds = time.perf_counter() - start
        self._inside_s += seconds - (self._opening.own_time.total_s - own_s)  # with the function
        if item is None:
            reader.close()
            return None
        if isinstance(item, Block):
            self._opening.read(len(item), seconds)
            block = reader.take(min(limit, len(item)))
            return Block(block.payload, GroupCursor(position, block.cursor), Within(block.origin, group.full.as_one, 0))
        if reader.failed_to_open:
            self._open_groups.popleft()
            between = GroupsPosition(position.read, position.full, position.groups, None, position.runs)
            return Failure(item.error, GroupCursor(position), GroupCursor(between))
        reader.drop_failure()
        error = inside_element(item.error, group.full.origin())
        return Failure(error, GroupCursor(position, item.cursor), GroupCursor(position, item.after))

    # ------------------------------------------------------------------ groups

    def _next_group(self, limit: int, patience: Patience | None) -> FullGroup | Failure | _NotYet | None:
        """Returns the next group that is full, or left at the end, or a failure on the way to it, as ``_next_item``."""
        while True:
            if self._block is not None and not self._found:
                self._look_at(self._block, patience)
            if self._found:
                return self._found.popleft()
            if patience is not None:
                return _NotYet.CAME
            if self._block is not None:
                continue
            item = self._read(self.inputs[0], self._wanted(limit))
            if item is None:
                return self._left_over()
            self._reads.add(item)
            if isinstance(item, Failure):
                return self._passed(item.error)
            self._hold(item)
            self._block, self._rows = item, item.payload.rows()
            self._kinds |= (kinds := set(map(type, self._rows)))
            self._seen = read_only_rows(self._rows, kinds)  # what the function does to an element, nobody after it sees

    def _hold(self, block: Block) -> None:
        """Says how much the groups hold that are not full, before what comes now."""
        self._came += len(block)
        self._came_bytes += block.payload.nbytes
        count = self._held_elements()
        rows = (row for group in self._growing.values() for row in group.rows)
        self._holding.hold(count * self._came_bytes // self._came, lambda: rows, count=count)

    def _held_elements(self) -> int:
        return sum(len(group.rows) for group in self._growing.values())

    def _left_over(self) -> FullGroup | None:
        """Returns the group with the smallest key, at the end."""
        if self._left is None:
            self._left = sorted(self._growing, reverse=True)
        return self._filled(self._growing[self._left.pop()], self._next) if self._left else None

    def _wanted(self, limit: int) -> int:
        """Returns how many elements to read: enough for so many groups, and a quarter more than filled none."""
        a_group = self._node.window_size or (self._next // self._full if self._full else 1)
        wanted = max(limit * a_group, (self._next - self._next_at_full) // 4)
        return max(1, min(_READ_AT_ONCE, wanted, self._holding.room(self._held_elements())))

    @holds(lambda at, _: (at["self"].meter.name, at["block"].origin.describe(at["index"] - at["first"])))
    def _look_at(self, block: Block, patience: Patience | None) -> None:
        """Puts elements into their groups, until one fails, groups that were found would wait, or there is no patience left."""
        find, found = self._growing.get, self._found
        key_func, may_unpack = self._node.key_func, block.payload.has_tuples is not False
        index, end = self._next, self._reads.index
        first = end - len(self._rows)
        left = zip(range(index, end), self._seen[index - first :], self._rows[index - first :], strict=True)
        now_s, most = self._policy.clock.now_s, self._policy.rows_a_look
        soon_s, until_s = now_s() + _AT_ONCE_S, math.inf if patience is None else patience.until_s
        rows_a_look = most if patience is None else 1  # what waits waits for no more than one that takes long
        try:
            while index < end:
                for index, element, row in itertools.islice(left, rows_a_look):
                    key = key_func(*element) if may_unpack and type(element) is tuple else key_func(element)
                    group = find(key) if type(key) is int else None
                    if group is None:  # mostly there is one, and its key was looked at
                        group = self._group_of(key)
                    group.indices.append(index)
                    held = group.rows
                    held.append(row)
                    if len(held) == group.size:
                        found.append(self._filled(group, index + 1))
                index += 1
                if (now := now_s()) > (soon_s if found else until_s):
                    break
                rows_a_look = most if patience is None or now <= soon_s else 1
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            self._next = index
            origin = block.origin.describe(index - first)
            found.append(self._passed(as_element_error(error, stage=self._node.label, origin=origin)))
            index += 1
        self._next = index
        if index == end:
            self._block, self._rows, self._seen = None, [], []

    def _group_of(self, key: Any) -> Group:
        """Returns the group with the key that the user's function gave, perhaps a new one."""
        key = self._node.key_of(key)
        group = self._growing.get(key)
        if group is None:
            group = self._growing[key] = Group(key, self._node.size_of(key))
            self._groups.append(group)
        return group

    def _passed(self, error: HeadraceError) -> Failure:
        """Makes the failure of the next element, and goes on after it."""
        before = GroupCursor(self._position())
        self._next += 1
        return Failure(error, before, GroupCursor(self._position()))

    def _filled(self, group: Group, read: int) -> FullGroup:
        """Returns a group as it is full, after so many elements were read."""
        group.full_at, self._full, self._next_at_full = self._full, self._full + 1, read
        del self._growing[group.key]
        if len(self._groups) > 2 * len(self._growing) + 64:
            # New lists, because positions that are on their way have the old ones.
            self._groups = list(self._growing.values())
            oldest = min((other.indices[0] for other in self._groups), default=self._next)
            self._reads.forget_before(min(oldest, group.indices[0]))
        return FullGroup.of(group, self._kinds, read, self._groups, self._reads.runs)

    def _position(self) -> GroupsPosition:
        return GroupsPosition(self._next, self._full, self._groups, None, self._reads.runs)

    # ----------------------------------------------------------------- restoring

    def _restored(self) -> bool:
        """Reads again what was held; False where it is not there any more."""
        saved, self._saved = self._saved, None
        assert saved is not None  # the caller has looked
        holder: dict[int, Group] = {}
        for key, size, indices in saved["groups"]:
            self._growing[key] = group = Group(key, size)
            holder.update(dict.fromkeys(indices, group))
        self._groups = list(self._growing.values())
        self._full = saved["number"]
        current = saved["current"]
        opened = None
        if current is not None:
            opened = Group(current["key"], len(current["numbers"]))
            opened.full_at = self._full - 1
            holder.update(dict.fromkeys(current["numbers"], opened))
        self._lost = not self._read_again(saved["read"], holder)
        if opened is not None and current is not None and not self._lost:
            full = FullGroup.of(opened, self._kinds, self._next, self._groups, self._reads.runs)
            self._open_groups.append(self._opening.open(full, current["inner"]))
        return not self._lost

    def _read_again(self, count: int, holder: dict[int, Any]) -> bool:
        found = 0
        while self._next < count:
            item = self._read(self.inputs[0], min(count - self._next, _READ_AT_ONCE))
            if item is None:
                return False
            rows = item.payload.rows() if isinstance(item, Block) else []
            if isinstance(item, Failure) and self._next in holder:
                self._failed = self._failed or item.error
            self._reads.add(item)
            for index, row in enumerate(rows, self._next):
                if index in holder:
                    self._kinds |= {type(row)}
                    holder[index].add(index, row)
                    found += 1
            self._next = self._reads.index
        return found == len(holder)

    # -------------------------------------------------------------------- ending

    def stop(self) -> None:
        self._stopped = True
        for group in [*self._open_groups]:
            group.reader.stop()
        super().stop()

    def close(self) -> None:
        self._holding.release()
        close_all([*(group.reader.close for group in self._open_groups), super().close])


@lower.register
def _group_by_window(node: GroupByWindow, state: State | None, context: StageContext) -> Stage:
    # Elements that are held are read again.
    upstream = lower(node.input, input_state(state), context.replaying())
    holding = context.holding(node, GROUPS_REMEDY)
    return GroupWindowsStage(
        node,
        upstream,
        context.meter(node),
        state,
        GroupOpening(node, context),
        holding=holding,
        policy=context.policy.loops,
    )
