"""``headrace ranks check MODULE:FUNCTION``: runs a plan as jobs of several numbers of ranks, and compares their global batches."""

from __future__ import annotations

import functools
import hashlib
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from headrace.cli.loading import built, function_named
from headrace.cli.ranks.finding import as_rank, culprit_of, other_plan
from headrace.cli.ranks.running import FAILED, Build, Leg, first_difference, run_job
from headrace.dataset import Dataset
from headrace.plan.dealing_batch import DistributedBatch, divisors
from headrace.plan.dealt import dealing_of

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

# Numbers of ranks that are tried where none are given.
_MOST_TRIED: Final = 4


@app.callback()
def _ranks() -> None:
    """Checks that a plan gives the same global batches on any number of ranks."""


@app.command()
def check(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="Returns a Dataset with distributed_batch, or is one; or FILE.py:FUNCTION.",
        ),
    ],
    ranks: Annotated[
        str | None,
        typer.Option("--ranks", help="Numbers of ranks, as 8,6,12,1. [default: some that divide the streams]"),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="How many global batches are compared.")] = 50,
    seed: Annotated[int, typer.Option("--seed", help="Decides at which steps jobs are stopped.")] = 0,
) -> None:
    """Runs a plan as so many ranks in one process, stops and restores it across their numbers, and compares every global batch.

    Ends with status 1 if one differs, and names the operation that makes it differ.
    """
    function = function_named(target)
    dealing = _dealing(built(function, target), target)
    numbers = _numbers(ranks, dealing)
    console = Console(highlight=False)
    console.print(f"{target}: global batches of {dealing.global_batch_size}, dealt to {dealing.num_streams} streams")
    build: Build = functools.partial(_rank_of, function, target)
    differs = other_plan(build, numbers)
    if differs is not None:
        console.print(
            f"The plan is not the same on all ranks: {differs}. {target} must return one plan, whatever the rank: distributed_batch deals it."
        )
        raise typer.Exit(1)
    _Check(build, numbers, dealing.global_batch_size, console).run(steps, random.Random(seed))


def _rank_of(function: Callable[[], Any], target: str, rank: int, ranks: int) -> Dataset:
    return as_rank(built(function, target, rank, ranks), rank, ranks)


def _dealing(dataset: Dataset, target: str) -> DistributedBatch:
    dealing = dealing_of(dataset.__headrace_plan__())
    if dealing is None:
        raise typer.BadParameter(
            f"the dataset of {target} is not dealt to ranks: put distributed_batch(n) where batch(n) stands"
        )
    return dealing


def _numbers(given: str | None, dealing: DistributedBatch) -> list[int]:
    """Returns the numbers of ranks, the first of which all others are compared with."""
    would_do = divisors(dealing.num_streams)
    if given is None:
        few = [number for number in would_do if number <= 16]
        return sorted({*few[-_MOST_TRIED + 1 :], 1}, reverse=True)
    try:
        numbers = [int(number) for number in given.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--ranks takes numbers with commas between, as 8,6,12,1, not {given!r}") from None
    wrong = [number for number in numbers if number not in would_do]
    if wrong:
        raise typer.BadParameter(
            f"{_listed(wrong)} {'does' if len(wrong) == 1 else 'do'} not divide the {dealing.num_streams} streams: "
            f"{_listed(would_do, 'or')} would do{_other_streams(numbers, dealing)}"
        )
    return list(dict.fromkeys(numbers))


def _other_streams(numbers: Sequence[int], dealing: DistributedBatch) -> str:
    if min(numbers) < 1:
        return ""
    common, size = math.lcm(*numbers), dealing.global_batch_size
    if size % common == 0:
        return f"; num_streams={common} in distributed_batch would do for all of yours"
    return f"; for all of yours num_streams={common}, and a global batch that {common} divides, as {-(-size // common) * common}"


class _Check:
    """One comparison, and what it prints."""

    def __init__(self, build: Build, numbers: list[int], size: int, console: Console) -> None:
        self._build = build
        self._numbers = numbers
        self._size = size
        self._console = console
        self._table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for heading in ("job", "steps", "elements", "content"):
            counts = heading in ("steps", "elements")
            self._table.add_column(heading, justify="right" if counts else "left", no_wrap=heading != "job")

    def run(self, steps: int, chance: random.Random) -> None:
        """Prints what each job gave; ends with status 1 at the first that differs."""
        first = [Leg(self._numbers[0], steps)]
        expected = self._given(first, steps)
        self._add(_name(first), expected)
        if not expected:
            self._console.print(
                "There is no global batch to compare: the dataset, or one of its streams, has too few elements for one."
            )
            raise typer.Exit(1)
        jobs = [[Leg(number, steps)] for number in self._numbers[1:]]
        # Behind the last whole batch ranks of an uneven end have had their last step, some before others.
        whole = sum(len(rows) == self._size or rows == [FAILED] for rows in expected)
        jobs += [_stopped(order, whole, steps, chance) for order in (self._numbers, self._numbers[::-1])]
        for legs in jobs:
            given = self._given(legs, steps)
            step = first_difference(expected, given)
            self._add(_name(legs), given, "" if step is None else f"differs in step {step}")
            if step is not None:
                self._console.print(self._table)
                self._explain(first, legs, step)
                raise typer.Exit(1)
        self._console.print(self._table)
        failed = sum(rows == [FAILED] for rows in expected)
        if failed:
            self._console.print(f"{failed} of {len(expected)} global batches had an element that failed, on all alike.")
        said = f"the same on {_listed(self._numbers)} {'rank' if self._numbers == [1] else 'ranks'}"
        self._console.print(said, style="bold green")

    def _given(self, legs: Sequence[Leg], steps: int) -> list[list[str]]:
        with _telling(self._console, _name(legs), steps) as told:
            return run_job(self._build, legs, self._size, told)

    def _add(self, name: str, batches: list[list[str]], content: str = "") -> None:
        rows = [row for batch in batches for row in batch]
        digest = hashlib.blake2b("".join(rows).encode(), digest_size=6).hexdigest()
        count = sum(row != FAILED for row in rows)
        self._table.add_row(name, f"{len(batches):,}", f"{count:,}", content or digest)

    def _explain(self, first: Sequence[Leg], legs: Sequence[Leg], step: int) -> None:
        """Prints which operation is at fault."""
        self._console.print(f"{_name(legs)}: not the elements of {_name(first)} in step {step}", style="bold red")
        with _telling(self._console, "looking for the operation", 0):
            culprit = culprit_of(self._build, first, legs, self._size)
        if culprit is None:
            self._console.print(
                "No operation before distributed_batch gave other elements when it was run again: what differs comes and goes."
            )
            return
        self._console.print(
            f"The first operation whose elements differ is {culprit.label}.", style="bold", markup=False
        )
        self._console.print(culprit.remedy)


def _stopped(numbers: Sequence[int], last: int, steps: int, chance: random.Random) -> list[Leg]:
    """Returns a job that goes on with each of the numbers in turn, stopped at random steps, none behind the ``last``."""
    order = [*numbers] if len(numbers) > 1 else [numbers[0]] * 2
    cuts = sorted(chance.choices(range(last + 1), k=len(order) - 1))
    return [Leg(number, end - begin) for number, begin, end in zip(order, [0, *cuts], [*cuts, steps], strict=True)]


def _name(legs: Sequence[Leg]) -> str:
    if len(legs) == 1:
        return _ranks_in_words(legs[0].ranks)
    ends = [sum(leg.steps for leg in legs[: number + 1]) for number in range(len(legs) - 1)]
    return f"{', then '.join(str(leg.ranks) for leg in legs)} ranks, stopped after step {_listed(ends)}"


def _ranks_in_words(number: int) -> str:
    return f"{number} rank{'s' if number != 1 else ''}"


def _listed(numbers: Sequence[int], word: str = "and") -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} {word} {last}" if most else last


@contextmanager
def _telling(console: Console, name: str, steps: int) -> Iterator[Callable[[int], object]]:
    """Yields what is called with the number of steps that are done; a terminal shows it."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(name) as status:
        yield lambda step: status.update(f"{name}: step {step} of {steps}")
