"""The reference of a plan that is dealt to ranks."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Sequence

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary
from headrace.blocks.cursor import State, input_state
from headrace.coordination.closing import close_all
from headrace.errors import HeadraceError
from headrace.plan.dealing import DealtNumbers, DealtStreams, Filling, Share, SharedFiles
from headrace.plan.dealing_places import PlacesOfStream
from headrace.semantics.dealing import missing, replayed_from, saved_streams
from headrace.semantics.run_context import OwnEnd, RunContext

__all__: list[str] = []


class ShareStream(Unary):
    """The places of a stream; a failure has one."""

    def __init__(self, places: PlacesOfStream, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.places = places
        self.seen = state["seen"] if state else 0

    def next(self) -> Given:
        while True:
            is_mine = self.places.at(self.places.count(self.seen)) == self.seen
            try:
                given = self.input.next()
            except HeadraceError:
                self.seen += 1
                if is_mine:
                    raise
            else:
                self.seen += 1
                if is_mine:
                    return given

    def state(self) -> State:
        return {"seen": self.seen, "input": self.input.state()}


class FillingStream(Unary):
    """The same elements, and after them the last one again and again."""

    def __init__(self, node: Filling, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.tells = node.tells
        self.before: State | None = None  # the position before the last element
        self.last: Given | None = None
        self.passed = 0
        self.is_real = True  # of what was given last
        if state is None:
            return
        for _ in range((state["last"] is not None) + state["passed"]):
            with contextlib.suppress(HeadraceError):
                self.last = self.input.next()
        self.before, self.passed = state["last"], state["passed"]

    def next(self) -> Given:
        before = self.input.state()
        try:
            self.last = self.input.next()
        except StopIteration:
            if self.last is None:
                raise
            self.is_real = False
        except HeadraceError:
            self.passed += 1
            raise
        else:
            self.before, self.passed = before, 0
        element, origin = self.last
        return ((element, self.is_real) if self.tells else element), origin

    def state(self) -> State:
        return {"last": self.before, "passed": self.passed}


class BatchByBatch(abc.ABC):
    """Gives a rank's places of a global batch, of which all is read before any is given; a position is one between two of them."""

    def __init__(self) -> None:
        self.ready: list[Given | HeadraceError] = []
        self.position = self.here()

    @abc.abstractmethod
    def here(self) -> State:
        """Returns the position behind what was read."""

    @abc.abstractmethod
    def next_batch(self) -> list[Given | HeadraceError]:
        """Reads the next global batch, and returns what is the rank's own of it; nothing at the end."""

    def next(self) -> Given:
        if not self.ready:
            self.ready = self.next_batch()
        if not self.ready:
            raise StopIteration
        given = self.ready.pop(0)
        if not self.ready:
            self.position = self.here()
        if isinstance(given, HeadraceError):
            raise given
        return given

    def state(self) -> State:
        return self.position


class DealtNumbersStream(BatchByBatch):
    """A rank's places of what every rank reads whole."""

    def __init__(self, node: DealtNumbers, input_stream: Stream, state: State | None) -> None:
        self.input = input_stream
        self.node = node
        self.places = state["places"] if state else 0
        super().__init__()

    def here(self) -> State:
        return {"places": self.places, "input": self.input.state()}

    def next_batch(self) -> list[Given | HeadraceError]:
        node = self.node
        if node.steps is not None and self.places >= node.steps * node.batch:
            return []
        places: list[Given | HeadraceError] = []
        some_are_real = False
        while len(places) < node.batch:
            try:
                places.append(self.input.next())
            except StopIteration:
                break
            except HeadraceError as error:
                places.append(error)
            some_are_real |= not isinstance(self.input, FillingStream) or self.input.is_real
        # Where all failed, there is no element to fill a batch with: its rest fails on all ranks alike.
        if node.fills and places:
            places += places[-1:] * (node.batch - len(places))
        if node.drops and len(places) < node.batch:
            return []
        if node.steps is None and not some_are_real:
            return []
        self.places += node.batch  # also of a last one that is uneven
        return places[node.rank :: node.world_size]

    def close(self) -> None:
        self.input.close()


def states_of(node: DealtStreams, inputs: Sequence[Stream]) -> dict[str, State]:
    """Returns where each stream of a rank is."""
    return {str(number): stream.state() for number, stream in zip(node.owned, inputs, strict=True)}


class FilledStreamsStream(BatchByBatch):
    """One element of each stream in turn, of streams that are filled; it ends where a global batch would hold nothing else."""

    def __init__(self, node: DealtStreams, inputs: list[FillingStream], state: State | None, own_end: OwnEnd) -> None:
        self.node = node
        self.inputs = inputs
        self.rounds = self.begun = state["rounds"] if state else 0
        self.own_end = own_end
        super().__init__()

    def here(self) -> State:
        return {"rounds": self.rounds, "streams": states_of(self.node, self.inputs)}

    def next_batch(self) -> list[Given | HeadraceError]:
        node = self.node
        if node.steps is not None and self.rounds >= node.steps * node.each:
            return []
        places: list[Given | HeadraceError | None] = []
        some_are_real = False
        for _ in range(node.each):
            for number, stream in zip(node.owned, self.inputs, strict=True):
                try:
                    places.append(stream.next())
                except StopIteration:  # it has no element that could be read
                    places.append(None if node.lends else missing(node, number, self.rounds))
                except HeadraceError as error:
                    places.append(error)
                    some_are_real = True
                else:
                    some_are_real |= stream.is_real
        if not some_are_real and (node.steps is None or node.lends):
            if not node.endless:
                return []
            if self.own_end.steps is None:
                self.own_end.steps = (self.rounds - self.begun) // node.each
        self.rounds += node.each
        return lent(places)

    def close(self) -> None:
        close_all([stream.close for stream in self.inputs])


def lent(places: list[Given | HeadraceError | None]) -> list[Given | HeadraceError]:
    """Puts another's element, as one that is not real, where a stream has none; a failure where all the others failed."""
    there = [given for given in places if given is not None]
    if len(there) == len(places):
        return there
    instead = next((given for given in there if not isinstance(given, HeadraceError)), there[0])
    if not isinstance(instead, HeadraceError):
        (element, _), origin = instead
        instead = (element, False), origin
    return [instead if given is None else given for given in places]


class DealtStreamsStream:
    """One element of each stream in turn."""

    def __init__(self, node: DealtStreams, inputs: list[Stream], state: State | None) -> None:
        self.node = node
        self.inputs = inputs
        self.rounds = state["rounds"] if state else 0
        self.turn = state.get("turn", 0) if state else 0
        self.ended = False

    def next(self) -> Given:
        node = self.node
        if self.ended or (node.steps is not None and self.rounds >= node.steps * node.each):
            raise StopIteration
        try:
            given = self.inputs[self.turn].next()
        except StopIteration:
            error = missing(node, node.owned[self.turn], self.rounds)
            if error is None:
                self.ended = True
                raise
            self.go_on()
            raise error from None
        except HeadraceError:
            self.go_on()
            raise
        self.go_on()
        return given

    def go_on(self) -> None:
        self.turn += 1
        if self.turn == len(self.inputs):
            self.rounds, self.turn = self.rounds + 1, 0

    def state(self) -> State:
        state: State = {"rounds": self.rounds, "streams": states_of(self.node, self.inputs)}
        return {**state, "turn": self.turn} if self.turn else state

    def close(self) -> None:
        close_all([stream.close for stream in self.inputs])


@stream_of.register
def _filling(node: Filling, state: State | None, context: RunContext) -> Stream:
    return FillingStream(node, stream_of(node.input, state["last"] if state else None, context), state)


@stream_of.register
def _share(node: Share, state: State | None, context: RunContext) -> Stream:
    assert context.stream is not None  # only streams have a part
    upstream = stream_of(node.input, input_state(state), context.of_all_streams())
    return ShareStream(node.places_of(context.stream), upstream, state)


@stream_of.register
def _shared_files(node: SharedFiles, state: State | None, context: RunContext) -> Stream:
    assert context.stream is not None  # only streams have a part of the files
    return stream_of(node.of_stream(context.stream), state, context)


@stream_of.register
def _dealt_numbers(node: DealtNumbers, state: State | None, context: RunContext) -> Stream:
    return DealtNumbersStream(node, stream_of(node.input, input_state(state), context), state)


@stream_of.register
def _dealt_streams(node: DealtStreams, state: State | None, context: RunContext) -> Stream:
    saved = saved_streams(node, state)
    inputs = []
    for number in node.owned:
        begin, count = replayed_from(saved[number], node.each)
        stream = stream_of(node.input, begin, context.for_stream(number))
        inputs.append(stream)
        for _ in range(count):
            with contextlib.suppress(HeadraceError, StopIteration):  # as when it was delivered
                stream.next()
    filled = [stream for stream in inputs if isinstance(stream, FillingStream)]
    return (
        FilledStreamsStream(node, filled, state, context.own_end)
        if node.fills
        else DealtStreamsStream(node, inputs, state)
    )
