"""One candidate of one work, measured in the process that runs this file, which `rounds` starts anew each time.

    python benchmarks/measure.py WORK CANDIDATE --data FOLDER --budget-s 1.5 --result FILE

What is timed: whole epochs, each from asking for a new iterator to its end, with each batch's first value looked at, and
with a step of training behind each where the work has one.
Not timed: imports, loading what the work gives, building the pipeline, and the epochs before: short ones that tell how
many examples fit the budget, and a checked one of that size, in which caches fill and workers start that stay.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from contest import Batch, Candidate, Epoch, Receipt, Work, WrongResultError

MAX_EPOCHS = 50  # beyond this, more epochs no longer move the median


@dataclass(frozen=True, slots=True)
class Figures:
    """What one process measured."""

    examples: int  # in an epoch
    epochs: int
    examples_per_s: float  # the median over the epochs


def find_work(name: str) -> Work[Any]:
    """The work of a name: `WORK` of `works/<name>.py`."""
    work: Work[Any] = import_module(f"works.{name}").WORK
    return work


def checked_epoch(work: Work[Any], candidate: Candidate[Any], data: Any, examples: int, epoch: Epoch) -> None:
    """Run one epoch and verify all that it delivers."""
    receipt = Receipt()
    total = 0.0
    for batch in epoch():
        receipt.sizes.append(work.size(batch))
        receipt.firsts.append(work.first(batch))
        total += work.total(batch)
    work.verify(data, examples, Receipt(receipt.sizes, receipt.firsts, total), candidate.program)


def timed_epoch_s(work: Work[Any], examples: int, epoch: Epoch) -> float:
    """Run one epoch, looking at each batch's first value, and return how long it took.

    Where the work has batches that fill the pipeline, it is as if all had taken as long as those behind them.
    """
    gc.collect()  # what earlier epochs left is not this one's cost
    started_s = time.perf_counter()
    batches = iter(epoch())
    before = 0
    if work.filling:
        before = _take(work, islice(batches, work.filling))
        started_s = time.perf_counter()
    seen = before + _take(work, batches)
    took_s = time.perf_counter() - started_s
    if seen != examples:
        raise WrongResultError(f"{seen} examples instead of {examples}")
    return took_s * examples / (examples - before)


def _take(work: Work[Any], batches: Iterable[Batch]) -> int:
    """Take the batches as a training would; how many examples there were."""
    first, size, step = work.first, work.size, work.step
    seen = 0
    if step is None:
        for batch in batches:
            first(batch)
            seen += size(batch)
        return seen
    for batch in batches:
        first(batch)
        seen += size(batch)
        step(batch)
    return seen


def measure(work: Work[Any], candidate: Candidate[Any], folder: Path, budget_s: float) -> Figures:
    """Run epochs for about `budget_s` seconds, of the full size where one of them fits."""
    examples = work.probe
    data = work.load(folder, examples)
    epoch = candidate.prepare(data)
    checked_epoch(work, candidate, data, examples, epoch)
    fitting = int(examples / timed_epoch_s(work, examples, epoch) * budget_s)
    if min(work.full, fitting) > examples:
        examples = min(work.full, fitting)
        data = work.load(folder, examples)
        epoch = candidate.prepare(data)
        checked_epoch(work, candidate, data, examples, epoch)
    times_s: list[float] = []
    while not times_s or (sum(times_s) < budget_s and len(times_s) < MAX_EPOCHS):
        times_s.append(timed_epoch_s(work, examples, epoch))
    return Figures(examples, len(times_s), examples / statistics.median(times_s))


def main() -> None:
    """Measure, and write the figures or the reason why there are none."""
    parser = argparse.ArgumentParser(description="Measure one candidate of one work.")
    parser.add_argument("work")
    parser.add_argument("candidate")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--budget-s", type=float, required=True)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    try:
        work = find_work(options.work)
        candidate = next(one for one in work.candidates if one.name == options.candidate)
        figures = measure(work, candidate, options.data, options.budget_s)
    except Exception as error:  # noqa: BLE001  # whatever a library raises is its result: it stands where the figure would
        traceback.print_exc()
        reason = traceback.format_exception_only(error)[-1].strip().splitlines()[-1].removeprefix("contest.")
        options.result.write_text(json.dumps({"failed": reason}))
        sys.exit(1)
    options.result.write_text(json.dumps(asdict(figures)))


if __name__ == "__main__":
    main()
