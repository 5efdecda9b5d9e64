"""How many calls of one operation run at once in the workers of one run, where that is left to headrace: measured, decided, noted.

All stages that the operation becomes tell what their tasks took and how long they were waited for. As soon as that is enough, a
``CallsTuner`` judges it, and what it decides is done at once: by the gate, which has more turns or less.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from typing import Final

from headrace.analysis.calls import CallsFigures
from headrace.observe.decisions import WINDOW, WORKERS, Decisions
from headrace.physical.workers.calls_tuner import CallsTuner
from headrace.physical.workers.gates import Gate

__all__ = ["TunedWorkers"]

# Tasks that take very long are judged by fewer of them.
_LONGEST_S: Final = 2.0
# Calls that are so many at once and have one core for less than such a part of the time wait beside each other, which one alone cannot.
_AT_ONCE: Final = 1.2
_IDLE: Final = 0.6


class TunedWorkers:
    """The workers of an operation.

    Args:
        tuner: decides.
        gate: how many calls run at once.
        name: of the operation.
        decisions: where changes are noted.
        cores: how many the process may use.

    Attributes:
        first: how many calls might run at once before anything was decided.
        wait_beside_each_other: whether its calls were seen to do what one alone could not.
    """

    def __init__(self, tuner: CallsTuner, gate: Gate, name: str, decisions: Decisions, *, cores: int) -> None:
        self._tuner = tuner
        self._gate = gate
        self._name = name
        self._decisions = decisions
        self._cores = cores
        self._looking = threading.Lock()  # several stages may be read at once
        self._told_window = tuner.window
        self.first = gate.calls
        self.wait_beside_each_other = False
        if tuner.calls != gate.calls:  # as an earlier run has found, which is told when there are workers
            gate.resize(tuner.calls)
        self._told_calls = gate.calls
        self._span = self._begun()

    @property
    def calls(self) -> int:
        """How many calls may run at once."""
        return self._gate.calls

    @property
    def reason(self) -> str:
        """Why that is another number than at first; empty where it is not."""
        return self._tuner.reason if self.calls != self.first else ""

    @property
    def window(self) -> int:
        """How many tasks may be under way."""
        return self._tuner.window

    def limit(self, calls: int) -> None:
        """Has so many calls run at once."""
        with self._looking:
            self._tuner.calls = self._tuner.decided = self._told_calls = calls
            if calls != self._gate.calls:
                self._gate.resize(calls)

    def begin(self) -> None:
        """Notes that the workers have nothing to do until they are given something."""
        self._span = self._begun()

    def _begun(self) -> _Span:
        """Begins to look: with what an earlier run saw of as many calls, if it was too short to judge them."""
        calls, seen = self._tuner.unjudged or (0, None)
        if seen is None or calls != self._gate.calls or not seen.tasks:
            self._tuner.begins()
            seen = None
        return self._looks(_Span(self._tuner.every_s, seen=copy.copy(seen)))

    def _looks(self, span: _Span) -> _Span:
        """Has the next run go on with what this one sees from now on, should it end before that is enough."""
        self._tuner.unjudged = self._gate.calls, span.seen
        return span

    def note(self, before: int, after: int, reason: str, name: str | None = None) -> None:
        """Notes how many workers there are from now on: for that operation, where several have these."""
        self._decisions.note(name or self._name, WORKERS, before, after, reason)

    def made(self, elements: int, start_s: float, seconds: float, cpu_s: float) -> None:
        """Learns from a task.

        Args:
            elements: how many it made.
            start_s: when it began.
            seconds: how long it took.
            cpu_s: how long it had a processor, of that.
        """
        self._span.add(elements, start_s, seconds, cpu_s)
        now_s = time.perf_counter()
        if now_s >= self._span.due_s and self._looking.acquire(blocking=False):
            try:
                self._look(now_s)
            finally:
                self._looking.release()

    def made_alone(self, elements: int, seconds: float) -> None:
        """Learns from a task of the thread that reads."""
        self._tuner.made_alone(seconds / elements)

    def waited(self, seconds: float, *, is_starved: bool = False) -> None:
        """Learns how long who wants elements waited for a task; whether workers had nothing to do, as the window was full."""
        self._span.waited(seconds, is_starved=is_starved)

    def _look(self, now_s: float) -> None:
        """Has it decided how many calls run at once, where enough was seen."""
        span = self._span
        if span.seen.tasks < self._tuner.rounds * self._gate.calls and now_s < span.begun_s + _LONGEST_S:
            return
        figures = span.figures(now_s, self._gate.calls, self._cores)
        self.wait_beside_each_other = figures.in_use > _AT_ONCE and figures.cpu_s < _IDLE * figures.seconds
        self._tuner.judge(figures)
        # What was begun before a change says little of what comes of it.
        every_s = self._tuner.every_s
        self._span = self._looks(_Span(every_s, after_s=now_s) if self._apply() else _Span(every_s, now_s))

    def _apply(self) -> bool:
        """Does what was decided, and notes it but for the turns of a trial; returns whether something has changed."""
        gate, tuner, name = self._gate, self._tuner, self._name
        calls, self._told_calls = self._told_calls, tuner.decided
        window, self._told_window = self._told_window, tuner.window
        if tuner.decided != calls:  # of which the window follows
            self.note(calls, tuner.decided, tuner.reason)
        elif tuner.window != window and tuner.calls == gate.calls:
            self._decisions.note(name, WINDOW, window, tuner.window, tuner.reason)
        has_changed = tuner.calls != gate.calls or tuner.window != window
        if tuner.calls != gate.calls:
            gate.resize(tuner.calls)
        return has_changed


class _Seen:
    """What workers did.

    Attributes:
        tasks: how many there were.
        elements: how many these made.
        busy_s: how long they took, all of them together.
        cpu_s: how long they had a processor, of that.
        waited_s: how long who wants the elements waited for them.
        starved_s: of that, while workers had nothing to do, as the window was full.
        seconds: how long that was, up to the last task.
        process_s: how long the process had processors in that time.
    """

    __slots__ = ("busy_s", "cpu_s", "elements", "process_s", "seconds", "starved_s", "tasks", "waited_s")

    def __init__(self) -> None:
        self.tasks = self.elements = 0
        self.busy_s = self.cpu_s = self.waited_s = self.starved_s = self.seconds = self.process_s = 0.0


class _Span:
    """What workers did since a moment.

    Args:
        every_s: how long to look.
        begun_s: when it begins; None: when the first task that began after ``after_s`` has ended.
        after_s: what began before that is left out.
        seen: what was seen before, as if it had been just now; it goes on when the first task begins.

    Attributes:
        seen: with that.
    """

    def __init__(
        self, every_s: float, begun_s: float | None = None, *, after_s: float = 0.0, seen: _Seen | None = None
    ) -> None:
        self._every_s = every_s
        self._after_s = after_s
        self._is_begun = False
        self.seen = _Seen() if seen is None else seen
        self.due_s = math.inf
        self._process_s = time.process_time() - self.seen.process_s
        if begun_s is not None:
            self._begin(begun_s)

    def _begin(self, now_s: float) -> None:
        self._is_begun = True
        self.begun_s = now_s - self.seen.seconds
        self.due_s = self.begun_s + self._every_s

    def add(self, elements: int, start_s: float, seconds: float, cpu_s: float) -> None:
        """Counts a task."""
        seen = self.seen
        if not self._is_begun:
            if start_s < self._after_s:
                return
            if not seen.tasks:
                self._process_s = time.process_time()
                self._begin(time.perf_counter())
                return
            self._begin(start_s)
        seen.tasks += 1
        seen.elements += elements
        seen.busy_s += seconds
        seen.cpu_s += cpu_s
        seen.seconds = start_s + seconds - self.begun_s
        seen.process_s = time.process_time() - self._process_s

    def waited(self, seconds: float, *, is_starved: bool) -> None:
        """Counts a wait."""
        if self._is_begun or self.seen.tasks:
            self.seen.waited_s += seconds
            self.seen.starved_s += seconds * is_starved

    def figures(self, now_s: float, calls: int, cores: int) -> CallsFigures:
        """Returns what was seen."""
        seen = self.seen
        seconds = max(now_s - self.begun_s, 1e-9)
        process_s = time.process_time() - self._process_s
        others_s = max(0.0, process_s - seen.cpu_s)
        return CallsFigures(
            seconds=seconds,
            calls=calls,
            elements=seen.elements,
            busy_s=seen.busy_s,
            cpu_s=seen.cpu_s,
            waited_s=seen.waited_s,
            starved_s=seen.starved_s,
            free_cores=cores - others_s / seconds,
            idle_cores=max(0.0, cores - process_s / seconds),
            helping_cores=max(0.0, others_s + seen.waited_s - seconds) / seconds,
        )
