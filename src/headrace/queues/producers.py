"""Who could still bring something to a queue: so that a wait that cannot end says so.

A queue hangs for ever when nobody started its runners, or when they have all ended without closing it. A queue cannot
see that, unless those who fill it say who they are: ``register`` when they are made, then ``started`` and ``ended``.

    REGISTERED --started--> RUNNING --ended--> ENDED --started--> RUNNING

All methods may be called from any thread, and from ``__del__``: each is one atomic step, and nothing waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum

from headrace.errors import FailedPreconditionError

__all__ = ["Producer", "Producers"]


class _State(Enum):
    REGISTERED = "never started"
    RUNNING = "running"
    ENDED = "ended"


class Producer:
    """One who fills a queue, as that queue knows it; made by ``Producers.register``."""

    __slots__ = ("_changed", "failure", "name", "state")

    def __init__(self, name: str, changed: Callable[[], None]) -> None:
        self.name = name
        self.state = _State.REGISTERED
        self.failure: BaseException | None = None
        self._changed = changed

    def started(self) -> None:
        """Notes that it may bring something from now on."""
        self.failure = None
        self.state = _State.RUNNING

    def ended(self, failure: BaseException | None = None) -> None:
        """Notes that it will bring nothing more: it came to its end, or ``failure`` ended it."""
        self.failure = failure
        self.state = _State.ENDED
        self._changed()


class Producers:
    """All who have registered with one queue; its ``ProducerStatus``."""

    __slots__ = ("_changed", "_known", "_queue")

    def __init__(self, queue: str, changed: Callable[[], None]) -> None:
        self._queue = queue
        self._changed = changed
        self._known: list[Producer] = []

    def register(self, name: str) -> Producer:
        """Says that ``name`` will fill the queue once it is started."""
        producer = Producer(name, self._changed)
        self._known.append(producer)
        return producer

    def hopeless(self) -> BaseException | None:
        """Returns the error of a wait that cannot end: everybody who was registered has ended. None while there is hope."""
        known = self._known
        if not known or any(producer.state is not _State.ENDED for producer in known):
            return None
        failed = next((producer for producer in known if producer.failure is not None), None)
        how = "has failed" if failed else "has ended without closing it"
        who = ", ".join(sorted({producer.name for producer in known}))
        error = FailedPreconditionError(
            f"{self._queue}: nothing more can come, because everybody who fills it {how} ({who}). "
            f"Whoever else fills it registers with register_producer"
        )
        error.__cause__ = failed.failure if failed else None
        return error

    def explain(self) -> str:
        """Returns why a dequeue may be waiting long, and what to do about it."""
        count = Counter(producer.state for producer in self._known)
        if not self._known:
            return "Nobody is registered to fill this queue: is there a thread that enqueues, or a runner to be made?"
        if never := count[_State.REGISTERED]:
            runners, were = ("1 runner is", "was") if never == 1 else (f"{never} runners are", "were")
            return f"{runners} registered for this queue and {were} never started: call start_queue_runners"
        names = ", ".join(sorted({producer.name for producer in self._known if producer.state is _State.RUNNING}))
        return f"Running, but slower than what dequeues, or waiting themselves: {names}"
