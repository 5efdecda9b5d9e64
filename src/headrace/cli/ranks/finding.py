"""Which operation makes a plan's global batches depend on the number of ranks, or differ from run to run."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

from headrace.cli.ranks.running import Build, Leg, digest_of, first_difference, run_job
from headrace.dataset import Dataset
from headrace.elements.structure import flatten
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.known_as import known_as
from headrace.plan.buffering import Prefetch, WithOptions, options_of
from headrace.plan.dealing_batch import DistributedBatch
from headrace.plan.dealt import dealing_of
from headrace.plan.elementwise import Map
from headrace.plan.fingerprint import fingerprint_of
from headrace.plan.node import Node, nodes_of
from headrace.plan.sources import FromGenerator

__all__ = ["Culprit", "as_rank", "culprit_of", "other_plan"]


@frozen
class Culprit:
    """What is found.

    Attributes:
        label: the operation, with its function's line.
        remedy: what to do about it.
    """

    label: str
    remedy: str


def as_rank(dataset: Dataset, rank: int, ranks: int) -> Dataset:
    """Returns the dataset up to its global batches, as a rank of so many runs it; with a seed where it has none."""
    plan = dataset.__headrace_plan__()
    dealing = dealing_of(plan)
    assert dealing is not None  # it was looked at before
    return _with_options(dealing, plan, rank, ranks)


def _with_options(dealing: Node, plan: Node, rank: int, ranks: int) -> Dataset:
    if isinstance(dealing, DistributedBatch) and dealing.group is not None:
        # All ranks are in one process, and cannot wait for each other: each goes on to its own end.
        dealing = dataclasses.replace(dealing, group=None, end="uneven", mask=None)
    options = options_of(plan)
    seed = 0 if options.seed is None else options.seed
    return Dataset(
        WithOptions(input=dealing, options=dataclasses.replace(options, rank=rank, world_size=ranks, seed=seed))
    )


def other_plan(build: Build, ranks: Sequence[int]) -> str | None:
    """Says which rank has another plan than rank 0 of the first job, and what in it differs first; None where all have one."""
    expected = fingerprint_of(build(0, ranks[0]).__headrace_plan__())
    for count in ranks:
        for rank in range(count):
            found = fingerprint_of(build(rank, count).__headrace_plan__())
            if found.digest == expected.digest:
                continue
            pairs = zip(expected.nodes, found.nodes, strict=False)
            one, other = next(((mine[0], theirs[0]) for mine, theirs in pairs if mine != theirs), ("its end", "more"))
            return f"rank {rank} of {count} has {other} where rank 0 of {ranks[0]} has {one}"
    return None


def culprit_of(build: Build, one: Sequence[Leg], other: Sequence[Leg], size: int) -> Culprit | None:
    """Returns the first operation, from the sources on, whose elements differ between two jobs; None where none does.

    Each prefix of the plan is dealt where it ends, and its elements are compared.
    """
    for number, node in enumerate(_operations(build(0, 1))):
        if isinstance(node, (Prefetch, WithOptions)):
            continue

        def prefix(rank: int, ranks: int, number: int = number) -> Dataset:
            return _dealt_at(build(rank, ranks), number, rank, ranks)

        with contextlib.suppress(InvalidArgumentError):  # what cannot be dealt there: the next one can
            if first_difference(run_job(prefix, one, size), run_job(prefix, other, size)) is not None:
                return Culprit(node.label, _remedy(node))
    return None


def _operations(dataset: Dataset) -> list[Node]:
    dealing = dealing_of(dataset.__headrace_plan__())
    assert dealing is not None  # as above
    return list(nodes_of(dealing.input))


def _dealt_at(dataset: Dataset, number: int, rank: int, ranks: int) -> Dataset:
    """Returns the plan up to one of its operations, dealt there; of each element a digest, as not all can be stacked."""
    plan = dataset.__headrace_plan__()
    dealing = dealing_of(plan)
    assert dealing is not None  # as above
    digests = Map(input=_operations(dataset)[number], function=_Digest())
    cut = DistributedBatch(
        input=digests, global_batch_size=dealing.global_batch_size, num_streams=dealing.num_streams, end="uneven"
    )
    return _with_options(cut, plan, rank, ranks)


@known_as("digest of an element")
class _Digest:
    """Returns what an element holds in a few letters."""

    def __call__(self, *parts: Any) -> str:
        return digest_of(flatten(parts)[0])


def _remedy(node: Node) -> str:
    if isinstance(node, FromGenerator):
        return "A generator must yield the same elements in the same order in every process and every run: give what is random in it a seed."
    if node.functions():
        return (
            "Its function must make of an element the same in every process and every run: for chance use random_map, which gives it a "
            "generator of random numbers; it should not ask for the rank, the time, or what it was called with before."
        )
    return "What it reads differs from process to process, or from run to run: files that are listed in another order, for example."
