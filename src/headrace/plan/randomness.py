"""Where a random operation's numbers come from: a seed, or entropy of its own, and a count of epochs."""

from __future__ import annotations

import dataclasses
import os
import threading
from typing import Final

from headrace.frozen import frozen
from headrace.plan.facts import fact
from headrace.plan.node import Node, nodes_of

__all__ = [
    "EpochCounter",
    "Randomness",
    "RankNumbers",
    "claim_epoch",
    "continue_after_epoch",
    "entropies_of",
    "randomness_of",
]


class EpochCounter:
    """Counts the iterators over one random operation; shared by every plan that contains it.

    The ranks of a job agree on the number without talking, as each counts its own: also where one process plays several.
    """

    __slots__ = ("upcoming",)

    def __init__(self) -> None:
        self.upcoming: dict[RankNumbers | None, int] = {}


# A rank, and how many there are.
RankNumbers = tuple[int, int]


@frozen(eq=False)
class Randomness:
    """What makes one operation random.

    Without a seed it has ``entropy``, drawn when it is made, so every process and every dataset differs. The
    entropy also tells one random operation from another, in whatever plan they stand.
    """

    seed: int | None = None
    entropy: int = dataclasses.field(default_factory=lambda: int.from_bytes(os.urandom(7), "big"))
    epochs: EpochCounter = dataclasses.field(default_factory=EpochCounter)

    @classmethod
    def of(cls, seed: int | None, *, stage: str) -> Randomness:
        """Returns the randomness that a user's seed, or None, asks for."""
        if seed is None:
            return cls()
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise TypeError(f"{stage}: seed must be an int or None, not {seed!r}")
        return cls(seed=seed.__index__())


def randomness_of(node: Node) -> Randomness | None:
    """Returns the randomness of a node that has one."""
    return getattr(node, "randomness", None)


@fact
def entropies_of(node: Node, inputs: list[frozenset[int]]) -> frozenset[int]:
    """Returns what tells the random operations of a plan from others."""
    found = randomness_of(node)
    sets = [entropies for entropies in inputs if entropies] + ([frozenset((found.entropy,))] if found else [])
    return sets[0] if len(sets) == 1 else frozenset().union(*sets)


_claiming: Final = threading.Lock()


def _counters(plan: Node) -> list[EpochCounter]:
    return [found.epochs for node in nodes_of(plan) if (found := randomness_of(node))]


def claim_epoch(plan: Node, rank: RankNumbers | None = None) -> int:
    """Returns the number of the epoch that a new iterator over the plan is; no later one of that rank gets it again."""
    counters = _counters(plan)
    with _claiming:
        epoch = max((counter.upcoming.get(rank, 0) for counter in counters), default=0)
        for counter in counters:
            counter.upcoming[rank] = epoch + 1
    return epoch


def continue_after_epoch(plan: Node, epoch: int, rank: RankNumbers | None = None) -> None:
    """Iterators that are made from now on are epochs after this one, which was resumed."""
    with _claiming:
        for counter in _counters(plan):
            counter.upcoming[rank] = max(counter.upcoming.get(rank, 0), epoch + 1)
