"""The whole run: a job that nobody disturbs, and one that loses a process and goes on with other numbers of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Final

import headrace as hr
from examples.elastic.documents import Files
from examples.elastic.job import Job
from examples.elastic.pipeline import batch_hash
from examples.elastic.progress import Progress
from examples.elastic.saves import Merged, merge
from examples.elastic.worker import Began, Failed, Holds, Read, Saved, Task

UNDISTURBED: Final = "undisturbed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to happen: with how many processes, for how long, and where one is killed."""

    ranks: tuple[int, ...]  # of each job, one after the other
    steps: int  # of all together
    batch: int
    streams: int
    seed: int

    @property
    def ends(self) -> tuple[int, ...]:
        """The step before which each job ends; the first one is killed two steps earlier."""
        return tuple(self.steps * (number + 1) // len(self.ranks) for number in range(len(self.ranks)))

    @property
    def victim(self) -> int:
        """The rank of the first job that is killed."""
        return self.ranks[0] * 5 // 8

    @property
    def killed_in(self) -> int:
        """The step in the middle of which it is killed."""
        return self.ends[0] - 2


@dataclass(slots=True, kw_only=True)
class Part:
    """What one job did."""

    ranks: int
    first: int = 0  # the step that it began with
    reads: dict[tuple[int, int], Read] = field(default_factory=dict)  # by step and rank
    losses: dict[int, list[float]] = field(default_factory=dict)  # by step, of the ranks that saved it
    load_s: float = 0.0  # the longest that a rank took to load its state
    stopped_s: float = 0.0  # when it was killed, or had saved its last step
    resumed_s: float = 0.0  # from when the job before was stopped to the end of the first step of this one
    killed: int | None = None  # the rank
    process: int = 0  # the number of the killed process
    seen: str = ""  # what the others said of it
    merged: Merged | None = None  # what it began with

    def hashes(self) -> dict[int, str]:
        """The hash of each global batch that all ranks have read."""
        steps = sorted({step for step, _ in self.reads})
        whole = [step for step in steps if all((step, rank) in self.reads for rank in range(self.ranks))]
        return {step: batch_hash([self.reads[step, rank].rows for rank in range(self.ranks)]) for step in whole}

    def done(self) -> int:
        """How many steps all ranks have learned from and saved, counted from the beginning of the data."""
        step = self.first
        while len(self.losses.get(step, ())) == self.ranks:
            step += 1
        return step


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    plan: Plan
    undisturbed: Part
    parts: tuple[Part, ...]

    @property
    def batches(self) -> list[tuple[str, str, int]]:
        """Of each step the hash of the undisturbed global batch, that of the one which was learned from, and by how many ranks."""
        expected = self.undisturbed.hashes()
        found = [
            (found, part.ranks)
            for part in self.parts
            for step, found in part.hashes().items()
            if part.first <= step < part.done()
        ]
        return [(expected[step], *what) for step, what in enumerate(found)]

    @property
    def equal(self) -> int:
        """How many of them are equal."""
        return sum(expected == found for expected, found, _ in self.batches)

    @property
    def again(self) -> int:
        """How many global batches were read by ranks of a job that was killed, and again by the next one."""
        return sum(len({step for step, _ in part.reads if step >= part.done()}) for part in self.parts)


def run(plan: Plan, files: Files, folder: Path, progress: Progress) -> Outcome:
    """Does it all, in ``folder``.

    Raises:
        FailedPreconditionError: a process ended that was not to be killed.
        DeadlineExceededError: a job hangs.
    """
    task = Task(
        rank=0,
        world_size=plan.ranks[0],
        files=files,
        batch=plan.batch,
        streams=plan.streams,
        steps=plan.steps,
        seed=plan.seed,
        until=plan.steps,
        folder=folder,
        merged=None,
        hold_at=None,
    )
    undisturbed = _part(_tasks(task, folder / UNDISTURBED), UNDISTURBED, None, progress, perf_counter())
    parts: list[Part] = []
    for number, (ranks, until) in enumerate(zip(plan.ranks, plan.ends, strict=True)):
        merged = None if not parts else merge(folder / f"job-{number - 1}", folder / f"merged-{number}.pt")
        if merged:
            progress.note(_merged(merged, ranks))
        next_one = replace(task, world_size=ranks, until=until, merged=merged.path if merged else None)
        tasks = _tasks(next_one, folder / f"job-{number}")
        if not parts:
            tasks[plan.victim] = replace(tasks[plan.victim], hold_at=plan.killed_in)
        stopped_s = parts[-1].stopped_s if parts else perf_counter()
        parts.append(_part(tasks, _named(ranks), merged, progress, stopped_s))
    return Outcome(plan=plan, undisturbed=undisturbed, parts=tuple(parts))


def _tasks(task: Task, folder: Path) -> list[Task]:
    folder.mkdir()
    return [replace(task, rank=rank, folder=folder) for rank in range(task.world_size)]


def _named(ranks: int) -> str:
    return f"{ranks} process{'es' if ranks > 1 else ''}"


def _merged(merged: Merged, ranks: int) -> str:
    saved = " and ".join(f"{merged.saved_at.count(step)} after step {step}" for step in sorted(set(merged.saved_at)))
    return (
        f"saved: {saved}; merged in {merged.merge_s * 1e3:.1f} ms to a state of {merged.state_bytes / 1e3:.1f} kB; "
        f"{_named(ranks)} go{'es' if ranks == 1 else ''} on from step {merged.step + 1}"
    )


def _part(tasks: Sequence[Task], name: str, merged: Merged | None, progress: Progress, stopped_s: float) -> Part:
    part = Part(ranks=len(tasks), first=merged.step if merged else 0, merged=merged)
    holds = next((task.hold_at for task in tasks if task.hold_at is not None), None)
    progress.job_starts(name, part.first, tasks[0].until)
    with Job(tasks) as job:
        for step in _steps_of(job, part, holds, progress):
            if step == part.first:
                part.resumed_s = perf_counter() - stopped_s
            progress.step_ends(step, sum(part.losses[step]) / part.ranks)
        if part.killed is None:
            part.stopped_s = perf_counter()
        lost = [rank for rank in job.lost if rank != part.killed]
    if part.killed is None and lost:
        raise hr.errors.FailedPreconditionError(
            f"rank {lost[0]} of {part.ranks} ended after step {part.done()}, and nobody had killed it: {part.seen or 'it said nothing'}"
        )
    progress.job_ends()
    return part


def _steps_of(job: Job, part: Part, holds: int | None, progress: Progress) -> Iterator[int]:
    """Takes down what the ranks say, kills the one that is to be killed, and yields each step that all have saved."""
    holding = None
    for rank, message in job.messages():
        match message:
            case Began():
                part.load_s = max(part.load_s, message.load_s)
            case Read():
                part.reads[message.step, rank] = message
            case Holds():
                holding = rank
            case Failed():
                part.seen = part.seen or message.reason
            case Saved():
                part.losses.setdefault(message.step, []).append(message.loss)
                if len(part.losses[message.step]) == part.ranks:
                    yield message.step
        # It is killed when the others have saved that step, and it has not: they are then one ahead of it.
        if holding is not None and part.killed is None and len(part.losses.get(holds or 0, ())) == part.ranks - 1:
            part.killed, part.stopped_s = holding, perf_counter()
            part.process = job.kill(holding)
            progress.note(f"kill -9 {part.process}: rank {holding}, in the middle of step {(holds or 0) + 1}")
