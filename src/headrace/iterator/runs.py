"""The run behind an iterator: in this process, in one beside it, or in the process that this one is a copy of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.engine import Run, SmallRun
from headrace.iterator.saved_state import RunStart
from headrace.physical.lasting_paces import begun_like_latest
from headrace.physical.pace import Pace
from headrace.physical.run_policy import RunPolicy
from headrace.plan.buffering import options_of
from headrace.plan.calling import wants_processes
from headrace.plan.node import Node
from headrace.plan.options import Options

if TYPE_CHECKING:
    from headrace.backends.subprocess import RemoteRun
    from headrace.iterator.forked import ForkedRun

    AnyRun: TypeAlias = Run | SmallRun | RemoteRun | ForkedRun

__all__ = ["new_run", "pace_of", "prepare_run", "small_run"]


def small_run(plan: Node, *, calls: bool) -> SmallRun | None:
    """Returns the run of a quiet plan of few elements, or of one whose functions are called in turn; None where it needs a larger one."""
    if not calls:
        return SmallRun.of(plan)
    from headrace.engine.calling_run import CallingRun  # what larger plans do not need

    return CallingRun.of(plan)


def prepare_run(plan: Node) -> None:
    """Sees to it that a plan can run where its options say, before anything is asked of it.

    Raises:
        InvalidArgumentError: something in it cannot be sent to another process; the variable is named.
        MissingExtraError: this system has no such processes.
    """
    options = options_of(plan)
    if options.executor == "subprocess":
        from headrace.backends.subprocess import prepare as prepare_process  # what few programs use

        prepare_process(plan)
    elif options.executor != "inline" and wants_processes(plan, options):
        from headrace.backends.process import prepare as prepare_functions  # as above

        prepare_functions(plan)


def new_run(
    built: Node, start: RunStart, options: Options, *, feeds: int, policy: RunPolicy, most: int | None
) -> Run | RemoteRun:
    """Returns the run of a plan, which has not begun.

    Args:
        built: the plan, as it was written.
        start: from where it starts.
        options: say where it runs.
        feeds: how many buffers its reader fills.
        policy: what it does where it is free to choose.
        most: how many elements may be asked for at once; None is any number.
    """
    common: dict[str, Any] = {
        "seeds": start.seeds,
        "epoch": start.epoch,
        "fillings": start.fillings,
        "feeds": feeds,
        "policy": policy,
    }
    if options.executor != "subprocess":
        return Run(start.plan, options, **common)
    from headrace.backends.subprocess import RemoteRun  # what few programs use

    return RemoteRun(built, options, **common, most=most)


def pace_of(run: AnyRun, built: Node, policy: RunPolicy) -> Pace:
    """Returns how many elements to ask a run for at once."""
    pace = policy.pace()
    if isinstance(run, Run):
        pace.bytes_limit = min(pace.bytes_limit, run.block_bytes)
    return begun_like_latest(pace, policy, built.operations, "asked for")
