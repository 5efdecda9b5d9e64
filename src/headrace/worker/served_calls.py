"""Functions that a process calls for a thread of the trainer's, one block after the other."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import Indices, Origin, WordedOrigin, subset
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.freed_memory import keep_freed_memory
from headrace.frozen import frozen
from headrace.observe.failures import Failures
from headrace.observe.frames_held import let_go_of_frames_of_failed
from headrace.physical.loops.applying import applied_alone
from headrace.physical.loops.failing import instead_of
from headrace.physical.loops.timed import Noted, TimedMap
from headrace.plan.elementwise import Map
from headrace.processes.connection import Connection
from headrace.processes.elements_alone import UnmadeError, sent_alone
from headrace.processes.elements_sent import Memory, received_elements, refused, sent_elements, stacked
from headrace.processes.errors_sent import sent_error
from headrace.processes.leases import Leases
from headrace.processes.orders import NO_ORIGIN, Again, Answer, Call, Read
from headrace.processes.parcels import Parcel, packed, to_bytes, unpacked
from headrace.processes.progress import Phase, Progress, leave_stacks
from headrace.processes.shipping import made_there
from headrace.processes.slab import Slab
from headrace.processes.worker_info import Inits
from headrace.semantics.noting import noted_map
from headrace.worker.leaving import leave_where_lost

if TYPE_CHECKING:  # what reads datasets is imported where one is read
    from headrace.worker.served_readings import Readings

__all__ = ["serve_calls"]

T = TypeVar("T")


@frozen
class _KnownElsewhere:
    """Where elements came from is known to who sent them; here they have numbers."""

    indices: Indices

    def subset(self, indices: Indices) -> _KnownElsewhere:
        return _KnownElsewhere(subset(self.indices, indices))

    def describe(self, index: int) -> str:
        return f"{NO_ORIGIN}{self.indices[index]}"


class _Served:
    """The functions that this process has, and the memory that it shares with one thread."""

    def __init__(self, progress: Progress, segment_bytes: int) -> None:
        keep_freed_memory()  # for the functions, whose arrays are as large each time
        self.memory = Slab()
        self.memory.use_segments_of(segment_bytes)
        self.leases = Leases()
        self._progress = progress
        self._failures = Failures()
        self._inits = Inits()
        self._readings: Readings | None = None
        # Packs what was sent last and may fail to be made again; it is kept until the next call, as many bytes.
        self._again: Callable[[], Parcel] | None = None
        self._kept_bytes = 0
        self._functions: dict[int, tuple[tuple[Any, ...], Callable[[Block], list[BlockOrFailure]], bool]] = {}

    def answer(self, call: Call | Read | Again) -> Answer:
        self.memory.give(call.places)
        start_s = time.thread_time()
        parcel, sent = None, None
        try:
            parcel = self._parcel(call)
        except BaseException as error:  # noqa: BLE001 - who asked is to have it: also a function's sys.exit(), as in threads
            sent = sent_error(error)
        held_bytes = self._kept_bytes + (0 if self._readings is None else self._readings.held_bytes)
        cpu_s = time.thread_time() - start_s
        return Answer(parcel, sent, self.leases.gone(), cpu_s, self._failures.taken(), held_bytes)

    def _parcel(self, call: Call | Read | Again) -> Parcel:
        if isinstance(call, Again):
            assert self._again is not None  # something was sent
            return self._again()
        self._again, self._kept_bytes = None, 0
        return self._made(call) if isinstance(call, Call) else self._read(call)

    def _timed(self, node: Map, maps: Sequence[Map]) -> Callable[[Block], list[BlockOrFailure]]:
        """Returns what calls a map that has a timeout."""
        timed, progress = TimedMap(node, _Here(self._progress)), self._progress
        link = next(index for index, one in enumerate(maps) if one is node)

        def make(block: Block) -> list[BlockOrFailure]:
            assert isinstance(block.cursor, IndexCursor)  # of the whole block, as no map before it leaves any out
            progress.link, progress.first = link, block.cursor.index
            return timed.make(block)

        return make

    def _read(self, read: Read) -> Parcel:
        if self._readings is None:
            from headrace.worker.served_readings import Readings

            self._readings = Readings(self.memory, self._failures, self._inits, self._progress)
        self._again = self._readings.again
        self._readings.forget(read.closed, read.gone)
        opening = None if read.opening is None else self._unpacked(read.opening)
        return self._readings.next(read.dataset, opening, read.limit)

    def close(self) -> None:
        """Closes what is open."""
        if self._readings is not None:
            self._readings.close()

    def _unpacked(self, parcel: Parcel) -> Any:
        """Returns what came.

        Raises:
            UnmadeError: an element cannot be made again.
        """
        try:
            return unpacked(parcel, self.leases)
        except HeadraceError:
            raise
        except Exception as error:
            raise UnmadeError("an element cannot be made again") from error

    def _made(self, call: Call) -> Parcel:
        if call.functions is not None:
            with self._progress.within(Phase.LEARNING):
                init, maps, loops, is_stacked = made_there(call.functions)
            with self._progress.within(Phase.PREPARING):
                self._inits.call(init)
            maps = [noted_map(one, self._failures) for one in maps]
            make = applied_alone(maps, loops, lambda node: self._timed(node, maps))
            self._functions[call.key] = tuple(maps), make, is_stacked
        maps, make, is_stacked = self._functions[call.key]
        payload = received_elements(self._unpacked(call.parcel))
        origin: Origin = _KnownElsewhere(range(len(payload))) if call.words is None else WordedOrigin(call.words)
        pieces = make(Block(payload, IndexCursor(0), origin))
        del payload
        try:
            parcel = self._packed(pieces, maps, is_stacked)
        except HeadraceError:
            raise
        except Exception:  # noqa: BLE001 - a class may say anything that cannot be pickled
            pieces = [one for piece in pieces for one in _sendable(piece, maps[-1])]
            parcel = self._packed(pieces, maps, is_stacked)
        if not parcel.is_plain:
            self._again = lambda: packed([sent for piece in pieces for sent in _sent_alone(piece, maps)], self.memory)
            self._kept_bytes = sum(piece.payload.nbytes for piece in pieces if isinstance(piece, Block))
        return parcel

    def _packed(self, pieces: Sequence[BlockOrFailure], maps: tuple[Any, ...], is_stacked: bool) -> Parcel:
        """Puts pieces into shared memory; rows that a batch will stack are stacked there."""
        memory = self.memory.array if is_stacked else None
        return packed([_sent(piece, maps, memory) for piece in pieces], self.memory)


def _sendable(piece: BlockOrFailure, last: Map) -> Iterator[BlockOrFailure]:
    """Yields the elements of a piece one by one; what cannot be sent is a failure of the map that gave it."""
    if isinstance(piece, Failure):
        yield piece
        return
    for index in range(len(piece)):
        one = piece.slice(index, index + 1)
        failure = _unsendable(one, last)
        if failure is not None and callable(last.on_error):
            instead = instead_of(last, failure, one, 0)
            if isinstance(instead, Failure):
                failure = instead
            else:
                one = Block(instead, one.cursor, one.origin)
                failure = _unsendable(one, last)
        yield failure or one


def _unsendable(one: Block, last: Map) -> Failure | None:
    """Returns the failure of a block of one element that cannot be sent."""
    (element,) = one.payload.rows()
    try:
        to_bytes(element)
    except Exception as error:  # noqa: BLE001 - as above
        message = refused(element, error, "the trainer's process")
        failed = InvalidArgumentError(message, stage=last.label, origin=one.origin.describe(0))
        failed.__cause__ = error
        return Failure(failed, one.cursor, one.after, last)
    return None


class _Here:
    """Calls what somebody else times, for whom it is noted which element is called on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def call(self, work: Callable[[Noted], T], _: float) -> T:
        return work(self._progress)


def _sent(piece: BlockOrFailure, maps: tuple[Any, ...], memory: Memory | None) -> tuple[int, Any, Any]:
    if isinstance(piece, Block):
        payload = piece.payload if memory is None else stacked(piece.payload, memory)
        return len(piece), sent_elements(payload), None
    link = next((index for index, one in enumerate(maps) if one is piece.by), 0)
    return 1, None, (link, sent_error(piece.error))


def _sent_alone(piece: BlockOrFailure, maps: tuple[Any, ...]) -> list[tuple[int, Any, Any]]:
    return [(1, one, None) for one in sent_alone(piece)] if isinstance(piece, Block) else [_sent(piece, maps, None)]


def serve_calls(connection: Connection, progress: Progress, stacks: int, segment_bytes: int) -> None:
    """Answers calls until the other end is gone.

    Args:
        connection: to who calls.
        progress: where it is noted what is called on.
        stacks: the descriptor to which all stacks are written where this process is ended because a function hangs.
        segment_bytes: how large its pieces of shared memory are at least, or less where that is less than usual.
    """
    served = _Served(progress, segment_bytes)
    leave_stacks(stacks)
    progress.enter(Phase.WORKING)
    try:
        _serve(connection, served)
    finally:
        served.close()
        os.close(stacks)


def _serve(connection: Connection, served: _Served) -> None:
    while (received := connection.receive()) is not None:
        message, descriptors = received
        served.leases.add(descriptors)
        answer = served.answer(pickle.loads(message))
        let_go_of_frames_of_failed()
        fresh = served.memory.fresh()
        try:
            connection.send(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL), fresh)
        except OSError as error:
            leave_where_lost(error)
            return
        finally:
            for descriptor in fresh:
                os.close(descriptor)
        del answer
