"""What a run gets: threads, processes, memory, and somebody who looks whether it hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.arguments import AUTOTUNE
from headrace.machine import current_share
from headrace.observe.failures import Failures
from headrace.optimize.add_final_prefetch import has_parallel_work
from headrace.physical.budget import Budget
from headrace.physical.run_policy import RunPolicy
from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.calling import wants_processes
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate
from headrace.plan.grouping import Batch, Unbatch
from headrace.plan.node import Node, nodes_of, parallel_calls_of, reads_ahead
from headrace.plan.options import Options
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.plan.shuffling import Shuffle
from headrace.plan.sources import FromTensors, FromTensorSlices, RandomSource, Range
from headrace.semantics.held_bytes import owner_of

if TYPE_CHECKING:
    from headrace.backends.process import ProcessCalls

__all__ = ["budget", "elsewhere", "may_hang", "uses_threads", "workers"]

# What only counts, moves and copies; anything else waits for a file, or calls a function that may never return.
_NEVER_HANGS: Final = (
    Range,
    FromTensors,
    FromTensorSlices,
    RandomSource,
    Take,
    Skip,
    Shard,
    Repeat,
    Concatenate,
    Shuffle,
    Zip,
    Enumerate,
    Batch,
    Unbatch,
    Prefetch,
    WithOptions,
)


def may_hang(plan: Node) -> bool:
    """Returns whether anything of the plan can take for ever, so that it is worth a look."""
    return not all(isinstance(node, _NEVER_HANGS) for node in nodes_of(plan))


def elsewhere(plan: Node, options: Options, workers: int, failures: Failures, budget: Budget) -> ProcessCalls | None:
    """Returns the processes that call functions of the plan; None where all are called here."""
    if not wants_processes(plan, options):
        return None
    from headrace.backends.process import process_calls_of  # what few programs use

    return process_calls_of(plan, options, workers, failures, budget)


def uses_threads(plan: Node) -> bool:
    """Returns whether anything of the plan may have a thread of its own."""
    return has_parallel_work(plan) or any(isinstance(node, Prefetch) or reads_ahead(node) for node in nodes_of(plan))


def workers(wanted: list[int], cores: int, options: Options) -> int:
    """Returns how many workers give every operation as many calls at once as it was promised."""
    fixed = sum(calls for calls in wanted if calls != AUTOTUNE)
    tuned = cores if AUTOTUNE in wanted else 0
    total = max(1, fixed + tuned)
    return total if options.num_workers is None else min(total, options.num_workers)


def budget(plan: Node, options: Options, *, feeds: int, policy: RunPolicy) -> Budget:
    """Returns what was stated; else a quarter of the memory that this process may take: model and framework need the rest."""
    nodes = list(nodes_of(plan))
    ahead = sum(
        isinstance(node, Prefetch) or reads_ahead(node) or parallel_calls_of(node) is not None for node in nodes
    )
    sources = [node for node in nodes if isinstance(node, FromTensorSlices)]
    present = frozenset(id(owner_of(column)) for node in sources for column in node.columns)
    memory_bytes = current_share().memory_bytes
    if options.ram_budget is not None:
        whole_bytes = max(options.ram_budget, memory_bytes)
        return policy.budget(options.ram_budget, parts=ahead + feeds, whole_bytes=whole_bytes, present=present)
    return policy.budget(max(1, memory_bytes // 4), parts=ahead + feeds, most_bytes=memory_bytes, present=present)
