"""One run of a dataset, as its user sees it.

What always holds:
- The state counts what the caller received, whatever was read ahead. Taking it costs the writing down of a few
  numbers: while elements are delivered only a cursor is kept.
- It closes itself at the end, and when it is dropped, whether by ``break``, by an exception, by the garbage
  collector or at the interpreter's exit. ``close`` may come at any time, and any number of times.
- An error of one element leaves it usable: the next call goes on with the next element.
- Ctrl-C ends the run, wherever in ``next`` it comes, and the state is then that of what was delivered. CPython looks for a
  signal where a function of Python's begins, after a call of one of C's, and where a loop goes back; so a position changes
  in lines that have none of these.
"""

from __future__ import annotations

import functools
import operator
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, SavedCursor
from headrace.elements.structure import Element
from headrace.engine import Run
from headrace.errors import FailedPreconditionError, HeadraceError, InternalError, OutOfRangeError
from headrace.iterator.forked import ForkedRun, is_left_to_parent
from headrace.iterator.joint_end import JointEnd, joint_end_of
from headrace.iterator.phases import BEGIN, END, ENDED, LOAD, LOSE, LOST, NEW, NEXT, RUNNING
from headrace.iterator.saved_state import Earlier, RunStart
from headrace.iterator.steps_back import StepsBack
from headrace.observe.iterators import ITERATORS
from headrace.observe.stalls import Stall
from headrace.observe.stats import IteratorStats
from headrace.observe.steps import StepMeter
from headrace.physical.budget import Ahead
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.physical.stage import Item
from headrace.plan.buffering import options_of
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.backends.subprocess import RemoteRun
    from headrace.plan.fingerprint import Fingerprint

__all__ = ["DatasetIterator"]


def _refused(error: HeadraceError) -> dict[str, Any]:
    raise error.located(stage=None, origin=None) from error.__cause__


class DatasetIterator:
    """Delivers the elements of one epoch; made by ``iter(dataset)``.

    One thread at a time may use it.

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
        self._built = plan
        self._options = options_of(plan)
        self._feeds = feeds
        self._policy = policy
        self._now_s = policy.clock.now_s
        self._is_beside = self._options.executor == "subprocess"
        if self._is_beside:
            from headrace.backends.subprocess import prepare  # what few programs use

            prepare(plan)
        self._start = RunStart.first(plan, self._options, counts=counts)
        self.is_fed = ends_alone
        self._joint = None if ends_alone else joint_end_of(plan)
        self._fingerprint: Fingerprint | None = None
        self._phase = NEW
        self._turning = threading.RLock()  # a garbage collection may close it in the very thread that does
        self._run: Run | RemoteRun | ForkedRun | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None
        self._began_s = self._now_s()
        self._ended_s: float | None = None
        self._wait_s = 0.0
        self._step = StepMeter(self._now_s)
        self._rows: Iterator[Element] = iter(())
        self._block_length = 0
        self._cursor: Cursor | None = None  # before the first element of the block, or after the last failure
        self._delivered_before = 0  # elements before the block
        self._pace = policy.pace()
        # One rank that is alone has nobody who stood elsewhere.
        ranks = self._start.ranks
        self._earlier = None if ranks is None or ranks.rank.world_size == 1 else StepsBack()
        self._has_ended = False  # whether its reader got the end

    # ------------------------------------------------------------- delivering

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Element:
        try:
            for element in self._rows:
                return element
            return self._next_block()
        except (StopIteration, HeadraceError):
            raise
        except BaseException:
            # The engine itself failed, or Ctrl-C came: who handles it may hold this iterator for long.
            if self._options.executor == "inline":  # its one cursor had begun to move
                with self._turning:
                    self._phase = NEXT[self._phase, LOSE]
            self.close()
            raise

    def get_next(self) -> Element:
        """Returns the next element.

        Raises:
            OutOfRangeError: the epoch has ended.
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("the dataset has no more elements") from None

    def blocks(self) -> Iterator[list[Element]]:
        """Yields the remaining elements, as many at a time as come at once: for callers that take all of them."""
        for first in self:
            yield [first, *self._rows]

    def _next_block(self) -> Element:
        if self._phase in (ENDED, LOST):
            self._shut()  # where another thread closed it just when the run began
            raise StopIteration
        start = self._now_s()
        run = self._run
        if run is not None:
            run.refuse_own_functions()
        try:
            item = self._next_item() if self._joint is None else self._next_step(self._joint)
        except HeadraceError:
            self._end()  # no element's failure, those are items: nothing can go on from here
            raise
        if item is None or self._phase is not RUNNING:  # the end, or closed by another thread while this one waited
            self._has_ended = item is None and self._phase is RUNNING
            self._step.ends(start)
            self._wait_s += self._now_s() - start
            self._end()
            raise StopIteration
        return self._raised(item, start) if isinstance(item, Failure) else self._first_of(item, start)

    def _next_item(self, limit: int | None = None) -> Item:
        if self._earlier is not None and self._options.executor == "inline":  # whose one cursor knows the present alone
            self._earlier.note_written(self._cursor, self._delivered_before + self._block_length)
        if self._run is not None and self._run.is_spent:
            return None
        return self._running().pull(limit or self._pace.size)

    def _next_step(self, joint: JointEnd) -> Item:
        """Returns the next element if all ranks have one, alone, so that no rank takes one that another cannot match."""
        before = self._cursor
        if before is not None and self._options.executor == "inline":  # whose one cursor moves
            before = SavedCursor(before.advance(self._block_length).state())
        try:
            item = self._next_item(1)
        except HeadraceError:
            joint.goes_on(has_step=False)
            raise
        if joint.goes_on(has_step=item is not None, own_steps=self.own_steps):
            return item
        if self._options.executor == "inline":
            self._delivered_before += self._block_length
            self._rows, self._block_length, self._cursor = iter(()), 0, before
        return None

    @property
    def own_steps(self) -> int | None:
        """After how many steps of this run a rank only gives what is filled in; None where it may have more."""
        return None if self._run is None else self._run.own_end.steps

    def _raised(self, failure: Failure, start: float) -> NoReturn:
        """Raises the error in place of an element, and goes on after it."""
        self._wait_s += self._now_s() - start
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

    def _first_of(self, block: Block, start: float) -> Element:
        """Returns the first element of a block; the others are at hand."""
        rows = block.payload.rows()
        now_s = self._now_s()
        waited_s = now_s - start
        self._wait_s += waited_s
        length, fresh = len(rows), iter(rows)
        self._step.has(now_s, waited_s, length)
        self._pace.observe(length, waited_s, block.payload.nbytes)
        self._note_earlier()
        self._delivered_before += self._block_length  # no call from here on, as above
        self._rows, self._block_length, self._cursor = fresh, length, block.cursor
        for element in fresh:
            return element
        raise InternalError("a block has no elements")

    def _note_earlier(self) -> None:
        """Notes where the block began that has been delivered, in a plan that is dealt to ranks."""
        if self._earlier is not None and self._options.executor != "inline":
            self._earlier.note(self._cursor, self._delivered_before, self._block_length)

    def _running(self) -> Run | RemoteRun | ForkedRun:
        if self._run is None:
            start = self._start
            is_left_to_parent(self)
            ITERATORS.begins(self)
            self._run = self._made_run(start)
            self._finalizer = weakref.finalize(self, self._run.drop)
            self._finalizer.atexit = False  # the engine closes runs at the interpreter's exit
            with self._turning:
                self._phase = NEXT[self._phase, BEGIN]
            self._run.open(start.position)
            self._pace.begin_with(self._run.first_elements)
        return self._run

    def _made_run(self, start: RunStart) -> Run | RemoteRun:
        common: dict[str, Any] = {
            "seeds": start.seeds,
            "epoch": start.epoch,
            "fillings": start.fillings,
            "feeds": self._feeds,
            "policy": self._policy,
        }
        if not self._is_beside:
            run = Run(start.plan, self._options, **common)
            self._pace.bytes_limit = min(self._pace.bytes_limit, run.block_bytes)
            return run
        from headrace.backends.subprocess import RemoteRun

        return RemoteRun(self._built, self._options, **common, most=None if self._joint is None else 1)

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """Returns where this iterator stands, as plain data that JSON can hold.

        It counts what was delivered, not what was read ahead, and belongs to this dataset: loaded into an iterator
        of an equal one, in whatever process, with whatever executor and number of workers, it continues here.

        Raises:
            FailedPreconditionError: Ctrl-C came while ``executor="inline"`` made an element.
        """
        if self._phase is LOST:
            message = (
                "an element was interrupted, and executor='inline' has no position before it: use a state saved earlier"
            )
            raise FailedPreconditionError(message)
        return self.bookmark()()

    def bookmark(self) -> Callable[[], dict[str, Any]]:
        """Returns the position of this iterator now, as a function that writes it down when it is called, however much later.

        For callers that read ahead, as feeding a device does: it costs a reference, where a state costs its writing.
        """
        delivered = self._block_length - operator.length_hint(self._rows)
        count = self._start.delivered + self._delivered_before + delivered
        back = self._earlier
        earlier = None if back is None else back.before(self._cursor, self._delivered_before, delivered)
        cursor = self._cursor
        if self._is_beside and cursor is not None:  # who ends the run has to know which positions will be asked for
            cursor, delivered = cursor.advance(delivered), 0
        bookmark = functools.partial(
            self._state_at, self._start, cursor, delivered, count, earlier, has_ended=self._has_ended
        )
        if self._options.executor == "inline":  # its one cursor is always where the stream is now
            try:
                state = bookmark()
            except HeadraceError as failed:  # of a generator's state_dict: told to a caller that asks for the state
                error = failed.with_traceback(None)
                return functools.partial(_refused, error)
            return lambda: state
        return bookmark

    def _state_at(
        self,
        start: RunStart,
        cursor: Cursor | None,
        delivered: int,
        count: int,
        earlier: Earlier | None,
        *,
        has_ended: bool,
    ) -> dict[str, Any]:
        return start.state(self._identity(), cursor, delivered, count, earlier, has_ended=has_ended)

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
        """
        allowed = frozenset[str]()
        if allow:
            from headrace.plan.changes import checked_words

            allowed = checked_words(allow)
        start = RunStart.saved(state, self._built, self._options, self._identity, allowed)
        self._shut()
        self._run = None
        self._start = start
        self._rows, self._block_length, self._cursor, self._delivered_before = iter(()), 0, None, 0
        self._pace = self._policy.pace()
        if self._joint is not None:
            self._joint.begin()
        if self._earlier is not None:
            self._earlier.clear()
        self._ended_s, self._has_ended = None, False
        with self._turning:
            self._phase = NEXT[self._phase, LOAD]
        start.continue_after_epoch()

    def _identity(self) -> Fingerprint:
        if self._fingerprint is None:
            from headrace.plan.fingerprint import fingerprint_of  # it has hashlib, which only states need

            self._fingerprint = fingerprint_of(self._start.plan)
        return self._fingerprint

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
        delivered = self._block_length - operator.length_hint(self._rows)
        now_s = self._now_s() if self._ended_s is None else self._ended_s
        run = self._run
        if run is None:
            return IteratorStats(
                elements=self._delivered_before,
                wait_s=self._wait_s,
                elapsed_s=now_s - self._began_s,
                stages=(),
                step=self._step.stats(now_s),
            )
        stages = run.stages()  # first: another process tells all the rest with them
        held_bytes, highest_held_bytes = run.held_bytes
        return IteratorStats(
            elements=self._delivered_before + delivered,
            wait_s=self._wait_s,
            elapsed_s=now_s - self._began_s,
            stages=stages,
            workers=run.workers,
            ram_budget_bytes=run.ram_budget_bytes,
            held_bytes=held_bytes,
            highest_held_bytes=highest_held_bytes,
            restarts=run.restarts,
            step=self._step.stats(now_s),
            failures=run.failures(),
            decisions=run.decisions(),
        )

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""
        return self._phase is RUNNING

    @property
    def waiting_s(self) -> float:
        """For how long its caller has waited for what comes next; 0 where it does not wait."""
        return 0.0 if self._run is None else self._run.waiting_s

    @property
    def built_plan(self) -> Node:
        """The plan that it runs, as it was written."""
        return self._built

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
        self._drop_rows()
        self._end()

    def leave_to_parent(self) -> None:
        """Leaves its run to the process that this one is a copy of."""
        self._turning = threading.RLock()  # which a thread of the other process may have held
        self._drop_rows()
        if self._finalizer is not None:
            self._finalizer.detach()
        if self._run is not None:
            self._run = ForkedRun(self._run)

    def _drop_rows(self) -> None:
        """Goes behind what was delivered, without what is at hand."""
        delivered = self._block_length - operator.length_hint(self._rows)
        if self._cursor is not None:
            self._cursor = self._cursor.advance(delivered)
        self._delivered_before += delivered
        self._rows, self._block_length = iter(()), 0

    def _end(self) -> None:
        with self._turning:
            self._phase = NEXT[self._phase, END]
        self._shut()
        self._ended_s = self._ended_s or self._now_s()

    def _shut(self) -> None:
        if self._run is not None:
            self._run.close()
        if (
            self._finalizer is not None and self._finalizer.detach() is not None
        ):  # only now: Ctrl-C may have come before
            ITERATORS.ends(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
