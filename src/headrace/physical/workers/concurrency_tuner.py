"""How many calls of an operation run at once, where that is left to headrace: one for each worker, or one.

Threads that need Python's lock most of the time only hand it to and fro, and a hand-over costs more than to read a small file. No
figure of one task tells that from waiting for a disk, where more threads are better: so both ways are measured, what an element takes
alone and what it takes beside others, and now and then again. It begins in the thread that reads; what takes long goes to the workers
after the first element. Where somebody asked for so many calls, it begins in workers, and one is a worker as well (``AskedCalls``).
What is cheap is tried there when there was so much of it that the experiment is a small part (``TrialBudget``), so that an epoch of
few cheap elements wakes nobody; of calls that are so short that they cannot let the lock go, a far smaller one.

Workers that have more than one processor at once do what one thread cannot: where the processor's clock says so, they stay, and
where they seem to gain nothing all the same, as their memory is new or others use the machine, they are tried for longer. What they
copy into a batch is counted for the thread that reads as well, which would do it after its task; and what that thread does of the
operation in either way, as to join the columns of a batch, is no work of which workers spare it any.

What is known belongs to what is called, and is kept as long as that: each turn of a repeat and the next epoch go on with it.
Several threads may use one tuner; what they spoil for each other is an average.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

from headrace.observe.tables import duration
from headrace.physical.workers.lasting import Lasting
from headrace.physical.workers.task_figures import (
    Task,
    covered_s,
    ended_rounds,
    left_s,
    made,
    quickest_s,
    share_of,
    slowest_s,
    together_s,
    whole_rounds,
)
from headrace.physical.workers.trial_budget import TrialBudget, odds_of
from headrace.physical.workers.trial_interval import TrialInterval

__all__ = ["ConcurrencyTuner", "tuner_of"]

# A task that took so long says what an element takes; shorter ones do so together.
_MEASURABLE_S: Final = 1e-3
# An experiment is to be short; and that one element is cheap says little about the next.
_SHORT_S: Final = 2e-3
_GROWTH: Final = 4
# What takes so long an element loses nothing by a hand-over, and would lose a whole one by being tried alone.
_SLOW_S: Final = 2e-2
# What takes so long an element goes to the workers at once; what takes less, once an experiment is little beside the work.
_LONG_S: Final = 1e-3
# What is made alone is thought about when it took so long, as to think takes some microseconds; what takes long, and how many cheap
# elements may be made at once, at once.
_THOUGHT_S: Final = 4e-3
# The latest tasks of each worker tell what an element takes; of an experiment, so many.
_TOLD_BY: Final = 4
_TRIED_BY: Final = 2
_ALONE_S: Final = _TOLD_BY * _MEASURABLE_S  # what cheap elements are tried for alone
# What takes less an element in workers costs more to hand over than to make, and waits for no other thread, which takes longer.
_QUICK_S: Final = 2e-6
# What takes so long an element is tried in tasks as long as they will be, and in so many, of which the second half counts: the first are
# slow, as a worker's thread and its memory are new, and a few say little of the others.
_HEAVY_S: Final = 1e-4
_TRIED_LONGER_BY: Final = 24
# Their first experiment gives its elements almost as soon as they would have come, and begins after so much work. Workers whose memory is
# new while others use the machine are asked again soon, unless they lost more than this.
_HEAVY_LOOK_S: Final = 0.03
_FREE_S: Final = 0.1
# Workers that have more processors than this at once compute beside each other: what they call does not hold Python's lock.
_AT_ONCE: Final = 1.3
# Those that have one processor, so nearly, hand the lock to and fro: half of an experiment tells.
_NEARLY: Final = 0.15
# If what computes beside each other seems no quicker, as its memory is new or others have the processors, it is tried so many times as long.
_LONGER: Final = 3
# A smaller part of the time is not worth workers, which could hide no more than that.
_LEAST_SHARE: Final = 0.25
# Calls that together have a smaller part of a processor are no work that one thread would do sooner.
_IDLE: Final = 0.25
# How much faster than one thread two must be that take turns, as it seems: they also hand the lock to and fro.
_WORTH: Final = 1.1
# Calls that together have a smaller part of a processor, and each for a smaller part of its time, wait: for an answer, or for threads of a
# library's. They leave processor and lock to the thread that reads, and what it does beside them takes no time: that is worth as much.
_WAIT: Final = 0.6
_WAITS: Final = 0.5
_HIDDEN: Final = 0.8

# So many times as fast are workers that a second look at one thread can wait.
_FAR: Final = 2.0


class ConcurrencyTuner:
    """Decides how many tasks may run at once; ``now`` is the answer.

    Args:
        most: the number of workers.
        is_asked_for: whether somebody asked for so many: it begins with them.

    Attributes:
        reason: why it changed its mind last, in words.
        elements_a_call: how many elements one call takes; infinite where it takes all that there are.
    """

    def __init__(self, most: int, *, is_asked_for: bool = False) -> None:
        self.now = most if is_asked_for else 1
        self.reason = ""
        self.elements_a_call = 1.0
        self._most = most
        self._is_asked_for = is_asked_for
        self._settled = most if is_asked_for else None  # the better way; None before both were tried
        # Of the latest tasks of each way: from when to when, how many elements, with a processor for how long, and of that to place them.
        self._tasks: dict[int, deque[Task]] = {way: deque() for way in (1, most)}
        self._most_made = 0  # elements at once in the thread that reads
        self._not_told = (0, 0.0)  # elements that were made alone since it thought about them, and how long they took
        self._most_here: int | None = None  # what is found by thinking
        self._budget = TrialBudget()
        self._trial_s = _TRIED_BY * most * _SHORT_S  # what an experiment takes if its tasks take turns
        self._long_ones = 0  # in a row, since it began
        self._confirms_s: float | None = None  # what an element took alone, while that is looked at once more
        self._again_s: float | None = None  # what it took in workers, while these are
        self._in_processes = self._awaits_processes = False
        self._interval = TrialInterval(at_once=is_asked_for)

    @property
    def is_trying(self) -> bool:
        """Whether what runs now is an experiment, which should be short."""
        return self.now != self._settled

    @property
    def is_heavy(self) -> bool:
        """Whether an experiment has tasks as they will be: of elements that take long, or on which processes begin with an import."""
        return self._in_processes or quickest_s(self._tasks[1]) > _HEAVY_S

    @property
    def is_quick(self) -> bool:
        """Whether calls come back from workers sooner than any could that waits for another thread, and hardly later than they are handed over."""
        return self.elements_a_call < math.inf and self._element_s(self._most) < _QUICK_S

    @property
    def most_here(self) -> int | None:
        """How many elements to make at once in the thread that reads; None: as many as it asks for, as they are known to be cheap."""
        if not self.is_trying:
            return None
        if self._most_here is None:
            self._most_here = self._found_most_here()
        return self._most_here

    def _found_most_here(self) -> int:
        tasks = self._tasks[1]
        if not tasks:
            return 1
        # Who reads may ask for one element to complete a batch, and for many next: that one says nothing about those.
        many = max(tasks[-1][2], self._most_made)
        seconds, elements = together_s(tasks), made(tasks)
        return max(1, min(many * _GROWTH, int(_SHORT_S * elements / max(seconds, 1e-9))))

    def await_processes(self) -> None:
        """Has workers tried as soon as their processes are there, unless it is known whether these are better; and not before."""
        self._in_processes = True
        self._awaits_processes = self.now == 1 and self._settled is None

    def try_processes(self) -> None:
        """Has workers tried, as their processes are there."""
        awaited, self._awaits_processes = self._awaits_processes, False
        if awaited and self._tasks[1]:
            took = duration(self._element_s(1))
            self._try(self._most, f"the processes have started; an element takes {took} in this one")

    def observe(
        self, elements: int, start_s: float, end_s: float, beside: int, cpu_s: float = 0.0, placing_s: float = 0.0
    ) -> bool:
        """Learns from a task; returns False where it will with the next one, as both are short.

        Args:
            elements: how many it made.
            start_s: when it began to make them.
            end_s: when it had made them.
            beside: how many tasks could run at once.
            cpu_s: how long a worker had a processor for it.
            placing_s: of that, to do what its reader does where there are no workers; less what its reader does of it where there are.
        """
        if self._most == 1 or beside != self.now:
            return True  # it was given when the other way was gone
        tasks, seconds = self._tasks[beside], end_s - start_s
        if beside == 1:
            if not self._thinks(elements, seconds):
                return False
            elements, seconds = self._not_told
            self._not_told, self._most_here = (0, 0.0), None
            start_s = end_s - seconds
        tasks.append((start_s, end_s, elements, cpu_s, placing_s))
        if self._settled == beside and self._confirms_s is None and self._again_s is None:
            if len(tasks) > _TOLD_BY * beside:
                tasks.popleft()
            self._budget.worked(seconds / beside)
            self._interval.worked(seconds / beside)
            if self._interval.is_over and self._affords():
                self._look()
        elif self._settled is None and beside == 1 and self._confirms_s is None:
            self._begin(elements, seconds)
        elif self._has_tried(beside):
            self._compare()
        return True

    def _thinks(self, elements: int, seconds: float) -> bool:
        """Takes in what was made alone; returns whether it is to be thought about."""
        is_long = seconds > _LONG_S * elements
        made, made_s = (0, 0.0) if is_long else self._not_told  # a little that is cheap must not hide it
        self._not_told = made + elements, made_s + seconds
        is_more, self._most_made = elements > self._most_made, max(self._most_made, elements)
        is_experiment = self._confirms_s is not None or self._settled not in {None, 1}
        return is_long or is_more or is_experiment or made_s + seconds >= _THOUGHT_S

    def _has_tried(self, way: int) -> bool:
        """Returns whether what was tried tells: two tasks a worker, which are on their way at once, as the first begin one by one.

        Alone it is one of what takes long, and some of what is cheap, of which the first tasks of a run are short and slow.
        """
        tasks = self._tasks[way]
        if way == 1:
            # Of what takes less than a millisecond lately, by itself.
            fewest = _TOLD_BY if any(end_s - start_s <= _LONG_S * made for start_s, end_s, made, *_ in tasks) else 1
            return len(tasks) >= fewest and together_s(tasks) >= fewest * _MEASURABLE_S
        if len(tasks) < _TRIED_BY * way or together_s(tasks) + left_s(tasks) < way * _MEASURABLE_S:
            return False
        return not self.is_heavy or self._has_tried_heavy(len(tasks), way)

    def _has_tried_heavy(self, tasks: int, way: int) -> bool:
        """Returns whether so many tasks of elements that take long tell: fewer where nothing is gained, more where much could be."""
        fewest = max(_TRIED_BY * way, _TRIED_LONGER_BY)
        if tasks == fewest // 2:
            return not self._is_better() and abs(self._at_once() - 1) < _NEARLY
        return tasks >= _LONGER * fewest or (tasks >= fewest and (self._is_better() or self._at_once() < _AT_ONCE))

    def _begin(self, elements: int, seconds: float) -> None:
        """Goes over to the workers when that is worth a look."""
        if len(self._tasks[1]) > _TOLD_BY:
            self._tasks[1].popleft()
        self._long_ones = self._long_ones + 1 if seconds > _LONG_S * elements else 0
        # The first may only be slow because it is: what is imported, opened or compiled then.
        is_long = self._long_ones > 1 or seconds > _SLOW_S * elements
        self._budget.worked(seconds)
        if self._awaits_processes:
            return
        if is_long:
            self._try(
                self._most, f"an element takes {duration(seconds / elements)}, beside which a hand-over is little"
            )
        elif self._budget.affords(self._trial_s, self._odds()) or (
            self.is_heavy and self._budget.worked_s > _HEAVY_LOOK_S
        ):
            self._look()

    def _affords(self) -> bool:
        """Returns whether an experiment is little beside the work; what takes long loses little by it, or has told what it loses."""
        trial_s = self._trial_s if self.now == 1 else 0.0 if self.is_quick else _ALONE_S
        return self._budget.affords(0.0 if self.is_heavy else trial_s, self._odds())

    def _odds(self) -> float:
        """Returns how likely it is that the other way is quicker."""
        return odds_of(self._element_s(1) * self.elements_a_call) if self.now == 1 else 1.0

    def _look(self) -> None:
        """Tries the other way, where something can be gained by it."""
        if self._needs_no_trial():
            self._settle(self.now)
            return
        way, where = (self._most, "alone") if self.now == 1 else (1, "in workers")
        self._try(way, f"a trial: an element takes {duration(self._element_s(self.now))} {where}")

    def _needs_no_trial(self) -> bool:
        """Returns whether the other way would gain nothing: as there is nothing to gain, as it was far slower, or as workers do what one could not.

        Those that were asked for may wait for each other, as somebody may have meant; an element that takes long for one of them is no
        loss, as the others go on if need be.
        """
        if self.now == 1:
            return share_of(self._tasks[1]) < _LEAST_SHARE or (self._is_asked_for and self._is_far_better(1))
        at_once = self._at_once()
        if self._is_asked_for and (at_once < _IDLE or self._element_s(self._most) > _SLOW_S):
            return True
        is_slow = not self._is_asked_for and slowest_s(self._tasks[self._most]) > _SLOW_S
        return is_slow or at_once > _AT_ONCE or self._is_far_better(self._most)

    def _try(self, way: int, reason: str) -> None:
        self._tasks[way].clear()
        self._not_told, self._most_here = (0, 0.0), None
        self.now, self.reason = way, reason

    def _compare(self) -> None:
        """Settles, after an experiment.

        For workers that take turns only when they have won twice, against what an element took before and after: the first of a run
        are slower than all others. Of those that compute at once the processor's clock tells that one thread could not.
        """
        lost_s = self._lost_s(self._element_s(1))
        if self._settled is None and self.is_heavy:
            lost_s = max(0.0, lost_s - _FREE_S)
        self._budget.tried(lost_s)
        if self.now != 1:  # of those on their way nobody will tell
            self._tasks[self.now] = deque(ended_rounds([*self._tasks[self.now]], self.now))
        alone_s, beside_s = self._alone_s(), self._beside_s()
        found = f"an element takes {duration(alone_s)} alone, and {duration(beside_s)} in workers"
        is_better, is_slow = self._is_better(), slowest_s(self._tasks[self.now]) > _SLOW_S
        is_second = self._again_s is not None
        if is_better and self.now != 1 and not is_slow and not is_second and self._at_once() < _AT_ONCE:
            self._confirms_s = self._element_s(1)
            self._try(1, f"a second look: {found}")
        elif not is_better and self.now == 1 and not is_second and self._settled != 1 and self._waits():
            self._again_s = self._beside_s()
            self._try(self._most, f"a second look: {found}")
        else:
            self._confirms_s, self._again_s, self.reason = None, None, found
            self._settle(self._most if is_better else 1)

    def _is_better(self) -> bool:
        """Returns whether workers are quicker, by the latest tasks of both ways."""
        # New memory makes those slower that compute, and gets old.
        worth = _HIDDEN if self._waits() else _WORTH if self._at_once() < _AT_ONCE else 1.0
        return self._beside_s() * worth < self._alone_s()

    def _waits(self) -> bool:
        """Returns whether calls that take long hardly have a processor."""
        tasks = self._counted(self._most)
        cpu_s = sum(task[3] for task in tasks)
        return self.is_heavy and self._at_once() < _WAIT and cpu_s < _WAITS * together_s(tasks)

    def _is_far_better(self, way: int) -> bool:
        """Returns whether the other way took so long beside this one that it need not be tried yet; at last it is, as elements change."""
        if self._interval.is_longest or not self._tasks[1] or not self._tasks[self._most]:
            return False
        alone_s, beside_s = self._alone_s(), self._beside_s()
        return _FAR * alone_s < beside_s if way == 1 else _FAR * beside_s < alone_s

    def _alone_s(self) -> float:
        """Returns what an element takes alone, until it is where workers put it: before they were tried, or after, whichever was less."""
        alone_s = self._element_s(1)
        tasks = self._counted(self._most)
        placing_s = sum(max(0.0, task[4]) for task in tasks) / max(1, made(tasks))
        return placing_s + (alone_s if self._confirms_s is None else min(alone_s, self._confirms_s))

    def _beside_s(self) -> float:
        """Returns what an element takes in workers, and of the thread that reads, which has its part of it then, too."""
        tasks = self._counted(self._most)
        beside_s = self._element_s(self._most) + left_s(tasks) / max(1, made(tasks))
        return beside_s if self._again_s is None else min(beside_s, self._again_s)

    def _at_once(self) -> float:
        """Returns how many processors workers had at once."""
        tasks = self._counted(self._most)
        return sum(task[3] for task in tasks) / max(covered_s(tasks), 1e-9)

    def _lost_s(self, alone_s: float) -> float:
        """Returns what the experiment took: all of its time, or beyond what the elements would have taken, where a hand-over is little."""
        tried = self._tasks[self.now]
        took_s = covered_s(tried) + left_s(tried)
        return max(0.0, took_s - alone_s * made(tried)) if self.is_heavy else took_s

    def _element_s(self, way: int) -> float:
        """Returns how long it takes until one element more is there."""
        tasks = self._counted(way)
        return covered_s(tasks) / max(1, made(tasks))

    def _counted(self, way: int) -> list[Task]:
        """Returns those of the latest tasks of a way that tell what comes of it."""
        tasks = [*self._tasks[way]]
        if way == 1:
            if len(tasks) > 2:  # without the slowest: other processes had the processor, perhaps
                tasks.remove(max(tasks, key=lambda task: (task[1] - task[0]) / task[2]))
            return tasks
        if len(tasks) >= _TRIED_LONGER_BY // 2 and self._settled != way:
            half_s = sorted(task[0] for task in tasks)[len(tasks) // 2]
            tasks = [task for task in tasks if task[0] >= half_s]  # those that began together, all or none
        return whole_rounds(tasks)

    def gives_up(self, seconds: float) -> None:
        """Has workers go on, as nothing came for so long of one call at a time."""
        self._budget.tried(seconds)
        self._confirms_s = self._again_s = None
        self.reason = f"nothing came for {duration(seconds)} of one call at a time, which may wait for others"
        self._settle(self._most)
        self._interval.lengthen()

    def _settle(self, better: int) -> None:
        self._interval.begin(has_workers=better != 1, is_same=better == self._settled)
        self.now = self._settled = better


_TUNERS: Final = Lasting(lambda key: ConcurrencyTuner(key[0], is_asked_for=key[1]))


def tuner_of(most: int, subjects: tuple[object, ...], *, is_asked_for: bool = False) -> ConcurrencyTuner:
    """Returns the tuner of what is called.

    Args:
        most: the number of workers.
        is_asked_for: whether somebody asked for so many.
        subjects: what is called, or done: what is known is kept as long as the first of them to which anything can refer weakly.
    """
    return _TUNERS.of(subjects, (most, is_asked_for))
