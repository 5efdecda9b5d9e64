"""Calls of a parallel operation in the thread that wants their results: they take a turn as those in workers do.

So of the operation no more calls run at once than may, however many threads read it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from headrace.observe.frames import waits
from headrace.physical.workers.gates import Gate
from headrace.queues.channel import Channel

__all__ = ["OwnTurn", "call_in_turns"]

T = TypeVar("T")


class OwnTurn:
    """Makes calls of an operation when there is a turn for them: here, or in the worker that has the next one.

    Args:
        gate: the way to the operation's turns.
        name: of the operation.
    """

    def __init__(self, gate: Gate, name: str) -> None:
        self._gate = gate
        self._name = name
        self._done: Channel[None] | None = None  # made for the first wait, as most stages never wait
        self._stopped = False

    def call(self, function: Callable[[], T]) -> T:
        """Returns what the function returns.

        Raises:
            CancelledError: it was stopped while it waited for a turn.
            OutOfRangeError: it was stopped before.
        """
        made: list[T] = []
        if not self._gate.run_here(lambda: made.append(function())):
            if self._done is None:
                self._done = Channel(capacity=1, name=self._name)
            if self._stopped:  # stop() came while there was nothing to be stopped
                self._done.close(cancel_pending_enqueues=True)
            self._gate.submit(functools.partial(_work, self._done, function, made))
            _wait(self._done)
        return made[0]

    def try_here(self, function: Callable[[], None]) -> bool:
        """Calls the function if there is a turn for it now; returns whether it did."""
        return self._gate.run_here(function)

    def stop(self) -> None:
        """Ends a wait for a turn; safe from any thread."""
        self._stopped = True
        if (done := self._done) is not None:
            done.close(cancel_pending_enqueues=True)


def call_in_turns(turns: Sequence[OwnTurn], function: Callable[[], T]) -> list[T]:
    """Calls a function here while it has a turn of each operation; returns what it returned, or nothing where one had none.

    It waits for none: who held a turn of one operation and waited for another could wait for ever.
    """
    made: list[T] = []

    def call() -> None:
        made.append(function())

    for turn in turns:
        call = functools.partial(turn.try_here, call)  # type: ignore[assignment]  # what it returns, nobody looks at
    call()
    return made


def _work(done: Channel[None], function: Callable[[], T], made: list[T]) -> None:
    try:
        made.append(function())
    except BaseException as error:  # noqa: BLE001 - what is not the user's Exception must still end the run, not a worker
        done.fail(error)
        return
    done.put_nowait(None)


@waits
def _wait(done: Channel[None]) -> None:
    done.get()
