"""What one process does: a rank of a job, which reads, says what it got, and saves where it stands; or the whole plan, undisturbed.

All that a rank says goes into files of its own. A state is written beside the one before and then takes its name, so that a process that
is killed leaves the old one or the new one.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.cases.killing import armed, described_within, passed
from tests.cases.processes import told
from tests.laws import elements
from tests.laws.jobs import given_by_all, step_of, steps_alone
from tests.laws.jumping import Jumps
from tests.laws.small_limits import COMPUTED_ORDERS, FEW_IDLE_DRAWS, FEW_WOVEN, STACKED_BY_WORKERS
from tests.ranks.drawn import MOST, Case, Turn, case_of

import headrace as hr
from headrace.plan.dealt import dealing_of
from headrace.testing.restoring import delivered

__all__ = ["Part", "given_file", "play_alone", "play_rank", "state_file"]

# Of longer plans, which may be endless, the elements that nobody deals are not compared.
_WHOLE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """What a process is told.

    Attributes:
        seed: the number of the case.
        size: how many steps its plan has, and how many streams.
        turn: which of its jobs.
        rank: which of its ranks.
        steps: after how many steps all end.
        most: so many steps are asked for.
        is_last: whether its job comes to the end, and nobody is killed.
        files: the folder of what plans read.
        folder: where it says what it has to say.
        merged: what it goes on from.
    """

    seed: int
    size: tuple[int, int]
    turn: int
    rank: int
    steps: int
    most: int
    is_last: bool
    files: Path
    folder: Path
    merged: Path | None


def given_file(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank}.given"


def state_file(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank}.json"


def play_rank(part: Part) -> None:
    """Plays a rank."""
    with told(part.folder / f"rank-{part.rank}.failed"):
        case = _case(part.seed, part.files).smaller(*part.size)
        turn = case.turns[part.turn]
        _let_time_jump(part)
        armed(None if part.is_last else turn.kill(part.rank))
        job = case.job(turn.ranks, turn.executor(part.rank), part.steps, begins=part.merged is None)
        iterator = job.iterator(part.rank)
        if part.merged is not None:
            iterator.load_state_dict(json.loads(part.merged.read_text()))
        _read(iterator, part, turn)
        if not turn.closes:
            os._exit(0)
        iterator.close()


def _let_time_jump(part: Part) -> None:
    """Has work seem to take long now and then: what is measured decides how it goes on."""
    name = f"{part.seed} {part.turn} {part.rank}"
    share = random.Random(name).choice([0.0, 0.02, 0.2, 0.5])
    time.perf_counter = Jumps(name, share).after(time.perf_counter)


def _read(iterator: hr.DatasetIterator, part: Part, turn: Turn) -> None:
    if turn.saves_first:
        _save(iterator, part)
    with given_file(part.folder, part.rank).open("wb", buffering=0) as file:
        for step in range(1, part.most + 1):
            given = step_of(iterator)
            file.write(json.dumps(given).encode() + b"\n")
            if step % turn.every == 0 or given is None:
                _save(iterator, part)
            if given is None:
                return


def _save(iterator: hr.DatasetIterator, part: Part) -> None:
    text = json.dumps(iterator.state_dict())
    path = state_file(part.folder, part.rank)
    beside = path.with_suffix(".part")
    with beside.open("w") as file:
        file.write(text[: len(text) // 2])
        file.flush()
        passed("half of a state written")
        file.write(text[len(text) // 2 :])
    passed("a state written beside")
    beside.replace(path)
    passed("a state saved")


def play_alone(seed: int, files: Path, said: Path) -> None:
    """Plays the whole plan in one process, as so many ranks as it has streams, and says what each of them gave of each step."""
    with told(said.with_suffix(".failed")):
        drawn = _case(seed, files)
        found = next(filter(None, (_alone(drawn, *size) for size in drawn.sizes())), None)
        said.write_text(json.dumps(found))


def _alone(drawn: Case, *size: int) -> dict[str, Any] | None:
    """Returns what a case of a size gives; None where its plan cannot be dealt."""
    case = drawn.smaller(*size)
    steps = steps_alone(case.job(1, "inline", None, begins=True, optimize=False), MOST)
    if steps is None:
        return None
    job = case.job(case.streams, "inline", steps, begins=True, optimize=False)
    with contextlib.ExitStack() as stack:
        return {
            "size": size,
            "steps": steps,
            "given": list(given_by_all(job.iterators(stack), most=MOST + 1)),
            "is_whole": _is_whole(job.dataset(0)),
            "elements": _elements(case),
        }


def _is_whole(dataset: hr.Dataset) -> bool:
    dealing = dealing_of(dataset.__headrace_plan__())
    return dealing is not None and dealing.is_whole


def _elements(case: Case) -> list[str] | None:
    """Returns the elements of the plan that nobody deals, as rows of batches; None where one failed, or there are too many."""
    dataset = case.recipe.build().map(described_within)
    dataset = dataset.with_options(hr.Options(seed=7, executor="inline", optimize=False))
    for _ in range(case.epoch):
        iter(dataset).close()
    with iter(dataset) as iterator:
        found = list(delivered(iterator, _WHOLE))
    if len(found) == _WHOLE or any(isinstance(element, Exception) for element in found):
        return None
    mask = (np.True_,) if case.end == "pad" else ()
    return [str((element, *mask)) for element in found]


def _case(seed: int, files: Path) -> Case:
    logging.getLogger("headrace").setLevel(logging.CRITICAL)
    for name, limit in {**COMPUTED_ORDERS, **FEW_IDLE_DRAWS, **FEW_WOVEN, **STACKED_BY_WORKERS}.items():
        module, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(module), attribute, limit)
    elements.use_folder(files)
    case = case_of(seed)
    assert case is not None
    return case
