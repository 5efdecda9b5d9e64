"""One run in the process beside the trainer: a thread that makes its elements, and writes them where the trainer reads them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import select
import threading
import time
from collections import deque
from typing import Any, Final

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.cursor import Cursor
from headrace.blocks.deep_states import in_pieces, whole
from headrace.coordination.latch import Latch
from headrace.engine import Run
from headrace.errors import CancelledError, DataLossError, HeadraceError, InvalidArgumentError
from headrace.plan.buffering import options_of
from headrace.plan.calling import wants_processes
from headrace.plan.node import Node, function_label
from headrace.processes.connection import Connection
from headrace.processes.elements_alone import Alone, sent_alone
from headrace.processes.elements_packed import ElementsPacker
from headrace.processes.elements_sent import refused
from headrace.processes.errors_sent import sent_error
from headrace.processes.orders import AHEAD, Given, Kind, Known, RunOrder, Taken
from headrace.processes.parcels import Parcel, to_bytes
from headrace.processes.progress import Phase
from headrace.processes.slab import Slab
from headrace.processes.unprepared import not_prepared
from headrace.processes.worker_info import Inits
from headrace.semantics.cache_fillings import Fillings
from headrace.semantics.cache_keys import with_keys_of_run
from headrace.semantics.timed_calls import Callers, Overtime, Progress
from headrace.worker.leaving import leave_where_lost

__all__ = ["ServedRun"]

# A hand-over takes about a tenth of a millisecond of both.
_BLOCK_S: Final = 0.004
# A piece of shared memory is at least this part of the budget, where that is less than usual.
_SEGMENTS: Final = 16
# To tell positions may take this part of the time; to send and to read them takes as long once more. Nor are they told more often than this: another
# process takes three times as long to start as it then takes to make again what was made since.
_TELLING: Final = 0.01
_TELLING_S: Final = 0.1


class _NoReaderError(Exception):
    """Nobody reads any more."""


class ServedRun:
    """One run.

    Args:
        built: the plan.
        order: how it runs, and from where.
        connection: to its reader, which it takes over.
        slab: the memory that it shares with its reader; perhaps that of a run before.

    Attributes:
        run: the run of the engine.
        connection: to its reader.
        slab: the memory that it shares with that.
    """

    def __init__(self, built: Node, order: RunOrder, connection: Connection, slab: Slab) -> None:
        self._order = order
        self.connection: Final = connection
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        # It came with the functions, whose global variables it may set; processes of this one's own call it instead, or they would have these.
        init = options_of(built).worker_init
        self._init = None if wants_processes(built, order.options) else init
        self._plan = with_keys_of_run(built, order.seeds, order.options)
        caches = order.start.caches
        self._fillings = Fillings.restored(self._plan, caches) if order.is_resumed else Fillings()
        self.run: Final = Run(
            self._plan,
            dataclasses.replace(order.options, worker_init=init),
            seeds=order.seeds,
            epoch=order.epoch,
            fillings=self._fillings,
            feeds=order.feeds + 1,
            policy=dataclasses.replace(order.policy, shared=slab.array),
        )
        self.slab: Final = slab
        self._packer = ElementsPacker(slab)
        # Whose positions may still be asked for: where each begins, and of a failure where it ends.
        self._items: dict[int, tuple[Cursor, Cursor | None]] = {}
        self._again: dict[int, Block] = {}  # those of them that may have to be sent again
        self._kept = self.run.gathering("elements of classes that may fail to be made again")
        self._ahead = self.run.ahead()
        self._unused = self.run.gathering("shared memory")
        slab.use_segments_of(self.run.ram_budget_bytes // _SEGMENTS)
        self._on_the_way: deque[int] = deque()  # how many bytes each item has
        self._now_s = order.policy.clock.now_s
        self._told_s, self._telling_s = self._now_s(), 0.0
        self._begun = Latch("the beginning of the run")
        self._start: Cursor | None = None
        self._refused: BaseException | None = None
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="headrace-giving", daemon=True)
        self._thread.start()

    # -------------------------------------------------------------- giving

    def _serve(self) -> None:
        try:
            self._begin()
            self._begun.set()
            self._give_all()
        except _NoReaderError:
            pass
        except BaseException as error:  # noqa: BLE001 - the reader is to have it, whatever it is
            self._refused = error
            self._send_error(Kind.ERROR, 0, error)
        finally:
            self._begun.set()
            self.slab.close()

    def _begin(self) -> None:
        self._prepare()
        start = self._order.start.position
        self.run.open(None if start is None else whole(*start))
        if not self._skip(self._order.skipped):
            raise DataLossError("the input has fewer elements than it had when it was read first")
        self._start = self.run.cursor

    def _prepare(self) -> None:
        """Has ``Options(worker_init=)`` called, by a thread that can be left behind where it may not take for ever."""
        limit_s, init = self._order.preparing_s, self._init
        if init is None or limit_s is None:
            Inits().call(init)
            return

        def prepare(progress: Progress) -> None:
            progress.begin(None)
            Inits().call(init)
            progress.end()

        with Callers(self._order.policy.clock) as callers:
            try:
                callers.call(prepare, limit_s)
            except Overtime as late:
                raise not_prepared(Phase.PREPARING, limit_s, function_label("worker_init", init), late.stack) from None

    def _give_all(self) -> None:
        order = self._order
        pace = order.policy.pace(target_s=_BLOCK_S)
        pace.begin_with(self.run.first_elements)
        number, places = 0, order.start.places + order.skipped
        is_told = False  # that only the end follows
        while not is_told:
            if not self._may_give():
                return
            pace.bytes_limit = max(1, self.run.share_bytes // (AHEAD + 1))
            began_s = time.perf_counter()
            item = self.run.pull(order.most or pace.size)
            if isinstance(item, Block):
                pace.observe(len(item), time.perf_counter() - began_s, item.payload.nbytes)
            if item is None:
                self._send(Given(Kind.END, number + 1, 0, None, None, self.run.own_end.steps, is_last=True))
                break
            parts = self._packed(item)
            del item  # what is on its way must not live on here
            while parts:
                part, parcel = parts.pop()
                number += 1
                places += len(part) if isinstance(part, Block) else 1
                self._keep(number, part, parcel)
                is_told = not parts and self.run.is_spent
                self._give(part, parcel, number, places, is_last=is_told)
                del part
                if parts and not self._may_give():
                    return
        self.run.close()  # while its reader has the last elements, behind which it waits for that
        self._send(Given(Kind.CLOSED, number + 1, 0, None, None, None, is_last=True))

    def _keep(self, number: int, item: BlockOrFailure, parcel: Parcel | None) -> None:
        """Keeps of an item what may be asked for when it was sent."""
        if isinstance(item, Failure):
            self._items[number] = item.cursor, item.after
            return
        self._items[number] = item.cursor, None
        assert parcel is not None  # of all but failures
        if not parcel.is_plain:
            self._again[number] = item
            self._kept.add(item.payload.nbytes)

    def _forget(self, number: int) -> None:
        self._items.pop(number, None)
        if (kept := self._again.pop(number, None)) is not None:
            self._kept.add(-kept.payload.nbytes)

    def _skip(self, places: int) -> bool:
        """Makes elements again that the reader has; returns whether there were as many."""
        while places:
            item = self.run.pull(places)
            if item is None:
                return False
            places -= len(item) if isinstance(item, Block) else 1
        return True

    def _may_give(self) -> bool:
        """Hears what the reader has taken, and waits until one more item may be on its way; returns False when it is gone."""
        while True:
            must_wait = len(self._on_the_way) >= AHEAD
            if not must_wait and not self._poll.poll(0):
                return True
            try:
                received = self.connection.receive()
            except OSError as error:
                leave_where_lost(error)
                raise
            if received is None:
                return False
            self._hear(Taken.of_tuples(pickle.loads(received[0])))

    def _hear(self, taken: Taken) -> None:
        self._ahead.add(-sum(self._on_the_way.popleft() for _ in range(taken.items)))
        self.slab.give(taken.places)
        for number in taken.numbers:
            self._forget(number)

    def _packed(self, item: BlockOrFailure) -> list[tuple[BlockOrFailure, Parcel | None]]:
        """Returns what is sent of an item, the last first: an element that cannot be sent is a failure in its place."""
        if isinstance(item, Failure):
            return [(item, None)]
        try:
            return [(item, self._packer.packed(item.payload))]
        except HeadraceError:
            raise
        except Exception as error:  # noqa: BLE001 - a class may say anything that cannot be pickled
            if len(item) > 1:
                return [self._packed(item.slice(index, index + 1))[0] for index in reversed(range(len(item)))]
            (element,) = item.payload.rows()
            message = refused(element, error, "the trainer's process")
            failed = InvalidArgumentError(message, stage=self._plan.label, origin=item.origin.describe(0))
            failed.__cause__ = error
            return [(Failure(failed, item.cursor, item.after), None)]

    def _give(self, item: BlockOrFailure, parcel: Parcel | None, number: int, places: int, *, is_last: bool) -> None:
        known = self._known_after(item, places)
        if isinstance(item, Failure):
            self._send_error(Kind.FAILURE, number, item.error, known, is_last=is_last)
        else:
            given = Given(Kind.ELEMENTS, number, len(item), parcel, known, self.run.own_end.steps, is_last)
            self._send(given, item.payload.nbytes)

    def _send_error(
        self, kind: Kind, number: int, error: BaseException, known: Known | None = None, *, is_last: bool = False
    ) -> None:
        parcel = Parcel(pickle.dumps(sent_error(error)))
        with contextlib.suppress(_NoReaderError):
            self._send(Given(kind, number, 1, parcel, known, None, is_last))

    def _send(self, given: Given, nbytes: int = 0) -> None:
        descriptors = self.slab.fresh()
        self._unused.add(self.slab.free_bytes - self._unused.nbytes)
        self._on_the_way.append(nbytes)
        self._ahead.add(nbytes)
        try:
            # What is plain is pickled without a look at each part of it.
            pickled = pickle.dumps if given.known is None else to_bytes
            self.connection.send(pickled(given.in_tuples()), descriptors)
        except OSError as error:
            leave_where_lost(error)
            raise _NoReaderError from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def again(self, number: int) -> list[Alone]:
        """Returns the elements of an item that was sent, each by itself."""
        return sent_alone(self._again[number])

    # ----------------------------------------------------------- positions

    def _known_after(self, item: BlockOrFailure, places: int) -> Known | None:
        """Returns the position behind an item, unless that was told so lately that to write it down takes too much of the time."""
        now_s = self._now_s()
        if self._order.is_ordered and now_s - self._told_s < max(_TELLING_S, self._telling_s / _TELLING):
            return None
        try:
            position = item.after.state()
            known = Known(in_pieces(position), self.caches(), places)
        except HeadraceError:  # a generator's state_dict fails, which a caller is told who asks for the state
            return None
        self._told_s = self._now_s()
        self._telling_s = self._told_s - now_s
        return known

    def position(self, number: int, count: int) -> tuple[Any, list[Any]]:
        """Returns the position ``count`` elements after the beginning of an item."""
        if not number:
            return self._first_position()
        before, after = self._items[number]
        if after is not None:
            return in_pieces((after if count else before).state())
        return in_pieces(before.advance(count).state())

    def _first_position(self) -> tuple[Any, list[Any]]:
        """Returns the position before the first item, once the run has come there."""
        self._begun.wait()
        if self._start is None:
            raise self._refused or CancelledError("the run was closed")
        return in_pieces(self._start.state())

    def caches(self) -> Any:
        """Returns what the plan's caches give."""
        return self._fillings.state(self._plan, self._order.seeds, (self._order.epoch,))

    # -------------------------------------------------------------- ending

    def close(self) -> None:
        """Ends the run; may be called again, and waits then for the end."""
        self.run.stop()
        if self._thread.is_alive():  # it may wait for its reader
            self.connection.shut()
        with self._closing:
            try:
                self.run.close()
            finally:
                self._thread.join()
                self._hear_the_rest()
                self.connection.close()

    def _hear_the_rest(self) -> None:
        """Hears what its reader has let go since nothing more was to be given: another run may have the memory."""
        while self.connection.fileno() >= 0 and self._poll.poll(0):
            received = self.connection.receive()
            if received is None:
                return
            self._hear(Taken.of_tuples(pickle.loads(received[0])))
