"""The training job: some epochs on the training list, judged on the other after each, and kept where it can go on.

It is ``hr.train.train_and_evaluate`` with the parallel pipeline. Killed at any step and started again with the same
``--model-dir``, it goes on from its last checkpoint, and sees the batches that it would have seen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import headrace as hr
from examples.alexnet_finetune.data_generator import ImageDataGenerator

__all__ = ["FineTuning", "fine_tune"]

WEIGHTS_FILE = "alexnet.pt"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FineTuning:
    """A job.

    Attributes:
        training: the batches to learn from.
        validation: the batches to be judged on.
        epochs: how many times as many images are learned from as there are.
        device: where it is computed.
        model_dir: where checkpoints, results and the final weights go; None keeps nothing.
    """

    training: ImageDataGenerator
    validation: ImageDataGenerator
    epochs: int
    device: str
    model_dir: Path | None = None

    @property
    def steps_per_epoch(self) -> int:
        """Batches are full, so a rest goes into the next epoch."""
        return max(1, len(self.training.images) // self.training.batch_size)


class EpochLines(hr.train.Hook):
    """Says a line after each epoch."""

    def __init__(self, steps_per_epoch: int, say: Callable[[str], None]) -> None:
        self._steps_per_epoch = steps_per_epoch
        self._say = say
        self._losses: list[Any] = []
        self._told = 0

    def begin(self, run: hr.train.TrainingRun) -> None:
        """Says where a job goes on."""
        if run.step:
            self._say(f"goes on from the checkpoint at step {run.step}")

    def after_step(self, run: hr.train.TrainingRun, metrics: Mapping[str, Any]) -> None:
        """Keeps the loss; to look at it would make the step wait for the device."""
        self._losses.append(metrics["loss"])

    def after_evaluation(self, run: hr.train.TrainingRun, metrics: Mapping[str, Any]) -> None:
        """Says what came out, once: the evaluation at the end may be that of the last epoch."""
        if run.step == self._told:
            return
        self._told = run.step
        loss = f"loss {sum(map(float, self._losses)) / len(self._losses):.4f}, " if self._losses else ""
        self._losses.clear()
        self._say(
            f"epoch {run.step / self._steps_per_epoch:g}: {loss}validation loss {metrics['loss']:.4f}, "
            f"accuracy {metrics['accuracy']:.1%}; steps waited {run.wait_share:.0%} of their time for data"
        )


def fine_tune(job: FineTuning, trainer: Any, say: Callable[[str], None]) -> dict[str, float] | None:
    """Trains and judges.

    Args:
        job: what is to be done.
        trainer: what is trained.
        say: told a line after each epoch.

    Returns:
        Loss and accuracy on the validation list at the end, and ``global_step``; None where the job was at its end already.

    Raises:
        HeadraceError: an image cannot be read, or the checkpoint is of another job.
    """
    every = job.steps_per_epoch
    metrics, exported = hr.train.train_and_evaluate(
        trainer,
        hr.train.TrainSpec(
            lambda: job.training.data().to_torch(job.device),
            max_steps=job.epochs * every,
            hooks=[EpochLines(every, say)],
        ),
        hr.train.EvalSpec(
            lambda: job.validation.data().to_torch(job.device),
            steps=None,
            start_delay_secs=0,
            throttle_secs=0,
            exporters=[hr.train.FinalExporter("weights", _write_weights)],
        ),
        hr.train.RunConfig(
            model_dir=job.model_dir,
            save_checkpoints_steps=every,
            save_checkpoints_secs=None,
            keep_checkpoint_max=2,  # AlexNet's takes 230 MB
            log_step_count_steps=None,
        ),
    )
    if metrics is None:
        say(f"{job.model_dir} holds a job that has made all its {job.epochs * every} steps; raise --epochs to go on")
    for path in exported:
        say(f"the weights, for --weights: {path / WEIGHTS_FILE}")
    return metrics


def _write_weights(trainer: Any, folder: Path) -> None:
    import torch

    torch.save({name: value.cpu() for name, value in trainer.module.state_dict().items()}, folder / WEIGHTS_FILE)
