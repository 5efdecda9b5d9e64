"""What a training job says while it runs: a live line on a terminal, lines in the log, TensorBoard's files when asked."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headrace.errors import MissingExtraError
from headrace.log import LOG
from headrace.metrics.scalars import scalars
from headrace.train.evaluation import as_numbers
from headrace.train.hooks import Hook, TrainingRun
from headrace.train.specs import RunConfig

__all__ = ["LogHook", "TensorBoardHook", "progress_of"]


def _words(metrics: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in as_numbers(metrics).items())


class LogHook(Hook):
    """A line in the log every few steps: metrics, and what steps waited for their batches."""

    def __init__(self, every: int) -> None:
        self._every = every

    def after_step(self, run: TrainingRun, metrics: Mapping[str, Any]) -> None:
        """Writes the line, when it is time: only then are metrics fetched from their device."""
        if run.step % self._every == 0:
            LOG.info("step %d: %s, waiting %.0f %%", run.step, _words(metrics), 100 * run.wait_share)

    def after_evaluation(self, run: TrainingRun, metrics: Mapping[str, Any]) -> None:
        """Writes what came out."""
        LOG.info("evaluation at step %d: %s", run.step, _words(metrics))


class TensorBoardHook(Hook):
    """Metrics, the share of waiting and what the pipelines do, as TensorBoard's event files."""

    def __init__(self, folder: Path, eval_folder: Path, every: int) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MissingExtraError("tensorboard=True needs: pip install 'headrace[tensorboard]'") from None
        self._train = SummaryWriter(str(folder))
        self._eval = SummaryWriter(str(eval_folder))
        self._every = every

    def after_step(self, run: TrainingRun, metrics: Mapping[str, Any]) -> None:
        """Writes the metrics, when it is time."""
        if run.step % self._every == 0:
            for name, value in (as_numbers(metrics) | {"waiting": run.wait_share} | scalars()).items():
                self._train.add_scalar(name, value, run.step)

    def after_evaluation(self, run: TrainingRun, metrics: Mapping[str, Any]) -> None:
        """Writes the evaluation's metrics."""
        for name, value in as_numbers(metrics).items():
            self._eval.add_scalar(name, value, run.step)

    def end(self, run: TrainingRun) -> None:
        """Closes the files."""
        self._train.close()
        self._eval.close()


class _ProgressHook(Hook):
    """Moves the live line."""

    def __init__(self, progress: Any, task: Any) -> None:
        self._progress = progress
        self._task = task

    def begin(self, run: TrainingRun) -> None:
        self._progress.update(self._task, completed=run.step)

    def after_step(self, run: TrainingRun, metrics: Mapping[str, Any]) -> None:
        self._progress.update(self._task, completed=run.step, waiting=f"waiting {100 * run.wait_share:.0f} %")

    def after_evaluation(self, run: TrainingRun, metrics: Mapping[str, Any]) -> None:
        self._progress.update(self._task, metrics=_words(metrics))


@contextlib.contextmanager
def progress_of(config: RunConfig, max_steps: int | None) -> Iterator[list[Hook]]:
    """Yields the hook of a live line while it is shown; None where nobody would see it."""
    wanted = sys.stderr.isatty() if config.progress is None else config.progress
    if not wanted:
        yield []
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.fields[waiting]}"),
        TextColumn("{task.fields[metrics]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield [_ProgressHook(progress, progress.add_task("train", total=max_steps, waiting="", metrics=""))]
