"""The stage of window: runs of consecutive elements, each as a dataset.

The state is the place of the first element of the next window, and nothing else: what the window holds is read again from
there. A failure takes every window with it that would hold the element, as in tf.data; between windows it is passed over.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Sequence

import numpy as np

from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.observe.meter import Meter
from headrace.physical.block import Block, Failure, Payload, Rows, join
from headrace.physical.cursor import Cursor, State
from headrace.physical.failing import located
from headrace.physical.holding import HeldBlock, by_leaf, protected
from headrace.physical.origin import Numbers, Origin
from headrace.physical.reading import GroupOrigin, ReadOrigin, Reads
from headrace.physical.stage import Item, Stage
from headrace.plan.windowing import Held, HeldElements, Window
from headrace.structure import Element, unflatten

__all__ = ["PlacesCursor", "WindowStage", "window_element"]


def window_element(node: Window, elements: HeldElements) -> Element:
    """The datasets of one window, in the structure of its elements.

    Raises:
        InvalidArgumentError: the elements differ in structure.
    """
    treedef, leaves = by_leaf(elements)
    return unflatten(treedef, [node.wrap(Held(elements=leaf, name=node.name)) for leaf in leaves])


@dataclasses.dataclass(frozen=True, slots=True)
class PlacesCursor:
    """In a block for each of whose elements the place is known, and that behind the last one."""

    places: Sequence[Cursor]
    index: int = 0

    def advance(self, count: int) -> PlacesCursor:
        return PlacesCursor(self.places, self.index + count)

    def state(self) -> State:
        return self.places[self.index].state()


class _WindowRows(Rows):
    """Windows, which weigh what they hold."""

    __slots__ = ("_held_nbytes",)

    def __init__(self, elements: list[Element], held_nbytes: int) -> None:
        super().__init__(elements)
        self._held_nbytes = held_nbytes

    @property
    def nbytes(self) -> int:
        return self._held_nbytes


class WindowStage(Stage):
    """Runs of consecutive elements, each as a dataset."""

    def __init__(self, node: Window, input_stage: Stage, meter: Meter) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._node = node
        self._reads = Reads(input_stage.cursor)
        self._first = 0  # the number of the element with which the next window begins
        self._payloads: list[Payload] = []  # the elements from there on, without those that failed
        self._failures: dict[int, HeadraceError] = {}
        self._input_ended = False
        self._ready: list[Block | Failure] = []  # reversed: the next one is last

    def _pull(self, limit: int) -> Item:
        if not self._ready:
            self._ready = self._windows(limit)[::-1]
        return self._ready.pop() if self._ready else None

    def _windows(self, limit: int) -> list[Block | Failure]:
        """Up to ``limit`` windows, in pieces where one of them failed."""
        step = self._node.step
        self._read_up_to(self._first + max((limit - 1) * step + self._node.span, limit * step))
        payload = join(self._payloads) if self._payloads else Rows([])
        begins = range(self._first, self._first + step * min(limit, self._begun()), step)
        run = _Run(payload.nbytes)
        for begin in begins:
            window = self._window(begin, payload)
            place, after = self._reads.place(begin), self._reads.place(min(begin + step, self._reads.number))
            if isinstance(window, HeadraceError):
                run.fail(Failure(window, place, after))
            else:
                run.add(*window, place, after)
        self._forget_before(begins.stop if begins else self._first, payload)
        return run.closed()

    def _read_up_to(self, end: int) -> None:
        while self._reads.number < end and not self._input_ended:
            item = self._read(self.inputs[0], end - self._reads.number)
            if item is None:
                self._input_ended = True
                return
            number = self._reads.add(item)
            if isinstance(item, Failure):
                self._failures[number] = item.error
            else:
                self._payloads.append(protected(item.payload))

    def _begun(self) -> int:
        """How many windows begin in what was read; if the rest is dropped, how many are whole."""
        node, have = self._node, self._reads.number - self._first
        if node.drop_remainder:
            return max(0, (have - node.span) // node.step + 1)
        return max(0, -(-have // node.step))

    def _window(self, begin: int, payload: Payload) -> tuple[Element, ReadOrigin, int] | HeadraceError:
        """A window, where its elements came from, and how many; the first failure among them, where there is one."""
        node = self._node
        numbers = range(begin, min(begin + node.span, self._reads.number), node.stride)
        failure = next((self._failures[number] for number in numbers if number in self._failures), None)
        if failure is not None:
            return failure
        origin = self._reads.origins(numbers)
        held = HeldBlock(payload.subset(self._indices(numbers)), origin)
        try:
            return window_element(node, held), origin, len(numbers)
        except InvalidArgumentError as error:
            return located(error, stage=node.label, origin=GroupOrigin([(origin, len(numbers))]).describe(0))

    def _indices(self, numbers: range) -> Numbers:
        """Where in the payload the elements with these numbers are."""
        if not self._failures:
            return range(numbers.start - self._first, numbers.stop - self._first, numbers.step)
        failed = sorted(self._failures)
        return np.array([number - self._first - bisect.bisect(failed, number) for number in numbers], dtype=np.int64)

    def _forget_before(self, number: int, payload: Payload) -> None:
        """Drops what no window needs any more."""
        number = min(number, self._reads.number)
        gone = number - self._first - sum(failed < number for failed in self._failures)
        self._payloads = [payload.subset(range(gone, len(payload)))] if gone < len(payload) else []
        self._failures = {failed: error for failed, error in self._failures.items() if failed >= number}
        self._reads.forget_before(number)
        self._first = number


class _Run:
    """Collects windows into blocks, and failures between them."""

    def __init__(self, nbytes: int) -> None:
        self._items: list[Block | Failure] = []
        self._nbytes = nbytes
        self._begin()

    def _begin(self) -> None:
        self._rows: list[Element] = []
        self._groups: list[tuple[Origin, int]] = []
        self._places: list[Cursor] = []

    def add(self, window: Element, origin: Origin, count: int, place: Cursor, after: Cursor) -> None:
        self._rows.append(window)
        self._groups.append((origin, count))
        self._places[-1:] = [place, after]

    def fail(self, failure: Failure) -> None:
        self.closed().append(failure)

    def closed(self) -> list[Block | Failure]:
        """What was collected."""
        if self._rows:
            rows = _WindowRows(self._rows, self._nbytes)
            self._items.append(Block(rows, PlacesCursor(self._places), GroupOrigin(self._groups)))
            self._begin()
        return self._items
