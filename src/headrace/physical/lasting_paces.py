"""How much is asked for at once, from one epoch to the next: an operation begins with what the latest run of it has learned."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Protocol, Self, TypeVar

from headrace.physical.pace import Pace
from headrace.physical.run_policy import RunPolicy
from headrace.physical.workers.lasting import Lasting

__all__ = ["begun_like_latest"]


class _Learning(Protocol):
    """What learns how much pays while a run goes on."""

    def begin_like(self, before: Self) -> None:
        """Begins with what another has learned of the same work."""
        ...


L = TypeVar("L", bound=_Learning)


class _Latest:
    """What the latest run has learned."""

    learned: Any = None


_LATEST: Final = Lasting(lambda _: _Latest())


def begun_like_latest(learning: L, policy: RunPolicy, operations: tuple[object, ...], role: Hashable) -> L:
    """Returns what begins to learn of an operation, with what the latest run of that has learned.

    Args:
        learning: what is new.
        policy: of the run, whose blocks may have sizes that are no matter of learning.
        operations: whose it is; what is known is kept as long as the first of them.
        role: what of it: an operation may have several.
    """
    latest = _LATEST.of(operations, role)
    if latest.learned is not None and policy.pace is Pace:
        learning.begin_like(latest.learned)
    latest.learned = learning
    return learning
