"""The case that a number stands for: a plan of the laws with a function that is faulty, and the programs that read it one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st
from tests.cases.killing import Kill, kills
from tests.cases.numbered import numbered
from tests.chaos.faulty import Fault, drawn_faults, enlarged, may_give_up
from tests.laws.plans import Recipe, recipes, unordered_recipes
from tests.laws.running import LIMIT, Way, unordered_ways, ways

import headrace as hr

if TYPE_CHECKING:
    from tests.laws.elements import Step

__all__ = ["EXECUTORS", "Case", "Outside", "Place", "Turn", "case_of"]

EXECUTORS: Final = ("thread", "inline", "subprocess", "process")
# Those in processes have most to lose.
_DRAWN_EXECUTORS: Final = (*EXECUTORS, "subprocess", "subprocess", "process", "process")
# Far beyond what an element takes on a machine that has much other work.
_DEADLINE_S: Final = 4.0
# Enough for every plan of elements in any order, which all end.
_WHOLE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Outside:
    """What somebody else does to a process of the program: ``kill``, or ``stop`` for a moment, after so many elements."""

    kind: str
    after: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One program that reads a part of the elements.

    Attributes:
        executor: where it runs them.
        way: how.
        stop: after how many elements it ends; None is with the last one.
        every: after how many elements it saves.
        saves_first: whether it saves before its first element as well.
        closes: whether it closes what it has open, or just exits.
        kill: where the program is killed itself.
        faults: of the function.
        outside: what comes from outside.
        room: how many bytes its caches may write before the disk is full, where it runs itself; None is enough.
    """

    executor: str
    way: Way
    stop: int | None = None
    every: int = 1
    saves_first: bool = True
    closes: bool = True
    kill: Kill | None = None
    faults: tuple[Fault, ...] = ()
    outside: tuple[Outside, ...] = ()
    room: int | None = None

    @property
    def full_way(self) -> Way:
        """How it runs them, with its executor."""
        options = hr.Options(executor=self.executor, max_restarts=1_000, timeout_s=_DEADLINE_S)
        return dataclasses.replace(self.way, options=self.way.options.merged(options))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the function is called: after how many of the plan's steps, by how many workers, and of which kind if not the run's."""

    after: int
    calls: int
    executor: str | None

    def step(self, function: Callable[..., Any]) -> Step:
        """Returns the step of a plan."""
        return lambda dataset: dataset.map(function, num_parallel_calls=self.calls, executor=self.executor)


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, and the programs that read it; the last one comes to the end without a fault.

    Attributes:
        recipe: the plan.
        in_order: whether its elements come in one order only.
        is_large: whether its elements are paired with arrays that travel by shared memory.
        places: where the function is called.
        turns: the programs.
    """

    recipe: Recipe
    in_order: bool
    is_large: bool
    places: tuple[Place, ...]
    turns: tuple[Turn, ...]

    @property
    def limit(self) -> int:
        """So many elements are read, at most."""
        return LIMIT if self.in_order else _WHOLE

    def plan(self, function: Callable[..., Any]) -> hr.Dataset:
        """Returns the plan, with that function at its places."""
        steps = list(self.recipe.steps)
        for place in sorted(self.places, key=lambda place: place.after, reverse=True):
            steps.insert(min(place.after, len(self.recipe.steps)), place.step(function))
        if self.is_large:
            steps.append(lambda dataset: dataset.map(enlarged))
        return dataclasses.replace(self.recipe, steps=tuple(steps)).build()

    def dies_here(self, turn: Turn) -> bool:
        """Whether the function is called in the program itself."""
        return turn.executor == "inline" or (
            turn.executor == "thread" and any(place.executor is None for place in self.places)
        )

    def __str__(self) -> str:
        turns = "\n".join(f"    {number}: {turn}" for number, turn in enumerate(self.turns))
        large = ", with large arrays" if self.is_large else ""
        return f"{self.recipe}, touched in {self.places}{large}\n{turns}"


def _turns(ways_: st.SearchStrategy[Way]) -> st.SearchStrategy[Turn]:
    return st.builds(
        Turn,
        executor=st.sampled_from(_DRAWN_EXECUTORS),
        way=ways_,
        stop=st.one_of(st.none(), st.integers(0, 20)),
        every=st.sampled_from([1, 1, 2, 5]),
        saves_first=st.sampled_from([True, True, True, False]),
        closes=st.booleans(),
        kill=st.sampled_from([False, False, True]).flatmap(lambda dies: kills() if dies else st.none()),
        faults=st.lists(drawn_faults(), min_size=1, max_size=2).map(tuple),
        outside=st.lists(st.builds(Outside, st.sampled_from(["kill", "stop"]), st.integers(0, 20)), max_size=2).map(
            tuple
        ),
        room=st.sampled_from([None, None, None, 0, 300, 2_000]),
    )


def _last(ways_: st.SearchStrategy[Way]) -> st.SearchStrategy[Turn]:
    return st.builds(Turn, executor=st.sampled_from(EXECUTORS), way=ways_)


def _loses_nothing(case: Case) -> bool:
    """Whether no element may fail on its own where the plan does not give that on.

    ``ignore_errors`` drops what hung, or killed its process again, and so does ``unique`` while it reads again what it had seen.
    """
    if not any(name in str(case.recipe) for name in ("ignore_errors", "unique")):
        return True
    return all(not may_give_up(turn.faults, killed=len(turn.outside)) for turn in case.turns)


def _cases(
    plans: st.SearchStrategy[Recipe], ways_: st.SearchStrategy[Way], *, in_order: bool
) -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        recipe=plans.filter(lambda recipe: "in memory" not in str(recipe)),  # such files are their process's own
        in_order=st.just(in_order),
        is_large=st.booleans(),
        places=st.lists(
            st.builds(Place, st.integers(0, 5), st.integers(1, 3), st.sampled_from([None, None, "process"])),
            min_size=1,
            max_size=2,
        ).map(tuple),
        turns=st.builds(
            lambda turns, last: (*turns, last), st.lists(_turns(ways_), min_size=1, max_size=3), _last(ways_)
        ),
    ).filter(_loses_nothing)


# Whether the elements come in one order only.
_CASES: Final = {
    True: _cases(recipes(max_steps=4, sizes=st.integers(3, 60)), ways(), in_order=True),
    False: _cases(unordered_recipes(), unordered_ways(), in_order=False),
}

case_of: Final = numbered(st.sampled_from([True, True, True, False]).flatmap(_CASES.__getitem__))
