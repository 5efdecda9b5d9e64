"""The question: 8 ranks save after four steps of an epoch, and 6 go on to its end; or 6 save, and 12 go on. What is lost, doubled, or refused?

A library is asked twice. *Numbers*: 0 to 479, shuffled over everything. *Mixture*: three sources of numbers, drawn 5:3:2, without the multiples
of 7, shuffled in a window. What it gives is compared with what it gives itself on 8 ranks that nobody stops, so no library is held to
another's order. A rank of the new job gets the state that its library has for it; where the library has no way to make one of
several, that is the state of the rank of the same number, counted over again where there are more, as there is nothing else that one could do.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

TURNS: Final = ((8, 6), (6, 12))  # how many ranks save, and how many go on
STEPS: Final = 4  # after which the first ones save
BATCH: Final = 24  # numbers in a global batch
NUMBERS: Final = 480
SOURCES: Final = (range(240), range(1000, 1144), range(2000, 2096))
WEIGHTS: Final = (0.5, 0.3, 0.2)
WINDOW: Final = 48  # over all ranks


def kept(number: int) -> bool:
    """What the filter of the mixture lets through."""
    return number % 7 != 0


@dataclass(frozen=True, slots=True)
class Open:
    """What one rank reads: lists of numbers, and where it is."""

    batches: Iterator[Sequence[int]]
    state: Callable[[], Any]


# Rank, number of ranks, and the state to go on from: opens what that rank reads.
Opening = Callable[[int, int, Any], Open]


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library, and how it is asked."""

    name: str
    package: str
    load: Callable[[], tuple[Opening, Opening]]  # of numbers and of the mixture; what it imports is there
    # Makes the states that so many new ranks are given, of those of all old ones.
    given: Callable[[list[Any], int], list[Any]] = lambda states, after: (states * after)[:after]


def answer(library: Library) -> dict[str, Any]:
    """What the library did, in words."""
    try:
        installed = version(library.package)
        numbers, mixture = library.load()
    except (PackageNotFoundError, ImportError):
        return {"name": library.name, "version": "", "numbers": ["not installed"], "mixture": ["not installed"]}
    return {
        "name": library.name,
        "version": f"{library.package} {installed}",
        "numbers": _asked(library, numbers),
        "mixture": _asked(library, mixture),
    }


def _asked(library: Library, opening: Opening) -> list[str]:
    """The answer for each turn, or one for both."""
    answers = [_turned(library, opening, before, after) for before, after in TURNS]
    if len(set(answers)) == 1:
        return [f"{_arrows()}: {answers[0]}"]
    return [f"{before} → {after}: {said}" for (before, after), said in zip(TURNS, answers, strict=True)]


def _arrows() -> str:
    return ", ".join(f"{before} → {after}" for before, after in TURNS)


def _turned(library: Library, opening: Opening, before: int, after: int) -> str:
    try:
        whole = _steps(opening, before, [None] * before)
        ranks = [opening(rank, before, None) for rank in range(before)]
        read = [_joined([next(rank.batches) for rank in ranks]) for _ in range(STEPS)]
        states = library.given([copy.deepcopy(rank.state()) for rank in ranks], after)
        later = _steps(opening, after, states)
    except Exception as refusal:  # noqa: BLE001 - whatever a library says is its answer
        return f"refused: {type(refusal).__name__}: {' '.join(str(refusal).split())[:160]}"
    return compared(whole, read + later)


def _steps(opening: Opening, ranks: int, states: Sequence[Any]) -> list[list[int]]:
    """The global batches to the end of the epoch; a rank that has ended gives nothing more."""
    opened = [opening(rank, ranks, states[rank]) for rank in range(ranks)]
    turns = itertools.zip_longest(*(one.batches for one in opened), fillvalue=())
    return [_joined(turn) for turn in turns]


def _joined(parts: Sequence[Sequence[int]]) -> list[int]:
    return sorted(int(number) for part in parts for number in part)


def compared(whole: list[list[int]], found: list[list[int]]) -> str:
    """What is lost and doubled of an epoch, and how many of the global batches after the stop are the same."""
    expected, got = (Counter(itertools.chain.from_iterable(steps)) for steps in (whole, found))
    lost, doubled = (expected - got).total(), (got - expected).total()
    later = whole[STEPS:]
    same = sum(mine == theirs for mine, theirs in zip(later, found[STEPS:], strict=False))
    share = f"{same} of {len(later)} global batches equal"
    if not lost and not doubled:
        return f"nothing lost or doubled, {share}"
    return f"{lost} of {expected.total()} lost, {doubled} doubled, {share}"
