"""One run of a dataset, as its user sees it.

What always holds:
- The state counts what the caller received, and taking it costs the writing down of a few numbers: while elements are
  delivered only a cursor is kept.
- It closes itself at the end, and when it is dropped, whether by ``break``, by an exception, by the garbage
  collector or at the interpreter's exit. ``close`` may come at any time, and any number of times.
- An error of one element leaves it usable: the next call goes on with the next element.
- One thread at a time takes elements: another that asks meanwhile is refused, and nothing is lost by that. Its state may be taken
  at any time, by any thread; with ``executor="inline"``, between elements.
- Ctrl-C ends the run, wherever in ``next`` it comes, and the state is then that of what was delivered (``reader_position``).
"""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor
from headrace.blocks.payload import Payload
from headrace.elements.structure import Element
from headrace.engine import Run, SmallRun, is_inside_run
from headrace.engine.small_run import A_BLOCK
from headrace.errors import FailedPreconditionError, HeadraceError, InternalError
from headrace.iterator.chained import Chained
from headrace.iterator.element_iterator import ElementIterator
from headrace.iterator.figures import Figures
from headrace.iterator.forked import ForkedRun, is_left_to_parent
from headrace.iterator.joint_end import JointEnd, joint_end_of
from headrace.iterator.phases import BEGIN, END, ENDED, LOAD, LOSE, LOST, NEW, NEXT, RUNNING
from headrace.iterator.reader_position import ReaderPosition
from headrace.iterator.runs import new_run, pace_of, prepare_run, small_run
from headrace.iterator.saved_state import RunStart
from headrace.observe.iterators import ITERATORS
from headrace.observe.stalls import Stall
from headrace.physical.budget import Ahead
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.physical.stage import Item
from headrace.plan.node import Node
from headrace.plan.quiet import calls_in_turn, is_quiet

if TYPE_CHECKING:
    from headrace.iterator.runs import AnyRun
    from headrace.observe.stats import IteratorStats
    from headrace.physical.pace import Pace

__all__ = ["DatasetIterator"]


class DatasetIterator(Chained, ReaderPosition, ElementIterator):
    """Delivers the elements of one epoch; made by ``iter(dataset)``.

    One thread at a time may take elements from it.

    Example:
        >>> import headrace as hr
        >>> with iter(hr.Dataset.range(3)) as it:
        ...     first = next(it)
        ...     state = it.state_dict()
        >>> again = iter(hr.Dataset.range(3))
        >>> again.load_state_dict(state)
        >>> first, list(again)
        (0, [1, 2])
    """

    def __init__(
        self, plan: Node, *, counts: bool = True, feeds: int = 0, ends_alone: bool = False, policy: RunPolicy = USUAL
    ) -> None:
        """Begins an iterator, for ``iter(dataset)``.

        Args:
            plan: what runs.
            counts: False for a look at the elements that is no epoch.
            feeds: how many buffers it fills, which share the budget of bytes.
            ends_alone: whether its reader is a feed, which tells other ranks where it ends, if ranks end together.
            policy: what the run does where it is free to choose.
        """
        is_usual = policy is USUAL and not feeds and not ends_alone
        quiet = is_usual and is_quiet(plan)
        self._calls = is_usual and not quiet and calls_in_turn(plan) and is_inside_run()
        quiet = quiet or self._calls  # of what its functions do nobody can tell it either
        if not quiet:
            prepare_run(plan)
        super().__init__(plan, counts=counts, is_quiet=quiet)
        self._feeds = feeds
        self._policy = policy
        self._now_s = policy.clock.now_s
        self.is_fed = ends_alone
        self._joint = None if ends_alone or quiet else joint_end_of(plan)
        self._phase = NEW
        self._turning = threading.RLock()  # a garbage collection may close it in the very thread that does
        self._run: AnyRun | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None
        self._figures = Figures(self._now_s)
        self._pace: Pace | None = None  # of a run that makes elements block by block

    __reduce__ = ElementIterator.__reduce__  # a chain would write down its iterators, up to Python 3.13

    # ------------------------------------------------------------- delivering

    def _broke_off(self) -> None:
        # The engine itself failed, or Ctrl-C came: who handles it may hold this iterator for long.
        if self._is_inline:  # its one cursor had begun to move
            with self._turning:
                self._phase = NEXT[self._phase, LOSE]
        self.close()

    def blocks(self) -> Iterator[list[Element]]:
        """Yields the remaining elements, as many at a time as come at once: for callers that take all of them."""
        for first in self:
            yield [first, *self._rows]

    def _next_block(self) -> Iterator[Element]:
        self.refuse_own_functions()
        self._refuse_others()
        self._is_asked = True  # no call since it was looked at: no thread came between
        try:
            # Another thread may have asked just before.
            return self._rows if operator.length_hint(self._rows) else self._asked_block()
        finally:
            self._is_asked = False

    def refuse_own_functions(self) -> None:
        """Refuses to be used by a function of its own plan, which would wait for itself.

        Raises:
            FailedPreconditionError: it is.
        """
        if (run := self._run) is not None:
            run.refuse_own_functions()

    def _asked_block(self) -> Iterator[Element]:
        if self._phase in (ENDED, LOST):
            self._shut()  # where another thread closed it just when the run began
            raise StopIteration
        start = self._now_s()
        try:
            item = self._next_item() if self._joint is None else self._next_step(self._joint)
        except HeadraceError:
            self._end()  # no element's failure, those are items: nothing can go on from here
            raise
        if item is None or self._phase is not RUNNING:  # the end, or closed by another thread while this one waited
            self._has_ended = item is None and self._phase is RUNNING
            if self._is_inline and not self._has_ended:  # its one cursor is behind an element that nobody gets
                with self._turning:
                    self._phase = NEXT[self._phase, LOSE]
            self._figures.got_end(start)
            self._end()
            raise StopIteration
        return self._raised(item, start) if isinstance(item, Failure) else self._rows_of(item, start)

    def _next_item(self, limit: int | None = None) -> Item:
        self._note_before_it_moves()
        run = self._run
        if run is None:
            run = self._begun()
        elif run.is_spent:
            return None
        pace = self._pace
        return run.pull(limit or (A_BLOCK if pace is None else max(pace.size, run.made_elements)))

    def _next_step(self, joint: JointEnd) -> Item:
        """Returns the next element if all ranks have one, alone, so that no rank takes one that another cannot match."""
        kept = self._kept_position()
        try:
            item = self._next_item(1)
        except HeadraceError:
            joint.goes_on(has_step=False)
            raise
        if joint.goes_on(has_step=item is not None, own_steps=self.own_steps):
            return item
        self._take_back(kept)
        return None

    @property
    def own_steps(self) -> int | None:
        """After how many steps of this run a rank only gives what is filled in; None where it may have more."""
        return None if self._run is None else self._run.own_end.steps

    def _raised(self, failure: Failure, start: float) -> NoReturn:
        """Raises the error in place of an element, and goes on after it."""
        self._figures.got_error(start)
        # A copy, because the frames that made the error hold it, and its traceback will hold this iterator.
        error = failure.error.located(stage=None, origin=None)
        none: Iterator[Element] = iter(())
        self._note_earlier()
        # Ctrl-C comes after a call and nowhere between these lines: the state has the old position or the new one.
        self._delivered_before += self._block_length
        self._rows, self._block_length, self._cursor = none, 0, failure.after
        try:
            raise error
        finally:
            del error

    def _rows_of(self, block: Block, start: float) -> Iterator[Element]:
        """Returns the elements of a block, of which it is known from then on which were delivered."""
        rows = self._rows_in(block.payload)
        length, fresh = len(rows), iter(rows)
        if not length:
            raise InternalError("a block has no elements")
        waited_s = self._figures.got(start, length)
        if self._pace is not None:
            self._pace.observe(length, waited_s, block.payload.nbytes)
        self._note_earlier()
        self._delivered_before += self._block_length  # no call from here on, as above
        self._rows, self._block_length, self._cursor = fresh, length, block.cursor
        return fresh

    @staticmethod
    def _rows_in(payload: Payload) -> Sequence[Element]:
        """Returns the elements of a block as they are given out."""
        return payload.rows()

    def _begun(self) -> AnyRun:
        """Begins the run, where something is asked for."""
        is_left_to_parent(self)
        ITERATORS.begins(self)
        small = small_run(self._built, calls=self._calls) if self._is_quiet else None
        self._run = run = self._new_run() if small is None else small
        if small is None:
            self._finalizer = weakref.finalize(self, run.drop)
            self._finalizer.atexit = False  # the engine closes runs at the interpreter's exit
        with self._turning:
            self._phase = NEXT[self._phase, BEGIN]
        if small is not None:
            return small
        self._pace = pace = pace_of(run, self._built, self._policy)
        run.open(self._start.position)
        pace.begin_with(run.first_elements)
        return run

    def _new_run(self) -> AnyRun:
        most = None if self._joint is None else 1
        return new_run(self._built, self._start, self._options, feeds=self._feeds, policy=self._policy, most=most)

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """Returns where this iterator stands, as plain data that JSON can hold.

        It counts what was delivered, not what was read ahead, and belongs to this dataset: loaded into an iterator
        of an equal one, in whatever process, with whatever executor and number of workers, it continues here.

        Raises:
            FailedPreconditionError: Ctrl-C or ``close`` came while ``executor="inline"`` made an element, or it makes one now.
        """
        if self._phase is LOST:
            message = (
                "an element was interrupted, and executor='inline' has no position before it: use a state saved earlier"
            )
            raise FailedPreconditionError(message)
        cursor = self._cursor
        self._refuse_while_moving(cursor)
        state = self.bookmark()()
        self._refuse_while_moving(cursor)
        return state

    def _refuse_while_moving(self, cursor: Cursor | None) -> None:
        if self._is_inline and (self._is_asked or self._cursor is not cursor):
            raise FailedPreconditionError(
                "executor='inline' is making an element and has no position before it: take the state between elements, or use "
                "executor='thread', where any moment will do"
            )

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continues where the iterator that gave the state stood.

        Args:
            state: what ``state_dict`` returned, also after a round trip through JSON.
            allow: what of the plan may have changed on purpose. ``"weights"``: other weights of ``sample_from_datasets``, from the next draw on.
                ``"paths"``: files of the same names below another root. ``"batch_size"``: batches of another size from here on; where
                they are dealt to ranks, ``step`` counts from then on what was dealt in batches of the new size. ``"grown"``: sources
                that have more elements or files at their end, as if they had had them from the start.

        Raises:
            InvalidArgumentError: the state is of another plan (the first node that differs is named, and the word that would allow
                it), of another version, or damaged; or what changed stands where an operation holds elements that it would
                have made otherwise. The iterator is then as it was.
            FailedPreconditionError: another thread is taking an element, or a function of the dataset's asks.
        """
        allowed = frozenset[str]()
        if allow:
            from headrace.plan.changes import checked_words

            allowed = checked_words(allow)
        self.refuse_own_functions()
        self._refuse_others()
        start = RunStart.saved(state, self._built, self._options, self._identity, allowed)
        self._shut()
        self._run = None
        self._stand_at(start)
        self._go_on()
        self._pace = None
        if self._joint is not None:
            self._joint.begin()
        self._figures.go_on()
        with self._turning:
            self._phase = NEXT[self._phase, LOAD]
        start.continue_after_epoch()

    # ----------------------------------------------------------------- looking

    def begin_window(self) -> None:
        """Lets the window of the stages' figures in ``stats()`` begin now, without what a start takes; not of a process beside this one."""
        if isinstance(self._run, Run):
            self._run.begin_window()

    def stats(self) -> IteratorStats:
        """Returns what was delivered so far, how long the caller waited for it, and what each stage did; printed, it is a table.

        Totals count from the start; rates, shares and times of an element are those of the last ten seconds.

        Neighbouring maps and filters that run in one thread are one loop: what each let through is counted exactly, and the time
        of the loop is shared out among them as it was measured for some of their elements.
        """
        return self._figures.stats(self._delivered_before + self._delivered, self._run)

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""
        return self._phase is RUNNING

    @property
    def waiting_s(self) -> float:
        """For how long its caller has waited for what comes next; 0 where it does not wait."""
        return 0.0 if self._run is None else self._run.waiting_s

    def ahead(self) -> Ahead:
        """Returns where a buffer that it fills says what it holds, and learns how much that may be; once it has begun."""
        assert self._run is not None  # something was asked for
        return self._run.ahead()

    def stalls(self) -> tuple[Stall, ...]:
        """Returns what holds the pipeline at this moment, the longest first; for another thread while this one waits in ``next``.

        It costs a running pipeline nothing, so it may be asked at any time. Empty where no function runs.

        Example:
            >>> import threading
            >>> import headrace as hr
            >>> asked, answer = threading.Event(), threading.Event()
            >>> def slow(x):
            ...     asked.set()
            ...     answer.wait()
            ...     return x
            >>> iterator = iter(hr.Dataset.range(3).map(slow))
            >>> thread = threading.Thread(target=next, args=(iterator,))
            >>> thread.start()
            >>> asked.wait()
            True
            >>> [stall.origin for stall in iterator.stalls()]
            ['element 0']
            >>> answer.set()
            >>> thread.join()
            >>> iterator.close()
        """
        return self._run.stalls() if self._run is not None else ()

    # ------------------------------------------------------------------ ending

    def close(self) -> None:
        """Ends the run: every thread is joined, every file closed. The state stays as it was."""
        with self._turning:
            self._phase = NEXT[self._phase, END]  # before what is at hand is dropped: another thread gets no more
        self._drop_rows()
        self._end()

    def leave_to_parent(self) -> None:
        """Leaves its run to the process that this one is a copy of."""
        self._turning = threading.RLock()  # which a thread of the other process may have held
        self._is_asked = False  # as above
        self._drop_rows()
        if self._finalizer is not None:
            self._finalizer.detach()
        if self._run is not None:
            self._run = ForkedRun(self._run)

    def _end(self) -> None:
        with self._turning:
            self._phase = NEXT[self._phase, END]
        self._shut()
        self._figures.end()

    def _shut(self) -> None:
        run = self._run
        if isinstance(run, SmallRun):
            is_first = run.ends()
        else:
            if run is not None:
                run.close(is_read=self._has_ended)
            # Only now: Ctrl-C may have come before.
            is_first = self._finalizer is not None and self._finalizer.detach() is not None
        if is_first:
            ITERATORS.ends(self)
