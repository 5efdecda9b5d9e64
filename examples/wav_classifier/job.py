"""One invocation of the training job: so many steps more, and what each of them waited for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import headrace as hr
from examples.wav_classifier.classifier import new_trainer, weights_of
from examples.wav_classifier.input_fns import READ, InputFn
from examples.wav_classifier.recordings import Recordings


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What one invocation did."""

    waits_s: tuple[float, ...]  # of each step, for its batch; of the last 4,096
    steps_s: tuple[float, ...]  # of each step, the wait included
    waited_s: float  # by all steps
    files_read: int
    accuracy: float  # at its end, of the sounds that are not trained on
    weights: bytes

    @property
    def waited(self) -> float:
        """The share of the steps' time that they waited for their batches, from 0 to 1."""
        return self.waited_s / sum(self.steps_s)


class _Watched:
    """A feed whose iterator can be asked, after the job, what its steps waited for."""

    def __init__(self, dataset: hr.Dataset) -> None:
        self._feed = dataset.to_torch()
        self.iterator: Any = None

    def __iter__(self) -> Any:
        self.iterator = iter(self._feed)
        return self.iterator


class _StepTimes(hr.train.Hook):
    def __init__(self) -> None:
        self.took_s: list[float] = []
        self._began_s = 0.0

    def before_step(self, run: hr.train.TrainingRun) -> None:
        self._began_s = time.perf_counter()

    def after_step(self, run: hr.train.TrainingRun, metrics: Mapping[str, Any]) -> None:
        self.took_s.append(time.perf_counter() - self._began_s)


def invoke(
    recordings: Recordings,
    bands: int,
    input_fn: InputFn,
    max_steps: int,
    config: hr.train.RunConfig,
    hooks: tuple[hr.train.Hook, ...] = (),
) -> Invocation:
    """Trains up to ``max_steps``, from where the last invocation with this ``config`` came to."""
    times = _StepTimes()
    made: list[_Watched] = []

    def train_input_fn() -> _Watched:
        made.append(_Watched(input_fn(recordings.train, None, True)))
        return made[-1]

    def eval_input_fn() -> Any:
        return input_fn(recordings.evaluate, 1, False).to_torch()

    trainer = new_trainer(bands, len(recordings.kinds))
    train_spec = hr.train.TrainSpec(input_fn=train_input_fn, max_steps=max_steps, hooks=[times, *hooks])
    eval_spec = hr.train.EvalSpec(input_fn=eval_input_fn, steps=None)
    metrics, _ = hr.train.train_and_evaluate(trainer, train_spec, eval_spec, config)
    assert metrics is not None  # there were steps left
    stats = made[-1].iterator.stats()
    return Invocation(
        waits_s=stats.waits_s,
        steps_s=tuple(times.took_s),
        waited_s=stats.wait_s,
        files_read=sum(stage.elements for stage in stats.pipeline.stages if stage.name.startswith(f"map '{READ}'")),
        accuracy=metrics["accuracy"],
        weights=weights_of(trainer),
    )
