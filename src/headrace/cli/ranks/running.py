"""A job of many ranks in one process: all iterators side by side, and what their global batches hold."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.dataset import Dataset
from headrace.elements.structure import flatten
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.iterator import DatasetIterator
from headrace.iterator.merging import merge_states

__all__ = ["FAILED", "Build", "Leg", "digest_of", "first_difference", "run_job"]

# Makes the dataset of a rank of so many.
Build = Callable[[int, int], Dataset]
# A global batch: a digest of each element.
Rows = list[str]
# In place of the elements that a failure took along.
FAILED: Final = "failed"


@frozen
class Leg:
    """A part of a job.

    Attributes:
        ranks: how many run it.
        steps: for how many steps.
    """

    ranks: int
    steps: int


def run_job(build: Build, legs: Sequence[Leg], size: int, told: Callable[[int], object] = lambda _: None) -> list[Rows]:
    """Returns the global batches of a job that goes on with other ranks after each leg.

    Args:
        build: makes the dataset of a rank.
        legs: the parts of the job; between two of them its states go through JSON.
        size: of a global batch.
        told: is called with the number of steps, after each.

    Raises:
        HeadraceError: nothing but errors came; or the states of the ranks cannot be merged or loaded.
    """
    batches: list[Rows] = []
    errors: list[HeadraceError] = []
    state: dict[str, Any] | None = None
    for leg in legs:
        with contextlib.ExitStack() as stack:
            iterators = [stack.enter_context(_iterator(build(rank, leg.ranks))) for rank in range(leg.ranks)]
            for iterator in iterators if state is not None else ():
                iterator.load_state_dict(state or {})
            for _ in range(leg.steps):
                parts = [_part(iterator, errors) for iterator in iterators]
                if all(part is None for part in parts):
                    break
                batches.append(_global(parts, size))
                told(len(batches))
            if leg is not legs[-1]:
                state = json.loads(json.dumps(merge_states([iterator.state_dict() for iterator in iterators])))
    if errors and all(rows[0] == FAILED for rows in batches):
        raise errors[0]
    return batches


def _iterator(dataset: Dataset) -> DatasetIterator:
    """Returns a run of the first epoch, as each process of a job has one, also where the function returns one dataset again and again."""
    return DatasetIterator(dataset.__headrace_plan__(), counts=False)


def _part(iterator: DatasetIterator, errors: list[HeadraceError]) -> Rows | None:
    """Returns the next batch of a rank; None at its end."""
    try:
        batch = next(iterator)
    except StopIteration:
        return None
    except HeadraceError as error:
        errors.append(error)
        return [FAILED]
    leaves = flatten(batch)[0]
    return [digest_of([leaf[row] for leaf in leaves]) for row in range(len(leaves[0]))]


def _global(parts: list[Rows | None], size: int) -> Rows:
    """Puts the ranks' parts together; in a batch that is not whole the order is not that of rows any more."""
    rows = [part or [] for part in parts]
    if [FAILED] in rows:
        return [FAILED]
    if sum(map(len, rows)) < size:
        return sorted(row for part in rows for row in part)
    return [row for turn in zip(*rows, strict=True) for row in turn]


def digest_of(leaves: Sequence[Any]) -> str:
    """Returns a digest of the content of an element."""
    digest = hashlib.blake2b(digest_size=8)
    for leaf in leaves:
        if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind != "O":
            digest.update(f"{leaf.dtype.str}{leaf.shape}".encode() + np.ascontiguousarray(leaf).tobytes())
        else:
            digest.update(f"{type(leaf).__name__}{leaf!r}".encode())
    return digest.hexdigest()


def first_difference(one: Sequence[Rows], other: Sequence[Rows]) -> int | None:
    """Returns the first step, from 0 on, in which two jobs have other global batches; None where there is none."""
    for step, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return step
    return None if len(one) == len(other) else min(len(one), len(other))
