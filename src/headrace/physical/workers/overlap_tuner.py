"""Whether a prefetch makes its elements ahead, in a thread, or in its consumer's own thread, when they are asked for.

A thread hides the shorter of two times: what the elements take to be made, and what their consumer does between two pulls.
Both are averages, as many a source works for several blocks at once.
It costs a hand-over for each block; and where both sides need Python's lock it hides nothing and costs more. No figure of
one way tells what the other would take, so what could be hidden is added up, and once it is worth it both ways are measured
in whole: seconds an element, from one block to the next. Cheap elements are measured when there were so many that it is a
small part of their time (``TrialBudget``), a far smaller one where their consumer has each for so short that it keeps the lock; and
they have a thread only where it hid a good part of what it could, twice. What changes is seen at the next block that is asked for:
there is no clock that ticks, and a consumer that does not come back waits for nothing.

A thread makes several blocks while its consumer waits for the lock, and that one then takes them without waiting. So of a thread all
blocks count, from the first on, with all waits.

What was found is kept as long as the operation: the next epoch begins with the better way, and tries the other no sooner than
this one would have. What hand-overs cost beyond what they hid adds up over epochs, too: each may be too short to tell.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from headrace.observe.tables import duration
from headrace.physical.workers.lasting import Lasting
from headrace.physical.workers.trial_budget import TrialBudget, odds_of

__all__ = ["OverlapTuner", "overlap_of"]

# What a hand-over costs: it wakes two threads, each of which waits for Python's lock and finds a cold cache.
_HAND_OVER_S: Final = 5e-5
# So much more than they hid hand-overs may have cost before the thread ends: those of the first few blocks.
_MOST_LOST_S: Final = 5 * _HAND_OVER_S
# A first block that takes so long is followed by a thread at once, which takes a tenth of that to start and to end; unless it takes so
# long as many cheap elements were made, as where an epoch begins with a block as long as the last one's. Where some of them are held by
# what is upstream, or a buffer was filled, the second block tells, of later epochs too.
_LONG_S: Final = 1e-3
# So much could have been hidden before a thread is tried: as much as a trial may lose where both sides need Python's lock.
_FIRST_PATIENCE_S: Final = 4e-3
_LAST_PATIENCE_S: Final = 1.0
# A hand-over is nothing beside a block that takes so long, and to try it here would cost as much.
_SLOW_S: Final = 5e-3
# Blocks that tell what a way takes, and those before them: while blocks are made here, as what the thread has left is taken first.
_TRIED: Final = 6
_SKIPPED: Final = 2
# Blocks that tell what a way takes that has the thread for long: of those that are taken together, the first is waited for.
_TOLD_BY: Final = 32
# After half of a trial, a way that takes so many times as long is given up.
_HOPELESS: Final = 1.5
# Blocks until making them here is tried again. Each time that nothing has changed it is left alone four times as long.
_FIRST_INTERVAL: Final = 64
_LAST_INTERVAL: Final = 4096
_PATIENCE_GROWTH: Final = 4
# A thread was asked for: without it there must be something to gain.
_WORTH: Final = 1.03
# Of elements of which less can be hidden many are handed over at once, and mostly there is Python code on both sides, which hides
# nothing. So a thread must hide such a part of what it could. But a source of blocks that are longer works for several at once.
_CHEAP_S: Final = 1e-4
_LIGHT_BLOCK_S: Final = 1e-3
_HIDDEN: Final = 0.25
# What a block counts in an average: about six blocks together tell what the next will be.
_FADING: Final = 0.85
# Of blocks of which less can be hidden, much is the way there: they say nothing about an element.
_TELLING_S: Final = 4 * _HAND_OVER_S
# So much more than when a thread was found useless can be hidden: then it is another consumer, or another source.
_CHANGED: Final = 2.0


_Block = tuple[float, float, int]


class _Found:
    """What is known of a prefetch, over all its epochs."""

    __slots__ = (
        "ahead",
        "budget",
        "grown_s",
        "has_won",
        "hideable_s",
        "interval",
        "is_slow",
        "left",
        "lost_s",
        "patience_s",
        "useless_at_s",
    )

    def __init__(self, _: object = None) -> None:
        self.ahead: bool | None = None  # the better way; None before both were tried
        self.budget = TrialBudget()
        self.is_slow = False  # whether a block that told was long for what it has
        self.has_won = False  # whether a thread for cheap elements was better once
        self.hideable_s = 0.0  # while elements are made here: what a thread could have hidden
        self.patience_s = _FIRST_PATIENCE_S  # how much of that there must be before a thread is tried
        self.grown_s = _FIRST_PATIENCE_S  # the same, after all threads that ended soon
        self.useless_at_s: float | None = (
            None  # how much of an element could be hidden when a thread was found to be useless
        )
        self.lost_s = 0.0  # while a thread makes them: what hand-overs cost beyond what they hid, also of epochs too short to tell
        self.interval = self.left = _FIRST_INTERVAL  # while a thread makes them: blocks until making them here is tried


class OverlapTuner:
    """Decides where a prefetch makes its elements; ``ahead`` is the answer, from the next block on.

    The first block is made here, unless a thread is known to be better. If its elements took long enough, the thread begins before its
    consumer has it, unless that one pulls on at once: then it is tried as soon as there was something to hide.

    Args:
        found: what is known.
        is_pulled_on: whether its consumer puts what it gets where another process takes it, and pulls on.

    Attributes:
        reason: why it changed its mind last, in words.
    """

    def __init__(self, found: _Found | None = None, *, is_pulled_on: bool = False) -> None:
        self._is_pulled_on = is_pulled_on
        self.reason = "an earlier run found a thread to be quicker"
        self._found = found = found or _Found()
        self.ahead = found.ahead is True
        self._trial: int | None = None  # blocks until it is over; None: this way is settled
        # Of the latest blocks of each way: what was waited for it, how long its consumer was away before, and how many elements it has.
        self._recent: dict[bool, deque[_Block]] = {False: deque(maxlen=_TRIED), True: deque(maxlen=_TOLD_BY)}
        self._made_s = self._gap_s = self._elements = 0.0  # of a block, lately
        self._is_next_telling = (
            False  # whether the next block tells what blocks take, as what was made with the first is held
        )
        self._is_measured = False  # what making them here takes, since it is known that a thread could be worth it
        self._lately_hideable_s = self._lately_elements = 0.0

    def made_here(self, elements: int, made_s: float, gap_s: float | None, *, is_alone: bool = True) -> None:
        """Learns from a block that was made when it was asked for.

        Args:
            elements: how many it has.
            made_s: how long it took to make.
            gap_s: how long the consumer was away before it; None before the first.
            is_alone: whether none is held that was made with it, as where the first one fills a buffer.
        """
        self._recent[False].append((made_s, gap_s or 0.0, elements))
        if self._is_trying(made_s + (gap_s or 0.0)):
            return
        if not is_alone and not self._found.is_slow:
            self._is_next_telling = True
        elif gap_s is None or self._is_next_telling:
            self._is_next_telling = False
            self._tells_at_once(elements, made_s, gap_s)
        if gap_s is None or self.ahead:
            return
        found = self._found
        hideable_s = self._averaged(elements, made_s, gap_s)
        found.hideable_s += hideable_s
        self._lately_hideable_s = _FADING * self._lately_hideable_s + min(made_s, gap_s)
        self._lately_elements = _FADING * self._lately_elements + elements
        if self._has_changed():
            found.patience_s = _FIRST_PATIENCE_S
        # A thread that hides less of a block than a hand-over costs would end as soon as it was better by chance.
        if found.hideable_s < found.patience_s or hideable_s < _HAND_OVER_S or not self._affords():
            return
        if hideable_s > _SLOW_S:
            self.reason = self._hidden_at_most(hideable_s)
            self._settle(ahead=True)
        elif not self._is_measured:  # of what came before, much may have been otherwise
            self._is_measured = True
            self._recent[False].clear()
        elif self._is_steady():
            self.reason = f"a trial: {self._hidden_at_most(hideable_s)}"
            self._try(ahead=True)

    def _tells_at_once(self, elements: int, made_s: float, gap_s: float | None) -> None:
        """Has a thread begin where a first block takes long for what it has, and nothing is known of other epochs."""
        self._found.is_slow = made_s >= max(_LONG_S, _CHEAP_S * elements)
        if self._found.is_slow and self._found.ahead is None and not self._is_pulled_on:
            self.reason = f"the {'first' if gap_s is None else 'second'} block took {duration(made_s)} to make"
            self.ahead = True

    def taken(self, elements: int, made_s: float, waited_s: float, gap_s: float) -> None:
        """Learns from a block that the thread has made.

        Args:
            elements: how many it has.
            made_s: how long it took to make.
            waited_s: how long the consumer waited for it.
            gap_s: how long the consumer was away before it.
        """
        if not self.ahead:  # it was made before the thread was told to end
            return
        self._recent[True].append((waited_s, gap_s, elements))
        if made_s < _CHEAP_S * elements:  # the one that told was so by chance
            self._found.is_slow = False
        hideable_s = self._averaged(elements, made_s, gap_s)
        if self._is_trying(waited_s + gap_s) or self._made_s > _SLOW_S:
            return
        found = self._found
        found.lost_s = max(0.0, found.lost_s + _HAND_OVER_S - hideable_s)
        found.left -= 1
        if found.lost_s > _MOST_LOST_S:
            self.reason = self._hidden_at_most(hideable_s)
            self._settle(ahead=False)
        elif found.left <= 0 and len(self._recent[True]) >= _TRIED and self._affords():
            self.reason = "a trial: what the blocks take without the thread"
            self._try(ahead=False)

    def _is_steady(self) -> bool:
        """Returns whether blocks made here tell what they take: not where they grow, as at a run's beginning, and the first are mostly the way there."""
        elements = [elements for *_, elements in self._recent[False]]
        half = _TRIED // 2
        return len(elements) == _TRIED and 2 * sum(elements[:half]) >= sum(elements[half:])

    @staticmethod
    def _hidden_at_most(seconds: float) -> str:
        return f"of a block a thread hides {duration(seconds)} at most"

    def _is_cheap(self) -> bool:
        """Returns whether little of an element can be hidden."""
        return min(self._made_s, self._gap_s) < _CHEAP_S * self._elements

    def _is_light(self) -> bool:
        """Returns whether little of an element can be hidden, and of a block no more than it is usually made to take."""
        return self._is_cheap() and min(self._made_s, self._gap_s) < _LIGHT_BLOCK_S

    def _affords(self) -> bool:
        """Returns whether an experiment is little beside what was done; where much of an element can be hidden it is not asked."""
        blocks_s = (_SKIPPED + _TRIED) * (self._made_s + self._gap_s)
        odds = 1.0 if self.ahead else odds_of(self._gap_s / max(1.0, self._elements))
        return not self._is_cheap() or self._found.budget.affords(blocks_s, odds)

    def _has_changed(self) -> bool:
        """Returns whether far more of an element can be hidden than where a thread was useless; a few short blocks do not tell."""
        useless_at_s = self._found.useless_at_s
        if useless_at_s is None or self._lately_hideable_s < _TELLING_S:
            return False
        return self._lately_hideable_s > _CHANGED * useless_at_s * self._lately_elements

    def _averaged(self, elements: int, made_s: float, gap_s: float) -> float:
        """Takes a block into the averages; returns what can be hidden of one."""
        self._elements += (1 - _FADING) * (elements - self._elements)
        self._made_s += (1 - _FADING) * (made_s - self._made_s)
        self._gap_s += (1 - _FADING) * (gap_s - self._gap_s)
        return min(self._made_s, self._gap_s)

    def _is_trying(self, seconds: float) -> bool:
        """Counts a block, and settles after the last of a trial; returns whether it was one of a trial."""
        if self._trial is None:
            self._found.budget.worked(seconds)
            return False
        self._trial -= 1
        self._found.budget.trying(seconds)  # now: the epoch may end before the trial does
        if self._trial == _TRIED and not self.ahead:
            self._recent[False].clear()
        elif self._trial <= _TRIED // 2:
            here_s, ahead_s = self._element_s(False), self._element_s(True)
            tried_s, other_s = (ahead_s, here_s) if self.ahead else (here_s, ahead_s)
            if not self._trial or tried_s > _HOPELESS * other_s:
                self._judge(here_s, ahead_s)
        return True

    def _judge(self, here_s: float, ahead_s: float) -> None:
        """Settles, by what an element takes both ways; for a thread for cheap elements only when it has won twice."""
        found, is_better = self._found, self._is_better(here_s, ahead_s)
        self.reason = f"an element takes {duration(ahead_s)} with the thread, and {duration(here_s)} without"
        is_first = is_better and found.ahead is not True and self._is_light() and not found.has_won
        self._settle(ahead=is_better and not is_first)
        if is_first:  # it may be chance, and the next experiment costs less than to keep a thread for nothing
            self.reason += "; of cheap elements that may be chance, and is tried once more"
            found.patience_s = _FIRST_PATIENCE_S
        found.has_won = is_first

    def _is_better(self, here_s: float, ahead_s: float) -> bool:
        """Returns whether a thread is worth it, by what an element takes both ways."""
        if self._is_light():
            return here_s - ahead_s > _HIDDEN * min(self._made_s, self._gap_s) / self._elements
        return ahead_s < _WORTH * here_s

    def _element_s(self, ahead: bool) -> float:
        """Returns what an element took lately, from one block to the next, without the longest pause of its consumer."""
        blocks = [*self._recent[ahead]] or [(0.0, 0.0, 1)]
        gaps_s = sorted(gap_s for _, gap_s, _ in blocks)
        if len(gaps_s) > 1:
            gaps_s[-1] = gaps_s[-2]
        seconds = sum(waited_s for waited_s, *_ in blocks) + sum(gaps_s)
        return seconds / sum(elements for *_, elements in blocks)

    def _try(self, *, ahead: bool) -> None:
        self.ahead, self._trial = ahead, _TRIED if ahead else _SKIPPED + _TRIED
        if ahead:
            self._recent[True].clear()
        self._found.budget.tried(0.0)  # what a change costs

    def _settle(self, *, ahead: bool) -> None:
        was_trying, self._trial = self._trial is not None, None
        found = self._found
        if ahead:
            # After a trial of the other way: nothing has changed.
            is_same = was_trying and not self.ahead
            found.interval = min(4 * found.interval, _LAST_INTERVAL) if is_same else _FIRST_INTERVAL
            found.left = found.interval
            if is_same:  # it has done for long
                found.grown_s, found.useless_at_s = _FIRST_PATIENCE_S, None
            found.patience_s = found.grown_s
        else:
            found.patience_s = found.grown_s = min(_PATIENCE_GROWTH * found.grown_s, _LAST_PATIENCE_S)
            # The most of all times: what comes and goes is no other consumer.
            lately_s = self._lately_hideable_s / max(1.0, self._lately_elements)
            found.useless_at_s = max(lately_s, found.useless_at_s or 0.0)
        found.hideable_s, found.lost_s, self._is_measured = 0.0, 0.0, False
        self.ahead = found.ahead = ahead


_FOUND: Final = Lasting(_Found)


def overlap_of(operations: tuple[object, ...], *, is_pulled_on: bool = False) -> OverlapTuner:
    """Returns the tuner of one run of a prefetch, which knows what others have found."""
    return OverlapTuner(_FOUND.of(operations), is_pulled_on=is_pulled_on)
