"""How many calls of an operation run at once in its workers, and how many tasks may be under way, where that is left to headrace.

It begins with one a core and climbs, a step at a time, while somebody waits for the results and the model says that more calls can pay (``analysis.calls``):
what mostly waits goes by fours, as a machine has far fewer cores than a network has answers. A step is kept at once where it brings a good part
of what it could; else the two numbers of calls are looked at by turns until it is plain whether it pays (``CallsTrial``), and one that does not is tried again
later each time. Calls that take far longer beside each other than alone hold each other up, at Python's lock or at whatever they share: half of
them are tried, and stay where they bring as much. Where nobody waits for the results, calls that were not needed are let go. So a run settles after a few
steps, and only what has changed moves it again.

Nothing here knows a thread or a clock: figures in, numbers out. What is found is kept as long as what is called: the next epoch
begins with it.
"""

from __future__ import annotations

import math
from typing import Any, Final

from headrace.analysis.calls import MOST_CALLS, CallsFigures, by_cores, by_idle_cores, by_need
from headrace.observe.tables import duration, share
from headrace.physical.workers.calls_trial import CallsTrial
from headrace.physical.workers.lasting import Lasting

__all__ = ["CallsTuner", "FixedCalls", "calls_of"]

# Who wants the elements waits for them: there is something to gain. Below the other, there is nothing to lose.
_WAITED_FOR: Final = 0.15
_NOT_WAITED_FOR: Final = 0.03
# Calls that were not in use so long show that others are not what is missing.
_IN_USE: Final = 0.7
# A call that has a processor for a smaller part of its time waits, mostly.
_WAITS: Final = 0.1
_GROWTH: Final = 2
_GROWTH_OF_WAITS: Final = 4
# A smaller step brings less than what can be told from chance.
_LEAST_GROWTH: Final = 1.5
# What an element took at least is forgotten in about fifty looks.
_FADING: Final = 1.02
# Two looks that differ by less say the same; after so many at as many calls what they say counts all the same.
_STEADY: Final = 0.15
_LOOKS: Final = 4
# Calls that take so many times as long as they can, or have one core together and none for half of their time, may hold each other up.
_HELD_UP: Final = 2.0
# Fewer are left alone: whether there are any at all is another's question.
_FEW: Final = 3
# Looks in a row at which calls were not needed, before they are let go.
_CALM: Final = 8
# Looks until a step that was taken back is tried again: four times as many each time.
_FIRST_PATIENCE: Final = 16
_LAST_PATIENCE: Final = 4096
# Calls that a full window kept from running for a larger part of the time want a wider one.
_STARVED: Final = 0.1
# Tasks a call that may be under way: two, so that the next lies ready, and more where single ones take far longer than others.
_TASKS: Final = 2
_MOST_TASKS: Final = 16
# However few calls there are, some tasks lie ready for who takes several at once.
_LEAST_WINDOW: Final = 4


class CallsTuner:
    """Decides; ``calls`` and ``window`` are the answers.

    Args:
        first: how many calls to begin with: one a core.
        most: how many there may be; as many as may ever pay where it is None.

    Attributes:
        calls: how many calls may run at once, until the next look.
        decided: how many that is, but for the looks by turns of a trial: then it is how many are tried.
        reason: why it changed its mind last, in words.
        every_s: how long it wants to be told of at once.
        rounds: how many tasks a call it wants to be told of at once.
        unjudged: of as many calls, what a run has seen since it told last: the next one goes on with it.
    """

    every_s = 0.1
    rounds = 3

    def __init__(self, first: int, most: int | None = None) -> None:
        self.calls = self.decided = first
        self.reason = ""
        self.unjudged: tuple[int, Any] | None = None
        self._most = max(first, MOST_CALLS) if most is None else most
        self._tasks = _TASKS
        self._trial: CallsTrial | None = None
        self._last: CallsFigures | None = None  # the look before
        self._looks = 0  # in a row at as many calls
        self._up = _Patience()  # until the next step up is tried
        self._fewer = _Patience()  # until fewer are tried
        self._least_s = math.inf  # what an element took at least, lately
        self._calm = 0  # looks in a row at which nobody waited
        self._let_go = False  # whether the last step was one down
        self._patience_down = _CALM

    @property
    def window(self) -> int:
        """How many tasks may be under way or wait for their turn."""
        return max(_LEAST_WINDOW, self._tasks * self.calls)

    def begins(self) -> None:
        """Notes that the workers begin with a run: what they did before says nothing of how steady it is."""
        self._last = None

    def made_alone(self, element_s: float) -> None:
        """Learns what an element took where no other call ran beside it."""
        self._least_s = min(self._least_s, element_s)

    def judge(self, figures: CallsFigures) -> None:
        """Learns what came of the calls for a while."""
        if figures.calls != self.calls:
            return
        self._up.passes()
        self._fewer.passes()
        if figures.elements:
            self._least_s = min(_FADING * self._least_s, figures.element_s)
        is_waited_for = figures.wait_share > _WAITED_FOR
        is_steady = self._is_steady(figures)
        self._calm = self._calm + 1 if figures.wait_share < _NOT_WAITED_FOR else 0
        if figures.starved_share > _STARVED and self._tasks < _MOST_TASKS:
            self._widen(figures)
        elif self._trial is not None and not self._has_judged(self._trial, figures, is_waited_for=is_waited_for):
            pass
        elif is_waited_for and is_steady and self._may_hold_each_other_up(figures):
            self._try_fewer(figures)
        elif is_waited_for and figures.in_use > _IN_USE * self.calls:
            self._step_up(figures)
        elif self._calm >= self._patience_down:
            self._step_down(figures)

    def _is_steady(self, figures: CallsFigures) -> bool:
        """Returns whether as many calls brought as much at the look before, or were looked at often enough.

        What has begun a moment ago is slow: its processes import what they need, and its tasks are short.
        """
        last, self._last = self._last, figures
        if last is None or last.calls != figures.calls:
            self._looks = 0
            return False
        self._looks += 1
        return abs(figures.rate - last.rate) <= _STEADY * last.rate or self._looks >= _LOOKS

    def _has_judged(self, trial: CallsTrial, figures: CallsFigures, *, is_waited_for: bool) -> bool:
        """Learns from a look of a trial; returns whether it is over, and what was seen is of more calls that are kept: still more may pay."""
        is_more = trial.tried > trial.before
        if is_waited_for:
            pays = trial.add(figures)
            only = "only " if is_more and not pays else ""
            found = f"{trial.tried:,} calls bring {only}{trial.gain:.2f} times as much as {trial.before:,}"
        else:
            pays = figures.calls == trial.tried
            found = f"who wants elements waits {share(figures.wait_share)} of the time with {figures.calls:,} calls"
        self.calls = trial.calls
        if pays is None:
            return False
        self._trial = None
        if pays:
            self.reason, self.calls = found, trial.tried
        else:
            self._change(trial.before, found)
        if pays != is_more:
            self._up.begin()
        elif not trial.was_plain:
            self._fewer.begin()
        return pays and is_more and self.calls == figures.calls

    def _step_up(self, figures: CallsFigures) -> None:
        growth = _GROWTH_OF_WAITS if figures.at_work_share < _WAITS else _GROWTH
        # Where more threads want a processor than there are, a call takes longer, and seems to wait.
        possible = by_cores(figures, min(self._least_s, figures.element_s))
        possible = max(possible, by_idle_cores(figures))
        calls = min(self._most, possible, growth * self.calls)
        if calls < _LEAST_GROWTH * self.calls or not self._up.is_over:
            return
        if self._let_go:  # they were needed after all
            self._patience_down = min(8 * self._patience_down, _LAST_PATIENCE)
        self._try(
            calls,
            figures,
            f"who wants elements waits {share(figures.wait_share)} of the time, and a call works {share(figures.at_work_share)} of its "
            f"{duration(figures.element_s)}",
        )

    def _may_hold_each_other_up(self, figures: CallsFigures) -> bool:
        """Returns whether fewer calls may bring as much."""
        if self.calls < _FEW or not self._fewer.is_over or figures.in_use < _IN_USE * self.calls:
            return False
        has_a_core = figures.cpu_s > figures.seconds and _HELD_UP * figures.at_work_share < 1
        return has_a_core or figures.element_s > _HELD_UP * self._least_s

    def _try_fewer(self, figures: CallsFigures) -> None:
        self._try(
            math.ceil(self.calls / 2),
            figures,
            f"a trial: a call takes {duration(figures.element_s)} for an element beside others, and works "
            f"{share(figures.at_work_share)} of that",
        )

    def _step_down(self, figures: CallsFigures) -> None:
        self._calm = 0
        calls = by_need(figures)
        if 2 * calls > self.calls:
            return
        self._change(
            calls,
            f"who wants elements waits {share(figures.wait_share)} of the time, and {figures.in_use:.1f} calls are in use",
        )
        self._let_go = True

    def _widen(self, figures: CallsFigures) -> None:
        self._tasks *= 2
        self.reason = (
            f"a task that takes long keeps the calls behind it from running {share(figures.starved_share)} of the time"
        )

    def _try(self, calls: int, figures: CallsFigures, reason: str) -> None:
        self._trial = trial = CallsTrial(figures, calls)
        self._change(calls, reason)
        self.calls = trial.calls

    def _change(self, calls: int, reason: str) -> None:
        self.calls = self.decided = calls
        self.reason, self._let_go = reason, False


class _Patience:
    """How many looks to wait before something is tried again that was for nothing: four times as many each time."""

    def __init__(self) -> None:
        self._left = self._length = 0

    @property
    def is_over(self) -> bool:
        """Whether it may be tried."""
        return not self._left

    def passes(self) -> None:
        """Notes a look."""
        self._left = max(0, self._left - 1)

    def begin(self) -> None:
        """Notes that it was for nothing."""
        self._length = min(4 * self._length or _FIRST_PATIENCE, _LAST_PATIENCE)
        self._left = self._length


class FixedCalls(CallsTuner):
    """As many as were asked for, or as few as others decide."""

    def judge(self, figures: CallsFigures) -> None:
        """Changes nothing."""


_TUNERS: Final = Lasting(lambda key: CallsTuner(*key))


def calls_of(first: int, most: int | None, subjects: tuple[object, ...]) -> CallsTuner:
    """Returns the tuner of what is called.

    Args:
        first: how many calls to begin with.
        most: how many there may be; None leaves that open.
        subjects: what is called, or done: what is known is kept as long as the first of them to which anything can refer weakly.
    """
    return _TUNERS.of(subjects, (first, most))
