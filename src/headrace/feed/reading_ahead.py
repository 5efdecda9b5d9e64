"""A thread that reads a pipeline ahead, and begins to bring its elements to a device while the loop computes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

from headrace import exiting
from headrace.elements.structure import nbytes_of
from headrace.errors import CancelledError, HeadraceError
from headrace.feed.transfer import Transfer
from headrace.frozen import frozen
from headrace.iterator import DatasetIterator
from headrace.iterator.forked import forked, is_left_to_parent
from headrace.physical.budget import Ahead
from headrace.queues.channel import Channel

__all__ = ["Bookmark", "ReadingAhead", "Ready"]

Bookmark = Callable[[], dict[str, Any]]


@frozen
class Ready:
    """What was begun, or the error in its place, and the position after it."""

    begun: Any
    error: HeadraceError | None
    bookmark: Bookmark
    nbytes: int = 0


class ReadingAhead:
    """Reads a pipeline ahead in a thread. It knows nothing of the feed's iterator, so that one can be dropped.

    It is made first and begun afterwards, so that its maker can stop it whatever happens between.
    """

    def __init__(self, iterator: DatasetIterator, transfer: Transfer, buffer_size: int) -> None:
        self._iterator = iterator
        self._transfer = transfer
        self.ready: Channel[Ready] = Channel(capacity=buffer_size, name="feed")
        self._held: Ahead | None = None  # once there is a run
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="headrace-feed", daemon=True)

    def begin(self) -> None:
        """Starts the thread."""
        is_left_to_parent(self)
        _begun.add(self)
        self._thread.start()

    def take(self) -> Ready:
        """Returns what is ready next, when there is something.

        Raises:
            OutOfRangeError: there is nothing any more.
        """
        item = self.ready.get()
        if self._held is not None:
            self._held.add(-item.nbytes)
        return item

    def leave_to_parent(self) -> None:
        """Has nothing ready any more, in a process that is a copy of its own."""
        # A thread of the other process may have held the lock of the old one; and no copy of a process frees what is on a GPU.
        _left_to_parent.append(self.ready)
        self.ready = Channel(capacity=1, name="feed")
        self.ready.fail(forked())

    def _work(self) -> None:
        try:
            while not self._stopped and (item := self._next()) is not None:
                if self._held is None:
                    self._held = self._iterator.ahead()
                self._held.add(item.nbytes)
                self.ready.bound_bytes(max(1, self._held.share_bytes - item.nbytes))  # the next waits here meanwhile
                self.ready.put(item, nbytes=item.nbytes)
            self.ready.close()
        except CancelledError:
            pass  # stop() closed the channel
        except BaseException as error:  # noqa: BLE001 - whatever ended the pipeline, the loop must hear of it
            self.ready.fail(error)

    def _next(self) -> Ready | None:
        try:
            element = next(self._iterator)
            begun, error, nbytes = self._transfer.begin(element), None, nbytes_of(element)
        except StopIteration:
            return None
        except HeadraceError as failed:
            begun, error, nbytes = None, failed.with_traceback(None), 0
        return Ready(begun, error, self._iterator.bookmark(), nbytes)

    def stop_nowait(self) -> None:
        """Has the thread end after the element that it is at."""
        self._stopped = True
        self.ready.close(cancel_pending_enqueues=True)

    def stop(self) -> None:
        """Ends the thread, and waits for it; may be called again, where Ctrl-C cut it short."""
        self.stop_nowait()
        self._iterator.close()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()


_left_to_parent: Final[list[Channel[Ready]]] = []
# For the interpreter's exit: a run that is stopped does not wake a thread that waits for room here.
_begun: Final[weakref.WeakSet[ReadingAhead]] = weakref.WeakSet()


@exiting.stops_at_exit
def _stop_all() -> None:
    for reading in list(_begun):
        reading.stop_nowait()
