"""What a plan node becomes when it runs.

A stage gives blocks when it is asked: ``pull(limit)`` returns a block of 1 to ``limit`` elements, a ``Failure``
in place of one element, or None at the end. It asks its inputs in the same way.

House rules.
- One thread at a time pulls a stage: its driver. Only ``stop`` may come from another.
- A failure moves the stage on: no element fails for ever, and the next pull goes on after it.
- After the end, every pull is the end.
- ``cursor`` is always the position before the element that the next pull gives first.
- ``stop`` only ends waits, so that a driver inside ``pull`` comes out; ``close`` then gives back what is held.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Payload
from headrace.coordination.closing import close_all
from headrace.observe.frames import holds, since
from headrace.observe.meter import Meter
from headrace.observe.recorder import Recorder

__all__ = ["Item", "Stage", "pulled_apart"]

# To look what the processor takes of a pull costs as much as ten looks at the clock.
_CPU_EVERY_S: Final = 0.1

Item = Block | Failure | None


class Stage:
    """The base of all stages."""

    # True where a pull only moves indices, so that a large limit costs nothing.
    by_index = False
    # True where what it gives is numbers until somebody looks: to read some thousand and drop most costs little.
    is_numbers = False
    # It gives multiples of this many elements, also where fewer are asked for.
    granularity = 1
    # False where workers do what it does, and count it.
    works_in_pull = True
    # False where it only hands on what another stage gives, which counts it and knows how long it took.
    times_pulls = True
    # True where it is a part of the operation whose other part reads it, and counts what comes out.
    is_first_part = False
    # Of such a part: how long its latest pull had a processor for what its thread does itself, with workers or without.
    part_cpu_s = 0.0
    # How many elements to ask for first, when nobody has measured yet what one costs.
    first_elements = 1
    # How many elements it holds ready: asking for this many costs neither work nor memory.
    ready_elements = 0
    # How many elements it has made and not given yet: a block of these comes at once.
    made_elements = 0
    # True where its reader sets it, as it can do with elements that are made when somebody looks (``blocks.unmade``).
    may_wait = False
    # True where its reader sets it, as it puts short arrays together, takes them joined (``blocks.ragged_rows``), and hands none of them on.
    may_join = False
    # True where its reader sets it, as it stacks all elements that it gets: columns cost it nothing.
    is_stacked = False
    # How many elements there are in all, where it gives any of them by its number, wherever it stands, and none of them fails.
    numbered: int | None = None

    def __init__(self, meter: Meter, inputs: Sequence[Stage], cursor: Cursor) -> None:
        self.meter = meter
        self.inputs = inputs
        # The position before the next element, as that before the latest block, and how many elements that had: in a plan
        # of thousands of operations few are asked for their positions, and each asks all that it reads.
        self._before: tuple[Cursor, int] = (cursor, 0)
        # What comes out of one operation is counted once, also where one of its stages reads the other.
        self._counts_elements = not (
            self.is_first_part or any(stage.meter is meter and not stage.is_first_part for stage in inputs)
        )
        self._inside_s = self._part_s = (
            0.0  # in the latest pull, in its inputs; of that, in a part of its own operation
        )
        self._span_s = 0.0
        self._pull_end_s = 0.0  # when the latest pull was over
        self._wait_s = 0.0  # in the latest pull, for workers or a buffer
        self._cpu: _CpuLook | None = None  # while a pull is looked at
        self._surplus: Block | None = None  # of a block that was longer than was asked for

    @holds(lambda at, _: (at["self"].meter.name, None))
    @since("start")
    def pull(self, limit: int) -> Item:
        """Returns the next block of at most ``limit`` elements, a failure, or None at the end."""
        self._inside_s = self._part_s = self._wait_s = 0.0
        meter = self.meter
        start = time.perf_counter()
        self._cpu = _CpuLook() if start >= meter.cpu_due_s else None
        item: Item = self._surplus
        if item is None:
            item = self._pull(limit)
        self._surplus = None
        elements, before = 0, self._before
        if isinstance(item, Block):
            elements = len(item)
            most = limit if self.granularity == 1 else max(limit // self.granularity, 1) * self.granularity
            if elements > most:
                item, self._surplus = item.slice(0, most), item.slice(most, elements)
                elements = most
            before = (item.cursor, elements)
        elif item is not None:
            before = (item.after, 0)
        self._pull_end_s = end_s = time.perf_counter()
        self._span_s = span_s = end_s - start
        counted, served = (elements, elements or int(item is not None)) if self._counts_elements else (0, 0)
        if not self.works_in_pull:
            served = 0
        inside_s, wait_s = self._inside_s, self._wait_s
        busy_s = span_s - inside_s - wait_s
        meter.add((counted, served, busy_s if busy_s > 0 else 0.0, wait_s, inside_s - self._part_s, 0.0))
        if Recorder.active is not None:
            Recorder.active.did(meter.name, start, end_s, elements)
        if self._cpu is not None:
            self._count_cpu(*self._cpu.looked(span_s - wait_s))
            meter.cpu_due_s = start + _CPU_EVERY_S
        self._before = before
        return item

    @property
    def cursor(self) -> Cursor:
        """The position before the element that the next pull gives first."""
        cursor, delivered = self._before
        return cursor.advance(delivered) if delivered else cursor

    @cursor.setter
    def cursor(self, position: Cursor) -> None:
        self._before = (position, 0)

    def at(self, numbers: Indices) -> tuple[Payload, Origin]:
        """Returns the elements with these numbers, which it gives where it is ``numbered``."""
        self.meter.count(elements=len(numbers))
        return self._at(numbers)

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        raise NotImplementedError

    def _count_cpu(self, cpu_s: float, of_s: float) -> None:
        """Counts the processor's part of a pull."""
        self.meter.count_cpu(cpu_s, of_s)

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number; where it is ``numbered``."""
        raise NotImplementedError

    @property
    def own_s(self) -> float:
        """How long the latest pull took, without what its inputs took."""
        return self._span_s - self._inside_s

    @property
    def inside_s(self) -> float:
        """How long its inputs took in the latest pull."""
        return self._inside_s

    @property
    def holds_elements(self) -> bool:
        """Whether it has read what it has not given yet, so that its input is ahead of it."""
        return self._surplus is not None or self._holds_elements()

    def _holds_elements(self) -> bool:
        return False

    @property
    def is_spent(self) -> bool:
        """Whether it is known that nothing comes any more but the end; False says nothing."""
        return self._surplus is None and self._is_spent()

    def _is_spent(self) -> bool:
        return False

    @property
    def _has_spent_source(self) -> bool:
        """The same of its input, where that is a source: who asks each other in a chain of thousands needs too much of C's stack."""
        source = self.inputs[0]
        return not source.inputs and source.is_spent

    def _pull(self, limit: int) -> Item:
        """Returns the same, or a longer block where that is easier: what is more than ``limit`` waits for the next pull."""
        raise NotImplementedError

    def _weak_read(self) -> Callable[[Stage, int], Item]:
        """Returns ``_read`` for a part of this stage, which must not hold it: a run that was left would stay, with what it has ready."""
        method = weakref.WeakMethod(self._read)

        def read(source: Stage, limit: int) -> Item:
            bound = method()
            assert bound is not None  # it is this stage that asks its part
            return bound(source, limit)

        return read

    def _read(self, source: Stage, limit: int) -> Item:
        """Pulls an input, and counts its time as not this stage's own."""
        cpu = self._cpu
        if cpu is None and source.times_pulls:
            item = source.pull(limit)
            seconds = source._span_s
        else:
            start_cpu_s, start = 0.0 if cpu is None else time.thread_time(), time.perf_counter()
            item = source.pull(limit)
            seconds = time.perf_counter() - start
            if cpu is not None:
                cpu.leave_out(time.thread_time() - start_cpu_s, seconds)
        self._inside_s += seconds
        if source.meter is self.meter:  # which has counted itself what it waited for
            self._part_s += seconds
        return item

    def waited(self, seconds: float) -> None:
        """Counts a wait of the thread that pulls it, which is not this stage's own work either."""
        self._wait_s += seconds

    @property
    def reads_no_more(self) -> bool:
        """Whether all that it reads has come to its end, so that only what is read already is still to be given; False says nothing."""
        return bool(self.inputs) and all(stage.reads_no_more for stage in self.inputs)

    def read_ahead(self) -> bool:
        """Has workers begin with what will be asked for, or go on with it a little; returns whether there are any. Its driver calls."""
        begun = [stage.read_ahead() for stage in self.inputs]  # all of them
        return any(begun)

    def threads(self) -> list[threading.Thread]:
        """Returns the threads of their own that this stage and those upstream have."""
        return [thread for stage in self.inputs for thread in stage.threads()]

    def stop(self) -> None:
        """Ends every wait in this stage and upstream; safe from any thread."""
        for stage in self.inputs:
            stage.stop()

    def close(self) -> None:
        """Gives back all that this stage and those upstream hold; no driver is inside any more."""
        close_all([stage.close for stage in self.inputs])


class _CpuLook:
    """How long the processor takes for one pull."""

    __slots__ = ("_left_out_s", "_start_s")

    def __init__(self) -> None:
        self._start_s = time.thread_time()
        self._left_out_s = 0.0

    def leave_out(self, cpu_s: float, seconds: float) -> None:
        """Takes out what inputs took: of the processor, and of the time."""
        self._start_s += cpu_s
        self._left_out_s += seconds

    def looked(self, span_s: float) -> tuple[float, float]:
        """Returns what the processor took, and how long that took in all."""
        return max(0.0, time.thread_time() - self._start_s), max(0.0, span_s - self._left_out_s)


def pulled_apart(stage: Stage, limit: int) -> Iterator[Item]:
    """Yields one pull, in a generator: when it is over, its frame no longer leads back to the caller's.

    A failed element keeps the frames in which it failed. If those led to the caller's, an iterator that an error left, or the reader that makes
    elements ahead for it, would live, with its threads and files, until the garbage collector came by. So would what the stages have, if
    this frame had them.
    """
    items = [stage.pull(limit)]
    del stage
    yield items.pop()
