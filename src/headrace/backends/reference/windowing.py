"""The reference of operations that make datasets of runs and of groups of elements."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary, called
from headrace.blocks.cursor import State, input_state
from headrace.blocks.origin import grouped
from headrace.coordination.closing import close_all
from headrace.elements.ownership import read_only
from headrace.elements.structure import Element, nbytes_of
from headrace.errors import HeadraceError
from headrace.observe import frames
from headrace.plan.windowing import GroupByWindow, Window, WindowContents
from headrace.semantics.calls import call_on
from headrace.semantics.failures import inside_element
from headrace.semantics.held_bytes import Holding
from headrace.semantics.inner_plans import in_run
from headrace.semantics.run_context import RunContext
from headrace.semantics.window_contents import WindowRows
from headrace.semantics.windowing import GROUPS_REMEDY, group_lost, group_state, reduced_plan, window_element

__all__: list[str] = []


class WindowContentsStream:
    """Elements that are there already."""

    def __init__(self, node: WindowContents, state: State | None) -> None:
        self.elements = node.elements
        self.index = state["index"] if state else 0

    def next(self) -> Given:
        if self.index >= len(self.elements):
            raise StopIteration
        self.index += 1
        return read_only(self.elements.rows()[self.index - 1]), self.elements.origin(self.index - 1)

    def state(self) -> State:
        return {"index": self.index}

    def close(self) -> None: ...


class WindowStream(Unary):
    """Every ``shift`` elements a window begins; a failure takes the windows with it that would hold the element."""

    def __init__(self, node: Window, input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.node = node
        self.read: list[tuple[Given | HeadraceError, State]] = []  # from the next window's first element on

    def next(self) -> Given:
        node = self.node
        self.read_up_to(max(node.span, node.step))
        window = [item for item, _ in self.read[: node.span : node.stride]]
        if not window or (node.drop_remainder and len(window) < node.size):
            raise StopIteration
        del self.read[: node.step]
        members: list[Given] = []
        for item in window:
            if isinstance(item, HeadraceError):
                raise item
            members.append(item)
        held = WindowRows([element for element, _ in members], [origin for _, origin in members])
        origin = grouped(held.origins[0], held.origins[-1], len(held))
        return called(node.label, origin, lambda: window_element(node, held)), origin

    def read_up_to(self, count: int) -> None:
        while len(self.read) < count:
            position = self.input.state()
            try:
                item: Given | HeadraceError = self.input.next()
            except StopIteration:
                return
            except HeadraceError as error:
                item = error
            self.read.append((item, position))

    def state(self) -> State:
        return self.read[0][1] if self.read else self.input.state()


Member = tuple[int, State, Given]  # an element's index, its position in the input, and itself


class GroupWindowsStream:
    """Elements gathered by key; a full group's dataset comes at once, and those that are left at the end, by key."""

    def __init__(
        self,
        node: GroupByWindow,
        input_stream: Stream,
        open_group: Callable[[int, WindowRows, int, State | None], Stream],
        state: State | None,
        holding: Holding,
    ) -> None:
        self.holding = holding
        self.held_bytes = 0  # in the groups that are not full
        self.node = node
        self.input = input_stream
        self.open_group = open_group
        self.read = 0
        self.full = 0  # how many groups were full
        self.groups: dict[int, tuple[int, list[Member]]] = {}  # size and members by key
        self.current: tuple[int, list[Member]] | None = None
        self.stream: Stream | None = None  # of the current group's dataset
        self.lost = False
        self.saved = state

    def restore(self, saved: State) -> None:
        """Reads again what was held."""
        self.saved = None
        again: dict[int, Member] = {}
        failed: dict[int, HeadraceError] = {}
        while self.read < saved["read"]:
            position = self.input.state()
            self.read += 1
            try:
                again[self.read - 1] = (self.read - 1, position, self.input.next())
            except HeadraceError as error:
                failed[self.read - 1] = error
            except StopIteration:
                break
        current = saved["current"]
        try:
            self.groups = {key: (size, [again[held] for held in indices]) for key, size, indices in saved["groups"]}
            members = [again[held] for held in current["numbers"]] if current else []
        except KeyError as missing:
            self.lost = True
            raise failed.get(missing.args[0]) or group_lost(self.node.label) from None
        self.held_bytes = sum(nbytes_of(member[2][0]) for _, members in self.groups.values() for member in members)
        self.full = saved["number"]
        if current:
            self.open(current["key"], members, current["inner"])

    def next(self) -> Given:
        if self.saved is not None:
            self.restore(self.saved)
        while not self.lost:
            if self.current is None:
                self.fill_a_group()
            elif self.stream is None:
                self.open(*self.current, None)
            assert self.current is not None  # or the end has come
            if self.stream is None:
                continue
            origin = self.origin(self.current[1])
            try:
                element, inside = self.inner(self.stream, origin)
            except StopIteration:
                self.stream.close()
                self.stream = self.current = None
                continue
            except HeadraceError as error:
                raise inside_element(error, origin) from error.__cause__
            return element, inside if ":" in inside else f"{inside} of {origin}"
        raise StopIteration

    @frames.within(lambda at: at["origin"])
    def inner(self, stream: Stream, origin: str) -> Given:
        """Returns the next element of the group's dataset."""
        return stream.next()

    def fill_a_group(self) -> None:
        """Reads until a group is full; at the end takes the one with the smallest key."""
        while self.current is None:
            position = self.input.state()
            try:
                given = self.input.next()
            except StopIteration:
                if not self.groups:
                    raise
                key = min(self.groups)
                self.current = (key, self.groups.pop(key)[1])
                break
            except HeadraceError:
                self.read += 1
                raise
            self.read += 1
            key = called(self.node.label, given[1], functools.partial(self.key_of, given[0]))
            size, members = self.groups[key]
            members.append((self.read - 1, position, given))
            self.held_bytes += nbytes_of(given[0])
            if len(members) == size:
                del self.groups[key]
                self.current = (key, members)
                self.held_bytes -= sum(nbytes_of(member[2][0]) for member in members)
            self.hold()
        self.full += 1

    def hold(self) -> None:
        """Says how much the groups hold that are not full."""
        held = (member[2][0] for _, members in self.groups.values() for member in members)
        self.holding.hold(self.held_bytes, lambda: held, count=sum(len(members) for _, members in self.groups.values()))

    def key_of(self, element: Element) -> int:
        """Returns the element's key, and makes its group where there is none."""
        key = self.node.key_of(call_on(self.node.key_func, read_only(element)))
        if key not in self.groups:
            self.groups[key] = (self.node.size_of(key), [])
        return key

    def open(self, key: int, members: list[Member], inner: State | None) -> None:
        """Makes the dataset of a group."""
        self.current = None
        held = WindowRows([given[0] for _, _, given in members], [given[1] for _, _, given in members])
        open_it = functools.partial(self.open_group, key, held, self.full - 1, inner)
        self.stream = called(self.node.reduce_label, self.origin(members), open_it)
        self.current = (key, members)

    def origin(self, members: list[Member]) -> str:
        return grouped(members[0][2][1], members[-1][2][1], len(members))

    def state(self) -> State:
        if self.saved is not None:
            return self.saved
        held = [member for _, members in self.groups.values() for member in members]
        held += self.current[1] if self.current else []
        positions = {index: position for index, position, _ in held}
        groups = [(key, size, [member[0] for member in members]) for key, (size, members) in self.groups.items()]
        inner = self.stream.state() if self.stream else None
        current = self.current and (self.current[0], [member[0] for member in self.current[1]], inner)
        return group_state(
            self.read, self.full, groups, current, lambda index: positions.get(index) or self.input.state()
        )

    def close(self) -> None:
        self.holding.release()
        stream = [] if self.stream is None else [self.stream.close]
        close_all([*stream, self.input.close])


@stream_of.register
def _held(node: WindowContents, state: State | None, context: RunContext) -> Stream:
    return WindowContentsStream(node, state)


@stream_of.register
def _window(node: Window, state: State | None, context: RunContext) -> Stream:
    return WindowStream(node, stream_of(node.input, state, context))


@stream_of.register
def _group_by_window(node: GroupByWindow, state: State | None, context: RunContext) -> Stream:
    def open_group(key: int, held: WindowRows, index: int, saved: State | None) -> Stream:
        plan, inside = in_run(reduced_plan(node, key, held), node, index, context)
        return stream_of(plan, saved, inside)

    return GroupWindowsStream(
        node,
        stream_of(node.input, input_state(state), context),
        open_group,
        state,
        context.holding(node, GROUPS_REMEDY),
    )
