"""A program that kills one job at every touch of its folder, starts it again, and compares with a job that nobody killed.

It forks, so it must be a process of its own, with no thread in it. Prints how many touches there are, and fails where a
job that was killed ended differently.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from headrace import train
from headrace.clock import MONOTONIC

_LOSSES = {2: float("nan"), 4: 0.1, 5: 0.9}
_STEPS = 5


class Model:
    """Its weights depend on all batches in their order, and on random numbers."""

    def __init__(self) -> None:
        self.steps = 0
        self.weights = np.zeros(2)

    def train_step(self, features: Any, labels: Any) -> dict[str, Any]:
        self.steps += 1
        self.weights = self.weights * 0.5 + float(np.sum(features)) + np.random.random(2)  # noqa: NPY002 - as users do
        return {"loss": 1.0}

    def eval_step(self, features: Any, labels: Any) -> dict[str, Any]:
        np.random.random(3)  # noqa: NPY002 - what training must not notice
        return {"loss": _LOSSES[self.steps]}

    def state_dict(self) -> Any:
        return {"steps": self.steps, "weights": self.weights}

    def load_state_dict(self, state: Any) -> None:
        self.steps, self.weights = state["steps"], state["weights"]


class Counting(train.Hook):
    """Counts what it was told."""

    def __init__(self) -> None:
        self.told = {"steps": 0, "evaluations": 0}

    def after_step(self, run: Any, metrics: Any) -> None:
        self.told["steps"] += 1

    def after_evaluation(self, run: Any, metrics: Any) -> None:
        self.told["evaluations"] += 1

    def state_dict(self) -> Any:
        return dict(self.told)

    def load_state_dict(self, state: Any) -> None:
        self.told = dict(state)


def _export(model: Any, folder: Path) -> None:
    (folder / "a.txt").write_text(f"{model.steps} {model.weights.tobytes().hex()}")
    (folder / "b.txt").write_text("whole")


def run_job(place: Path) -> None:
    """The job, from wherever it stands to its end; writes down what it ended with."""
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 - as users do
    model, counting, stopping = Model(), Counting(), train.EarlyStopping("loss", patience=9)
    train.train_and_evaluate(
        model,
        train.TrainSpec(lambda: [np.full(2, number) for number in range(20)], _STEPS, [counting]),
        train.EvalSpec(
            lambda: [np.ones(2)],
            hooks=[stopping],
            exporters=[
                train.FinalExporter("final", _export),
                train.LatestExporter("latest", _export, exports_to_keep=1),
                train.BestExporter("best", _export),
            ],
            start_delay_secs=0,
            throttle_secs=0,
        ),
        train.RunConfig(model_dir=place / "job", save_checkpoints_steps=2, keep_checkpoint_max=1, progress=False),
        clock=MONOTONIC,
    )
    ended = {
        "weights": model.weights.tobytes().hex(),
        "told": counting.told,
        "stopping": [stopping.best, stopping.waited],
    }
    (place / "ended.json").write_text(json.dumps(ended))


def what_is_there(place: Path) -> dict[str, str]:
    """All files of a job and what is in them."""
    return {
        path.relative_to(place).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.suffix not in (".lock", ".npz") and path.name != "manifest.json"  # zip has the time
    }


def _in_a_process(place: Path, kill_at: int | None) -> list[str]:
    """Runs the job in a child that kills itself at that touch; the touches that it came to."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _watch(place, kill_at, writing)
        run_job(place)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        touches = file.read().splitlines()
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return touches


def _watch(place: Path, kill_at: int | None, told: int) -> None:
    touches = iter(range(1 << 30))

    def touched(event: str, arguments: tuple[Any, ...]) -> None:
        if event.partition(".")[0] not in ("open", "os", "shutil") or not str(arguments[0]).startswith(
            str(place / "job")
        ):
            return
        if event == "open" and "w" not in str(arguments[1]) and "a" not in str(arguments[1]):
            return
        os.write(told, f"{event}\n".encode())
        if next(touches) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(touched)


def main(folder: Path) -> None:
    """Kills at each touch."""
    whole = folder / "whole"
    whole.mkdir()
    touches = _in_a_process(whole, None)
    expected = what_is_there(whole)
    assert "ended.json" in expected
    for kill_at in range(len(touches)):
        place = folder / f"killed {kill_at}"
        place.mkdir()
        _in_a_process(place, kill_at)
        assert not (place / "ended.json").exists() or kill_at > len(touches) - 5
        _in_a_process(place, kill_at=None)
        found = what_is_there(place)
        assert found == expected, (kill_at, touches[kill_at], {*found.items()} ^ {*expected.items()})
        shutil.rmtree(place)
    sys.stdout.write(f"{len(touches)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
