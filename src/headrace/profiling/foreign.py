"""Why steps wait for an iterable that is not headrace's: a torch DataLoader, a ``tf.data.Dataset``, a generator's maker.

Nothing can be seen inside of it. What can be seen from outside: when its elements come, which processors its process and
the children of that used meanwhile, and what they read from disks.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import psutil

from headrace.analysis.changes import held_ready
from headrace.analysis.figures import StepFigures
from headrace.analysis.finding import HARDLY, MARGIN, UNEVEN, Cause
from headrace.clock import MONOTONIC, Clock
from headrace.frozen import frozen
from headrace.machine import current_share
from headrace.observe.tables import data_size, duration, plain, quantity, share
from headrace.page.stairs import Window
from headrace.profiling.phases import ALONE, BESIDE, STEP, Epochs, Phase, Step, consume, keep
from headrace.profiling.profile import Verdict
from headrace.profiling.trial import dropped, step_figures

__all__ = ["ForeignProfile", "examined"]

# Less than half a core says that it mostly waits; one, give or take, that one thread at a time works; so near to all, that there are no more.
_HALF: Final = 0.5
_ONE: Final = 1.2
_ALL: Final = 0.85
# Less from disks, in bytes a second, is not worth a word.
_LITTLE: Final = 1e4


@frozen
class ForeignProfile:
    """What was found of an iterable; printed, it is the verdict and the figures.

    Attributes:
        kind: the class of the iterable.
        verdict: why steps wait; its ``stage`` is None, as nothing can be seen inside.
        steps_per_s: steps a second of step and iterable together; without a step, of the iterable.
        pipeline_per_s: elements a second of the iterable alone.
        cores_used: how many cores the process and its children kept busy, the iterable alone.
        cores: how many they may use.
        read_bytes_per_s: what they read from disks meanwhile; None where the system does not say.
        step_s: seconds of a step on elements that are there already; None without a step.
        step_beside_s: the same beside the iterable, without its waiting.
        waited_s: seconds that a step waited for its element.
        delayed_cores: how many of its threads waited for a core that other programs had; 0 where the system does not say.
        windows: the part of its time that a step waited, over the time that step and iterable ran together; empty without a step.
        workers: how many it has, where it says that (``num_workers`` of a DataLoader); else 1.
    """

    kind: str
    verdict: Verdict
    steps_per_s: float
    pipeline_per_s: float
    cores_used: float
    cores: int
    read_bytes_per_s: float | None
    step_s: float | None = None
    step_beside_s: float | None = None
    waited_s: float | None = None
    delayed_cores: float = 0.0
    windows: tuple[Window, ...] = ()
    workers: int = 1

    @property
    def reachable_per_s(self) -> float:
        """Elements a second, if there were a worker for each core; of what does not tell how many it has, who waits now is taken for one."""
        return self.pipeline_per_s * max(1.0, self.cores / max(self.workers, self.cores_used + self.delayed_cores))

    @property
    def reachable_steps_per_s(self) -> float | None:
        """Steps a second beside that, each element made while a step runs; None without a step."""
        return None if self.step_s is None else min(self.reachable_per_s, 1 / max(self.step_s, 1e-9))

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures as dicts, lists, numbers and texts, which JSON can hold."""
        figures: dict[str, Any] = plain(self)
        reachable = {"reachable_per_s": self.reachable_per_s, "reachable_steps_per_s": self.reachable_steps_per_s}
        return figures | reachable

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page with all that was found, as that of ``ds.profile()``."""
        from headrace.page.writing import write_page
        from headrace.profiling.page import foreign_page

        write_page(Path(path), foreign_page(self))

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        import html

        verdict, _, *told = str(self).split("\n")
        lines = "<br>".join(map(html.escape, told))
        return f"<div><p><strong>{html.escape(verdict)}</strong></p>{lines}</div>"

    def __str__(self) -> str:
        read_bytes_per_s = self.read_bytes_per_s or 0.0
        read = f", {data_size(read_bytes_per_s)}/s from disks" if read_bytes_per_s > _LITTLE else ""
        lines = [
            self.verdict.text,
            "",
            f"{self.kind} alone: {quantity(self.pipeline_per_s)} elements/s, {self.cores_used:.1f} of {self.cores} cores busy{read}",
        ]
        if self.verdict.cause != Cause.CONSUMER.value and self.workers < self.cores:
            lines.append(
                f"with a worker for each core: {quantity(self.reachable_per_s)} elements/s{self._told_of_steps()}"
            )
        return "\n".join(lines)

    def _told_of_steps(self) -> str:
        if self.reachable_steps_per_s is None:
            return ""
        ahead = f"{quantity(self.reachable_steps_per_s)} steps/s"
        return f", and made while a step runs {ahead} instead of {quantity(self.steps_per_s)}"


def examined(
    iterable: Iterable[Any], step: Step | None = None, seconds: float = 10.0, clock: Clock = MONOTONIC
) -> ForeignProfile:
    """Runs an iterable on trial, as ``ds.profile`` runs a dataset.

    Args:
        iterable: what gives elements, each time that it is iterated.
        step: what consumes one; None for the iterable alone.
        seconds: how long all of it takes, about.
        clock: what tells the time.

    Raises:
        InvalidArgumentError: it has no element, or its elements come only once.
    """
    beside = steps = None
    if step is not None:
        with closing(iter(Epochs(iterable))) as elements:
            beside = consume(elements, step, BESIDE * seconds, clock)
    with closing(iter(Epochs(iterable))) as elements:
        before, began_s = _Use.now(), clock.now_s()
        alone = consume(elements, dropped, seconds if step is None else ALONE * seconds, clock)
        used, took_s = _Use.now().since(before), max(1e-9, clock.now_s() - began_s)
        kept = keep(elements, STEP * seconds, clock) if step is not None else []
    if step is not None and beside is not None:
        steps = step_figures(beside, consume(itertools.cycle(kept), step, STEP * seconds, clock))
    kind, cores = _kind_of(iterable), current_share().cores
    cores_used, delayed_cores = used.cpu_s / took_s, used.delayed_s / took_s
    cause = _cause(steps, alone, cores_used + delayed_cores, cores)
    judged = steps or StepFigures(alone_s=0.0, beside_s=0.0, waited_s=1 / alone.rate)
    text = _sentence(cause, kind, steps, alone)
    return ForeignProfile(
        kind=kind,
        verdict=Verdict(cause.value, None, judged.waiting_share, text),
        steps_per_s=(beside or alone).rate,
        pipeline_per_s=alone.rate,
        cores_used=cores_used,
        cores=cores,
        read_bytes_per_s=None if used.read_bytes is None else used.read_bytes / took_s,
        step_s=None if steps is None else steps.alone_s,
        step_beside_s=None if steps is None else steps.beside_s,
        waited_s=None if steps is None else steps.waited_s,
        delayed_cores=delayed_cores,
        windows=() if beside is None else beside.windows,
        workers=_workers_of(iterable),
    )


@frozen
class _Use:
    """What this process and its children have used.

    Attributes:
        cpu_s: seconds of processors.
        delayed_s: seconds that their threads could have run, and had no processor.
        read_bytes: what they read from disks; None where the system does not say.
    """

    cpu_s: float
    delayed_s: float
    read_bytes: int | None

    @classmethod
    def now(cls) -> _Use:
        """Returns what they have used until now; children that have ended count as far as they were waited for."""
        own = psutil.Process()
        times = own.cpu_times()
        cpu_s = (
            times.user + times.system + getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        )
        read, delayed_s = _read_bytes(own), _delayed_s(own.pid)
        for child in own.children(recursive=True):
            try:
                times = child.cpu_times()
                cpu_s += times.user + times.system
                read = None if read is None else read + (_read_bytes(child) or 0)
                delayed_s += _delayed_s(child.pid)
            except psutil.Error:  # it has ended
                continue
        return cls(cpu_s, delayed_s, read)

    def since(self, before: _Use) -> _Use:
        """Returns what they have used from then on."""
        read = None if self.read_bytes is None or before.read_bytes is None else self.read_bytes - before.read_bytes
        return _Use(
            max(0.0, self.cpu_s - before.cpu_s),
            max(0.0, self.delayed_s - before.delayed_s),
            None if read is None else max(0, read),
        )


def _delayed_s(process: int) -> float:
    """Returns how long the threads of a process have waited for a processor; 0 where that is not told, as outside of Linux."""
    nanoseconds = 0
    for told in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # the thread has ended
            nanoseconds += int(told.read_text(encoding="ascii").split()[1])
    return nanoseconds / 1e9


def _read_bytes(process: psutil.Process) -> int | None:
    try:
        return int(process.io_counters().read_bytes)
    except (AttributeError, psutil.Error, OSError):  # macOS does not tell
        return None


def _cause(steps: StepFigures | None, alone: Phase, cores_needed: float, cores: int) -> Cause:
    if steps is not None:
        is_slowed = steps.beside_s > MARGIN * steps.alone_s
        if steps.waiting_share < HARDLY:
            return Cause.TRAINER_SLOWED if is_slowed else Cause.CONSUMER
        if alone.rate * steps.alone_s >= MARGIN:
            return Cause.BURST if steps.uneven_share > UNEVEN else Cause.BUFFER
    if cores_needed >= _ALL * cores:
        return Cause.MAP
    if cores_needed < _HALF:
        return Cause.SOURCE
    return Cause.GIL if cores_needed <= _ONE else Cause.PARALLELISM


def _sentence(cause: Cause, kind: str, steps: StepFigures | None, alone: Phase) -> str:
    gives = f"{kind} gives {quantity(alone.rate)} elements/s"
    if steps is None:
        return f"{gives}: {_reason(cause, kind, steps)}."
    waits = "Steps hardly wait ({})" if steps.waiting_share < HARDLY else "Steps wait {}"
    could = "any number" if steps.alone_s <= 0 else quantity(1 / steps.alone_s)
    opening = waits.format(f"{share(steps.waiting_share)} of the time")
    return f"{opening}: {gives}, and the step could take {could}; {_reason(cause, kind, steps)}."


def _reason(cause: Cause, kind: str, steps: StepFigures | None) -> str:
    if cause is Cause.BURST and steps is not None:
        ready = held_ready(steps)
        return f"that is enough, but it comes in bursts, {duration(steps.waited_longest_s)} apart: {ready:,} elements held ready would do"
    if cause is Cause.SOURCE:
        return f"most of that time no core is busy: it waits for a disk, a network or a lock, and more reads at once would help ({_words(kind, 'reads')})"
    if cause is Cause.GIL:
        return f"one core is busy: one thread at a time works, and processes would help ({_words(kind, 'processes')})"
    return _REASONS[cause]


def _words(kind: str, what: str) -> str:
    """Returns what to write for more of it at once, there and here."""
    ours = "num_parallel_calls= of headrace's map" + (', executor="process"' if what == "processes" else "")
    theirs = _THERE.get((kind, what))
    return f"{theirs}, or {ours}" if theirs else ours


def _workers_of(iterable: object) -> int:
    number = getattr(iterable, "num_workers", None)
    return max(1, number) if isinstance(number, int) else 1


def _kind_of(iterable: object) -> str:
    """Returns what its users call it: the operations of tf.data have private classes."""
    kind = type(iterable)
    return _TF_DATA if kind.__module__.startswith("tensorflow.python.data.") else kind.__name__


_TF_DATA: Final = "tf.data.Dataset"
_WORKERS: Final = "num_workers= of the DataLoader"
_THERE: Final = {
    ("DataLoader", "reads"): _WORKERS,
    ("DataLoader", "processes"): _WORKERS,
    (_TF_DATA, "reads"): "num_parallel_calls= of its map and interleave",
}
_REASONS: Final = {
    Cause.CONSUMER: "nothing in it would make steps faster",
    Cause.TRAINER_SLOWED: "beside it the step itself takes longer: they share Python's lock and the cores",
    Cause.BUFFER: "that is enough, but nothing is made while a step runs, or too little is held ready",
    Cause.PARALLELISM: "some cores are idle meanwhile, so that more workers would help",
    Cause.MAP: "all cores are busy: less work for each element, or more cores",
}
