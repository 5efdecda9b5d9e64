"""How a plan is to run; never what its elements are."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Final

from headrace.arguments import check_runs, check_seconds
from headrace.errors import InvalidArgumentError

__all__ = ["EXECUTORS", "STALL_WARNING_S", "Options"]

EXECUTORS = ("thread", "process", "subprocess", "inline")
# What is slow answers sooner, and a person at a screen has not given up yet.
STALL_WARNING_S: Final = 30.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a whole pipeline; None leaves a setting as it is. Where two meet, the later one wins.

    Args:
        deterministic: False lets parallel stages deliver elements in the order in which they are done, but for plans that are dealt to
            ranks, which keep their order.
        seed: makes every random operation without a seed of its own reproducible.
        num_workers: how many threads the pipeline's one worker pool has at most, whatever its operations ask for. By default as
            many as all ``num_parallel_calls`` add up to; those left to ``hr.AUTOTUNE`` share one for each core that this
            process may use: by its affinity mask and its container's quota, divided by the number of the job's processes on the machine;
            those that are found to wait have threads of their own beside these.
        executor: ``"thread"``; ``"process"``, in which every ``map``, ``random_map`` and ``interleave`` with ``num_parallel_calls`` calls its
            function in processes; ``"subprocess"``, all of it in one process beside this one, with which it shares the memory of what it gives,
            so that its functions and the training loop do not wait for each other's Python lock; or ``"inline"``, the reference: element
            by element in the caller's thread.
        ram_budget: how many bytes the run may hold, beside a block in the hands of each stage. What must be held comes first: the
            buffer of a ``shuffle``, open groups of ``group_by_window`` and rows of ``pack``, a ``cache`` in memory, what
            ``unique`` has seen, elements that become a batch. What reads ahead (``prefetch``, parallel stages, a feed, what is on its
            way between processes) shares what that leaves. An element that
            is only a number in its source has 8 bytes; memory that elements share counts once, and arrays of
            ``from_tensor_slices`` and mapped files not at all. To hold more than a budget that was given is a
            ``ResourceExhaustedError`` that says by how much; more than the default is one warning, and an error beyond all
            memory that the process may take. A single element, as a batch is one, always passes. By default a quarter of the memory that this process may take, as
            the machine, its container and ``ulimit -v`` bound it, divided by the number of the job's processes on the machine; what the process has
            taken for other things is not looked at. ``stats()`` of the iterator tells what each stage holds; the guide has a page, *How much memory it takes*.
        optimize: False runs the plan as it was written.
        max_failures: how many elements each operation with ``on_error="skip"`` may leave out in an epoch; the next one that fails
            is an error.
        stall_warning_s: after how many seconds without an element a warning in the log names what holds it up, once a
            wait: each function that runs, its element, and the line where it is (the guide shows one under *When nothing comes*).
            30 by default; 0 is never.
        timeout_s: after how many seconds without an answer the function of a ``map`` or ``random_map`` is given up on one element, where
            the operation has no ``timeout_s`` of its own. Where anything has a timeout, a process has as long to start, to import what it
            needs, and for ``worker_init``, and a minute at least; then the run ends.
        max_restarts: how often a process that died is replaced in one run; its elements are made again. 10 by default.
        worker_init: a function without arguments that each process which calls functions calls first, in each run: the processes of
            ``executor="process"``, or where the run has none of these, that of ``"subprocess"``. One that takes the place of another
            calls it, too. ``hr.worker_info()`` tells it which one it is. In threads nothing calls it.
        rank: which of the processes of a job this one is, from 0 on, for ``distributed_batch``; by default what ``hr.ranks.current()``
            finds out.
        world_size: how many processes the job has.

    Raises:
        InvalidArgumentError: a number is not positive, or the executor is unknown.
        TypeError: a value is of the wrong type.

    Example:
        >>> import headrace as hr
        >>> ds = hr.Dataset.range(3).with_options(hr.Options(executor="inline"))
        >>> list(ds)
        [0, 1, 2]
    """

    deterministic: bool | None = None
    seed: int | None = None
    num_workers: int | None = None
    executor: str | None = None
    ram_budget: int | None = None
    optimize: bool | None = None
    max_failures: int | None = None
    stall_warning_s: float | None = None
    timeout_s: float | None = None
    max_restarts: int | None = None
    worker_init: Callable[[], object] | None = None
    rank: int | None = None
    world_size: int | None = None

    def __post_init__(self) -> None:
        for field in ("deterministic", "optimize"):
            self._check(field, bool)
        for field in ("seed", "num_workers", "ram_budget", "max_failures", "max_restarts", "rank", "world_size"):
            self._check(field, int)
        for field in ("num_workers", "ram_budget", "world_size"):
            value = getattr(self, field)
            if value is not None and value < 1:
                message = f"Options.{field} must be at least 1, not {value}"
                raise InvalidArgumentError(message)
        for field in ("max_failures", "max_restarts", "rank"):
            value = getattr(self, field)
            if value is not None and value < 0:
                raise InvalidArgumentError(f"Options.{field} must be at least 0, not {value}")
        self._check_seconds()
        check_seconds(self.timeout_s, field="timeout_s", stage="Options")
        if self.worker_init is not None:
            if not callable(self.worker_init):
                raise TypeError(f"Options.worker_init must be callable or None, not {type(self.worker_init).__name__}")
            check_runs(self.worker_init, stage="Options.worker_init")
        self._check("executor", str)
        if self.executor is not None and self.executor not in EXECUTORS:
            message = f"Options.executor must be one of {', '.join(map(repr, EXECUTORS))}, not {self.executor!r}"
            raise InvalidArgumentError(message)

    def _check_seconds(self) -> None:
        seconds = self.stall_warning_s
        if seconds is None:
            return
        if type(seconds) not in (int, float):
            raise TypeError(f"Options.stall_warning_s must be float or None, not {type(seconds).__name__}")
        if not 0 <= seconds < math.inf:
            raise InvalidArgumentError(f"Options.stall_warning_s must be 0 (never) or more, not {seconds}")

    def _check(self, field: str, kind: type) -> None:
        value = getattr(self, field)
        if value is None:
            return
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            message = f"Options.{field} must be {kind.__name__} or None, not {type(value).__name__}"
            raise TypeError(message)

    def merged(self, later: Options) -> Options:
        """Returns these options, overridden by what the later ones set."""
        changes = {
            field.name: getattr(later, field.name)
            for field in dataclasses.fields(later)
            if getattr(later, field.name) is not None
        }
        return dataclasses.replace(self, **changes)
