"""A thread that does the same thing again and again, until its coordinator stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from headrace import exiting
from headrace.coordination.coordinator import Coordinator
from headrace.coordination.left_at_exit import stopped_at_exit
from headrace.errors import InvalidArgumentError

__all__ = ["LooperThread"]

_NUMBERS: Final = count(1)


class LooperThread(threading.Thread):
    """Calls ``target``, or the ``run_loop`` of a subclass, until a stop is requested; a daemon thread.

    What a call raises requests a stop of the coordinator with that failure. The thread is registered with it.

    Args:
        coord: whom to stop with.
        timer_interval_secs: seconds from the beginning of one call to that of the next, or None for no pause.
        target: what to call; None for a subclass with a ``run_loop`` of its own.
        args: arguments of ``target``.
        kwargs: keyword arguments of ``target``.

    Raises:
        InvalidArgumentError: ``coord`` is no coordinator, or there are arguments without a ``target``.

    Example:
        >>> from headrace.coordination import Coordinator, LooperThread
        >>> coord, ticks = Coordinator(), []
        >>> def tick():
        ...     ticks.append(1)
        ...     if len(ticks) == 3:
        ...         coord.request_stop()
        >>> thread = LooperThread.loop(coord, None, target=tick)
        >>> coord.join()
        >>> len(ticks)
        3
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        given: object = coord  # whatever a caller without a type checker passes
        if not isinstance(given, Coordinator):
            raise InvalidArgumentError(f"coord must be a Coordinator, not {given!r}")
        if target is None and (args or kwargs):
            raise InvalidArgumentError("args and kwargs are those of target: pass that, too")
        super().__init__(name=f"{exiting.LOOPER}{next(_NUMBERS)}", daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._call = None if target is None else lambda: target(*(args or ()), **(kwargs or {}))
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Makes and starts a ``LooperThread`` with these arguments."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Does what the thread is for; ``start`` calls it."""
        stopped_at_exit(self)
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                self._run_by_timer(self._timer_interval_secs)
            self.stop_loop()

    def _run_by_timer(self, interval_s: float) -> None:
        next_s = self._coord.clock.now_s()
        while not self._coord.wait_for_stop(next_s - self._coord.clock.now_s()):
            next_s += interval_s
            self.run_loop()

    def stop_at_exit(self) -> None:
        """Stops all that its coordinator stops: for the interpreter's exit."""
        if self.is_alive():
            self._coord.request_stop()

    def start_loop(self) -> None:
        """Does nothing; is called once, before the first ``run_loop``, for subclasses."""

    def run_loop(self) -> None:
        """Calls ``target``, unless a subclass does something else; is called again and again."""
        if self._call is not None:
            self._call()

    def stop_loop(self) -> None:
        """Does nothing; is called once, after the last ``run_loop`` unless one failed, for subclasses."""
