"""The case that a number stands for: a plan of the laws, and the ranks that read it one after the other until they are stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st
from tests.cases.killing import Kill, described_within, kills
from tests.cases.numbered import numbered
from tests.laws.jobs import Job, job_sources, job_steps
from tests.laws.plans import recipe_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.laws.elements import Build, Named
    from tests.laws.plans import Recipe

__all__ = ["MOST", "Case", "Turn", "case_of"]

# So many steps of a plan are played.
MOST: Final = 8
_STREAMS: Final = (1, 2, 3, 4, 6, 8, 12, 24)


@dataclass(frozen=True, slots=True)
class Turn:
    """One job that reads a part of the steps.

    Attributes:
        ranks: how many processes it has.
        executors: of the ranks, in turns.
        stops: after how many steps each rank is stopped, in turns.
        every: after how many steps each rank saves.
        saves_first: whether it saves before its first step as well.
        closes: whether a rank that is stopped closes what it has open, or just exits.
        kills: which rank is killed where; the number of a rank is taken modulo their count.
    """

    ranks: int
    executors: tuple[str, ...]
    stops: tuple[int, ...]
    every: int
    saves_first: bool
    closes: bool
    kills: tuple[tuple[int, Kill], ...]

    def executor(self, rank: int) -> str:
        return self.executors[rank % len(self.executors)]

    def stop(self, rank: int) -> int:
        return self.stops[rank % len(self.stops)]

    def kill(self, rank: int) -> Kill | None:
        return {number % self.ranks: kill for number, kill in self.kills}.get(rank)


@dataclass(frozen=True, slots=True)
class Case:
    """A plan that is dealt, and the jobs that read it; the last one comes to the end."""

    source: tuple[str, Build]
    steps: tuple[Named, ...]
    streams: int
    batch: int
    end: str
    epoch: int
    turns: tuple[Turn, ...]

    @property
    def recipe(self) -> Recipe:
        """The plan that is dealt."""
        return recipe_of(self.source, self.steps)

    def smaller(self, steps: int, streams: int) -> Case:
        """Returns the case with so many of its steps and so many streams, and no more ranks than they allow."""
        turns = tuple(replace(turn, ranks=math.gcd(turn.ranks, streams)) for turn in self.turns)
        return replace(self, steps=self.steps[:steps], streams=streams, turns=turns)

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Yields how many steps and streams the case could have, those that were drawn first: not every plan can be dealt."""
        for steps in range(len(self.steps), -1, -1):
            for streams in reversed(_STREAMS):
                if self.streams % streams == 0:
                    yield steps, streams

    def __str__(self) -> str:
        numbers = ", then ".join(str(turn.ranks) for turn in self.turns)
        dealt = f"distributed_batch({self.batch}, num_streams={self.streams}, end={self.end!r})"
        return f"{self.recipe}.{dealt} in epoch {self.epoch} on {numbers} ranks"

    def job(self, ranks: int, executor: str, steps: int | None, *, begins: bool, optimize: bool | None = None) -> Job:
        """Returns the job of so many ranks; one that ``begins`` has the seed and the epoch, others know them from a state."""
        return Job(
            self.recipe,
            self.streams,
            ranks,
            steps,
            executor,
            seed=7 if begins else None,
            end=self.end,
            batch=self.batch,
            seen=described_within,
            epoch=self.epoch if begins else 0,
            optimize=optimize,
        )


_SOURCES: Final = job_sources(st.integers(20, 300))
_STEPS: Final = job_steps().map(tuple)


def _turns(streams: int) -> st.SearchStrategy[Turn]:
    return st.builds(
        Turn,
        ranks=st.sampled_from([ranks for ranks in _STREAMS if streams % ranks == 0]),
        executors=st.lists(st.sampled_from(["thread", "thread", "inline"]), min_size=1, max_size=3).map(tuple),
        stops=st.lists(st.integers(0, MOST - 2), min_size=2, max_size=4).map(tuple),
        every=st.sampled_from([1, 1, 1, 2, 3]),
        saves_first=st.sampled_from([True, True, True, True, True, False]),
        closes=st.booleans(),
        kills=st.lists(st.tuples(st.integers(0, 23), kills()), max_size=2).map(tuple),
    )


def _cases(streams: int) -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        source=_SOURCES,
        steps=_STEPS,
        streams=st.just(streams),
        batch=st.integers(1, max(1, 12 // streams)).map(lambda each: each * streams),
        end=st.sampled_from(["drop", "pad"]),
        epoch=st.sampled_from([0, 0, 1]),
        turns=st.lists(_turns(streams), min_size=2, max_size=4).map(tuple),
    )


# Made once: to make such strategies takes longer than to draw from them.
_CASES: Final = {streams: _cases(streams) for streams in _STREAMS}


case_of: Final = numbered(st.sampled_from(_STREAMS).flatmap(_CASES.__getitem__))
