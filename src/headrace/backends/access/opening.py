"""The access to a whole plan."""

from __future__ import annotations

from headrace.backends.access.dispatch import Access, access_of
from headrace.plan.buffering import options_of
from headrace.plan.node import Node
from headrace.plan.timeouts import with_timeouts
from headrace.semantics.cache_keys import with_keys_of_run
from headrace.semantics.held_bytes import HeldBytes
from headrace.semantics.meters import Meters
from headrace.semantics.run_context import RunContext, Seeds

__all__ = ["element_access"]


def element_access(plan: Node) -> Access:
    """Returns the access to a plan's elements, in the order of its first epoch.

    Raises:
        TypeError: only a run could tell which element has which index; the operation is named.
    """
    options = options_of(plan)
    seeds = Seeds.of(plan, seed=options.seed, entropy=0)  # functions that draw from it make plans, and have no access
    return access_of(
        with_timeouts(with_keys_of_run(plan, seeds, options), options.timeout_s),
        RunContext(seeds=seeds, meters=Meters(), budget=HeldBytes(1)),
    )
