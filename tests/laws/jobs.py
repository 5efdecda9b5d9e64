"""Jobs of so many ranks, which one process can play, for the laws of ranks: what a rank runs, gives, and is to give."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from hypothesis import assume
from hypothesis import strategies as st
from tests.laws.plans import STEPS as FAMILIES
from tests.laws.plans import Recipe, recipe_of, sources
from tests.laws.sources_many_files import many_files
from tests.laws.steps_dealing import dealing

import headrace as hr
from headrace.elements.structure import flatten
from headrace.errors import HeadraceError, InvalidArgumentError

if TYPE_CHECKING:
    from tests.laws.elements import Build, Named

STREAMS: Final = (1, 2, 3, 4, 6, 12)
BATCH: Final = 12
# So many steps of a job are compared, unless more are asked for; a plan may be endless.
MOST: Final = 4
# A rank's part of a global batch; the class of the error that it has in its place; None at its end.
Given = list[str] | str | None


def job_sources(sizes: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[str, Build]]:
    """Sources of a job, also of as many files as it has streams."""
    return st.one_of(sources(sizes), many_files(sizes))


def job_steps() -> st.SearchStrategy[list[Named]]:
    """Steps before a plan is dealt, which it is once."""
    return st.lists(st.one_of(*(family() for family in FAMILIES if family is not dealing)), max_size=4)


def recipes() -> st.SearchStrategy[Recipe]:
    """Plans of enough elements for some global batches."""
    return st.builds(recipe_of, job_sources(st.integers(8, 60)), job_steps())


numbers = st.sampled_from(STREAMS)
jobs = st.tuples(recipes(), numbers)
executors = st.sampled_from(["thread", "inline"])


def described(*element: Any) -> str:
    """Returns an element in words, the same in every process, as elements that no batch could stack are compared as well."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(element))


@dataclasses.dataclass
class Job:
    """A plan as so many ranks of a job run it; each element is ``seen`` as something that can be stacked."""

    recipe: Recipe
    streams: int
    ranks: int
    steps: int | None
    executor: str
    seed: int | None = 7
    end: str = "drop"
    group: Callable[[int], int] | None = None
    batch: int = BATCH
    seen: Callable[..., Any] = described
    behind: tuple[Named, ...] = ()
    epoch: int = 0
    optimize: bool | None = None

    def iterators(self, stack: contextlib.ExitStack) -> list[hr.DatasetIterator]:
        """Returns those of all ranks."""
        return [stack.enter_context(self.iterator(rank)) for rank in range(self.ranks)]

    def iterator(self, rank: int) -> hr.DatasetIterator:
        """Returns that of a rank, in the epoch that is asked for."""
        dataset = self.dataset(rank)
        for _ in range(self.epoch):
            iter(dataset).close()
        return iter(dataset)

    def dataset(self, rank: int) -> hr.Dataset:
        whole = self.recipe.build().map(self.seen)
        dataset = whole.distributed_batch(
            self.batch, num_streams=self.streams, steps=self.steps, end=self.end, group=self.group
        )
        for _, operation in self.behind:
            dataset = operation(dataset)
        options = hr.Options(
            rank=rank, world_size=self.ranks, seed=self.seed, executor=self.executor, optimize=self.optimize
        )
        return dataset.with_options(options)


def step_of(iterator: hr.DatasetIterator) -> Given:
    try:
        leaves = flatten(next(iterator))[0]
    except StopIteration:
        return None
    except HeadraceError as error:
        return type(error).__name__
    return [str(row) for row in zip(*map(list, leaves), strict=True)]


def given_by_all(
    iterators: list[hr.DatasetIterator], *, most: int = MOST, together: bool = True
) -> Iterator[list[Given]]:
    """Yields what all ranks give, step by step, until all have ended; ``together`` if they must end after the same step."""
    for _ in range(most):
        parts = [step_of(iterator) for iterator in iterators]
        ended = parts.count(None)
        assert not together or ended in (0, len(parts)), "a rank ended before another"
        if ended == len(parts):
            return
        yield parts


def expected_of(streams: list[Given], ranks: int) -> list[Given]:
    """Returns what each of so many ranks is to give, of what each stream gave as a rank of its own."""
    parts: list[Given] = []
    for rank in range(ranks):
        own = streams[rank::ranks]
        if any(isinstance(given, str) for given in own):
            parts.append("failed")
        elif all(given is None for given in own):
            parts.append(None)
        else:  # in an uneven end some have fewer
            turns = itertools.zip_longest(*(given or [] for given in own))
            parts.append([row for rows in turns for row in rows if row is not None])
    return parts


def shown(parts: list[Given]) -> list[Given]:
    return ["failed" if isinstance(part, str) else part for part in parts]


def steps_of(recipe: Recipe, streams: int, end: str = "drop") -> int:
    """Returns how many steps a job of one rank has; a plan that cannot be dealt is not looked at."""
    steps = steps_alone(Job(recipe, streams, 1, None, "inline", end=end))
    assume(steps is not None)
    return steps or 0


def steps_alone(job: Job, most: int = MOST) -> int | None:
    """Returns how many steps a job of one rank has; None where its plan cannot be dealt."""
    with contextlib.ExitStack() as stack:
        try:
            iterators = job.iterators(stack)
        except InvalidArgumentError as refused:
            assert refused.stage == "distributed_batch"  # noqa: PT017 - it says what refused it
            return None
        return len(list(given_by_all(iterators, most=most)))
