"""What a state of a rank takes: its size, the time to take and to load it, and a start in the middle of 10¹⁰ numbers.

    python benchmarks/ranks/states.py FOLDER

prints the figures as JSON; a process of its own, so that its memory is that of the numbers alone.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import psutil

NUMBERS: Final = 10**10
MIDDLE: Final = 10**9
BATCH: Final = 128


@dataclass(frozen=True, slots=True)
class States:
    """The figures.

    Attributes:
        start_s: from the plan of 10¹⁰ numbers, shuffled, to its first batch.
        load_s: to load its state at element 10⁹, and the first batch behind that.
        held_bytes: of the process that did both, behind it.
        streams: of the plan whose state is measured.
        bytes_a_stream: of its state as JSON, position and earlier position together.
        taken_s: the median of some ``state_dict()`` in the middle of a run.
        loaded_s: to load it, and the first batch behind it.
    """

    start_s: float
    load_s: float
    held_bytes: int
    streams: int
    bytes_a_stream: float
    taken_s: float
    loaded_s: float


def measured(folder: Path) -> States:
    """Measure all of it in this process."""
    start_s, load_s = _of_numbers()
    return States(start_s, load_s, psutil.Process().memory_info().rss, *_of_streams(folder))


def _of_numbers() -> tuple[float, float]:
    hr = import_module("headrace")

    plan = hr.Dataset.range(NUMBERS).shuffle(NUMBERS, seed=0).batch(BATCH)
    begun = time.perf_counter()
    with iter(plan) as iterator:
        next(iterator)
        start_s = time.perf_counter() - begun
        state = _moved(iterator.state_dict())
    with iter(plan) as iterator:
        begun = time.perf_counter()
        iterator.load_state_dict(state)
        next(iterator)
        return start_s, time.perf_counter() - begun


def _moved(state: dict[str, Any]) -> dict[str, Any]:
    """Returns the state that this one is after 10⁹ elements, which nobody waits for."""
    saved = import_module("headrace.iterator.saved_state")
    position = state["position"]
    while "emitted" not in position:
        position = position["input"]
    position["emitted"] = MIDDLE
    del state["checksum"]
    return {**state, "checksum": saved.checksum(state)}


def _of_streams(folder: Path) -> tuple[int, float, float, float]:
    hr = import_module("headrace")
    jobs = import_module("ranks.jobs")
    files = hr.Dataset.from_tensor_slices(jobs.record_paths(folder))
    records = files.interleave(hr.TFRecordDataset, cycle_length=4).shuffle(10_000, seed=0).filter(lambda record: True)
    plan = records.distributed_batch(BATCH)
    with iter(plan) as iterator:
        for _ in range(100):
            next(iterator)
        taken = []
        for _ in range(51):
            next(iterator)
            begun = time.perf_counter()
            iterator.state_dict()
            taken.append(time.perf_counter() - begun)
        state = iterator.state_dict()
    with iter(plan) as iterator:
        begun = time.perf_counter()
        iterator.load_state_dict(state)
        next(iterator)
        loaded_s = time.perf_counter() - begun
    streams = len(state["streams"])
    said = {key: state[key] for key in ("streams", "earlier")}
    return streams, len(json.dumps(said)) / streams, statistics.median(taken), loaded_s


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    sys.path[0] = str(root)
    sys.path.append(str(root.parent / "src"))
    print(json.dumps(asdict(measured(Path(sys.argv[1])))))
