"""Which operations of a run are watched for how long they hold Python's lock, as processes would have one each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headrace.arguments import AUTOTUNE
from headrace.machine import current_share
from headrace.observe.lock_probe import can_probe
from headrace.observe.lock_use import LockUse, RunLockUse
from headrace.physical.workers.lasting import Lasting
from headrace.plan.elementwise import Map, MapChain, RandomMap
from headrace.plan.node import Node, nodes_of, parallel_calls_of
from headrace.plan.options import Options
from headrace.plan.vectorized import Vectorized

__all__ = ["lock_use_of"]

# What was seen of the operations of a plan, from one epoch to the next.
_SEEN: Final[Lasting[dict[str, LockUse]]] = Lasting(lambda _: {})


def lock_use_of(run: object, plan: Node, options: Options, threads: Callable[[], Sequence[int]]) -> RunLockUse | None:
    """Returns what will be seen of a run; None where there is nothing to see, or nothing that could be done."""
    maps = [node for node in nodes_of(plan) if isinstance(node, (Map, MapChain, RandomMap))]
    if not maps or not can_probe() or (cores := current_share().cores) < 2:
        return None
    processes = {node.label: count for node in maps if (count := _processes_for(node, options, cores))}
    if not processes:
        return None
    parts = {node.label: [one.label for one in node.maps] for node in maps if isinstance(node, MapChain)}
    kind = tuple((node.label, parallel_calls_of(node)) for node in maps), options.executor
    elsewhere = {node.label for node in nodes_of(plan) if _is_called_in_processes(node, options)}
    seen = _SEEN.of(plan.operations, kind)
    return RunLockUse(run, threads, processes, parts=parts, cores=cores, elsewhere=elsewhere, seen=seen)


def _processes_for(node: Map | MapChain | RandomMap, options: Options, cores: int) -> int:
    """Returns how many processes could call its functions; 0 where these are called in processes, or are a library's."""
    calls = parallel_calls_of(node)
    if isinstance(node, Map) and isinstance(node.function, Vectorized):
        return 0
    if _is_called_in_processes(node, options):
        return 0
    return cores if calls is None or calls == AUTOTUNE or calls < 2 else calls


def _is_called_in_processes(node: Node, options: Options) -> bool:
    executor = getattr(node, "executor", None)
    return parallel_calls_of(node) is not None and (options.executor if executor is None else executor) == "process"
