"""The run of a small plan that calls functions, read by a function of another run: stages, and nothing of what a run has beside them.

Who watches over functions that hang is the outer run's, as with plans that are read whole (``inside``).
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from headrace import exiting
from headrace.blocks.block import Failure
from headrace.engine.ending import is_inside_run
from headrace.engine.small_run import SmallRun
from headrace.errors import FailedPreconditionError
from headrace.observe.failures import Failures
from headrace.observe.frames import begins
from headrace.observe.frames_held import let_go_of_frames_of_failed
from headrace.observe.recorder import Recorder
from headrace.observe.stalls import Vigil
from headrace.physical.few_calls import FewCalls
from headrace.physical.loop_policy import Patience
from headrace.physical.run_policy import USUAL
from headrace.physical.stage import pulled_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.observe.meter import Meter
    from headrace.observe.stalls import Stall
    from headrace.physical.stage import Item, Stage
    from headrace.plan.node import Node

__all__ = ["CallingRun"]

# So long each operation calls its function before what it made is handed on; less than in larger plans, as most are left after a few
# elements, and at first no longer than it takes to ask once more, as many are left after one.
_FIRST_S: Final = 25e-6
_A_BLOCK_S: Final = 250e-6


class _Loops:
    """How long loops go on before what they made is handed on; an element that takes longer is handed on alone."""

    probed: Final = USUAL.loops.probed

    def __init__(self) -> None:
        self.patience_s = _FIRST_S

    def patience(self) -> Patience:
        now_s = time.perf_counter
        return Patience(now_s, now_s() + self.patience_s, 1)


class CallingRun(SmallRun):
    """A run whose functions are called as elements are asked for.

    Args:
        plan: what runs.
        calls: its stages.
        root: what gives its elements.
        loops: how long these call functions at a time.
        start_s: when it began.
    """

    def __init__(self, plan: Node, calls: FewCalls, root: Stage, loops: _Loops, start_s: float) -> None:
        self._calls = calls
        self._loops = loops
        self._root: Stage | None = root
        self._puller: int | None = None
        super().__init__(plan, [], calls.done, start_s)

    @classmethod
    def of(cls, plan: Node) -> CallingRun | None:
        """Returns the run of a plan, if a function of an open run begins it and it has few elements and such operations alone."""
        if not is_inside_run() or Recorder.active is not None:
            return None
        exiting.hold()
        start_s = time.perf_counter()
        try:
            calls = FewCalls(plan, loops := _Loops())
        except Exception:  # noqa: BLE001 - an element's own methods may raise anything; its stage says which element it is
            return None
        return None if calls.root is None else cls(plan, calls, calls.root, loops, start_s)

    @property
    def first_elements(self) -> int:
        """How many elements to ask for first."""
        return 1

    @property
    def is_spent(self) -> bool:
        """Whether nothing comes any more but the end."""
        return self._root is None or self._root.is_spent

    def refuse_own_functions(self) -> None:
        """Refuses to be read by a function of the plan, which would wait for itself.

        Raises:
            FailedPreconditionError: it is.
        """
        if self._puller == threading.get_ident():
            raise FailedPreconditionError("a function cannot take elements from the iterator that is calling it")

    @begins
    def pull(self, limit: int) -> Item:
        """Returns the next elements, or a failure; None at the end, and when a function closed it."""
        root = self._root
        if root is None:
            return None
        self._puller = threading.get_ident()
        try:
            item = next(pulled_apart(root, limit))
            let_go_of_frames_of_failed()
            self._loops.patience_s = _A_BLOCK_S
            if isinstance(item, Failure):
                self._failed = self._failed or Failures()
                self._failed.note(item.error, "raised")
            return item if self._open else None
        finally:
            self._puller = None

    def stalls(self) -> tuple[Stall, ...]:
        """Returns what the thread that reads it holds at this moment."""
        puller = self._puller
        return Vigil(self, lambda: [] if puller is None else [puller], None).stalls()

    def ends(self) -> bool:
        """Ends it, and returns whether it was open until now."""
        self._root = None  # with what it made and nobody took
        return super().ends()

    def _meters(self) -> Sequence[tuple[Node, Meter]]:
        return self._calls.meters

    drop = __del__ = SmallRun.close
