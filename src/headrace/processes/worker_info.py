"""Which worker this process is, and the function of the user's that it calls before it works."""

from __future__ import annotations

import time
from collections.abc import Callable

from headrace.errors import WorkerError, said
from headrace.frozen import frozen
from headrace.observe.frames import holds, since
from headrace.plan.node import function_label

__all__ = ["Inits", "WorkerInfo", "become", "worker_info"]


@frozen
class WorkerInfo:
    """Which worker of a run a process is.

    Attributes:
        index: its number, from 0 to ``num_workers - 1``; a process that takes the place of another has its number.
        num_workers: how many there may be.
        executor: ``"process"`` where it calls functions, ``"subprocess"`` where it has the whole pipeline.
    """

    index: int
    num_workers: int
    executor: str


_here: WorkerInfo | None = None


def worker_info() -> WorkerInfo | None:
    """Returns which worker this process is; None in a program of your own, and so in its threads.

    Elements must not depend on it: which worker gets which of them is left to the moment. It is for what a worker has of its own: a
    file for its log, one of several devices. What PyTorch's ``get_worker_info`` says in a worker of a ``DataLoader`` it does not say.

    Example:
        >>> import headrace as hr
        >>> hr.worker_info() is None
        True
        >>> def where(x):
        ...     info = hr.worker_info()
        ...     return info.executor, info.index, info.num_workers
        >>> ds = hr.Dataset.range(1).map(where).with_options(hr.Options(executor="subprocess"))
        >>> list(ds)
        [('subprocess', 0, 1)]
    """
    return _here


def become(info: WorkerInfo) -> None:
    """Notes which worker this process is from now on: one that is idle may be another one in the next run."""
    global _here  # noqa: PLW0603 - it is of the process
    _here = info


@holds(lambda at, _: (function_label("worker_init", at["init"]), None))
@since("since_s")
def _called(init: Callable[[], object]) -> None:
    since_s = time.perf_counter()  # noqa: F841 - for the report of what is held up
    init()


class Inits:
    """What ``Options(worker_init=)`` has called in this process for one run."""

    def __init__(self) -> None:
        self._called: list[Callable[[], object]] = []

    def call(self, init: Callable[[], object] | None) -> None:
        """Calls a function, unless that very one was called already.

        Raises:
            WorkerError: it failed.
        """
        if init is None or any(one is init for one in self._called):
            return
        try:
            _called(init)
        except BaseException as error:  # also sys.exit(): who waits for this process is to have it
            raise WorkerError(
                f"it failed in the process that it was to prepare: {type(error).__name__}: {said(error)}",
                stage=function_label("worker_init", init),
            ) from error
        self._called.append(init)
