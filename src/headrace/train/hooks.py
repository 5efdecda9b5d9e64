"""What a training job lets others do at its steps, checkpoints and evaluations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

__all__ = ["EarlyStopping", "Hook", "TrainingRun"]

Metrics = Mapping[str, Any]


class TrainingRun(Protocol):
    """What a hook sees of the job."""

    @property
    def step(self) -> int:
        """How many steps were made since the job's very first start."""
        ...

    @property
    def trainer(self) -> Any:
        """The trainer."""
        ...

    @property
    def wait_share(self) -> float:
        """The part of the time, since this process began to train, that steps waited for their batches: 0 to 1."""
        ...

    def request_stop(self) -> None:
        """Ends training after this step, with a checkpoint and the final evaluation."""
        ...


class Hook:
    """The base of hooks: each method does nothing.

    What a hook has counted or found out goes into checkpoints if ``state_dict`` returns it, and comes back through
    ``load_state_dict``, before ``begin``, when a job goes on. A state is known by the hook's class, and its place among the hooks of that class.

    Example:
        >>> import headrace as hr
        >>> class PrintLoss(hr.train.Hook):
        ...     def after_step(self, run, metrics):
        ...         print(run.step, metrics["loss"])
    """

    def begin(self, run: TrainingRun) -> None:
        """Runs before the first step of this process; ``run.step`` is that of the checkpoint."""

    def before_step(self, run: TrainingRun) -> None:
        """Runs before each step."""

    def after_step(self, run: TrainingRun, metrics: Metrics) -> None:
        """Runs after each step, with what ``train_step`` returned."""

    def after_checkpoint(self, run: TrainingRun, path: Path) -> None:
        """Runs after a checkpoint was written to this folder."""

    def after_evaluation(self, run: TrainingRun, metrics: Metrics) -> None:
        """Runs after an evaluation, with its metrics."""

    def end(self, run: TrainingRun) -> None:
        """Runs after everything, also when an error ended it. It runs for each hook, whatever another one raises."""

    def state_dict(self) -> Any:
        """Returns what it has to know when the job goes on: nested dicts, lists, numbers, texts, arrays; None is nothing."""
        return None

    def load_state_dict(self, state: Any) -> None:
        """Becomes what ``state_dict`` described."""


class EarlyStopping(Hook):
    """Ends training when evaluations have not become better for a while. It counts on when a job goes on.

    Args:
        metric: the name of the metric that counts.
        patience: how many evaluations without a better one end the training.
        mode: whether smaller (``"min"``) or larger (``"max"``) is better.
        min_delta: a change that is smaller is none.

    Raises:
        ValueError: a number or the mode does not fit.
        KeyError: while training, the evaluations have no such metric.

    Example:
        >>> import headrace as hr
        >>> hook = hr.train.EarlyStopping("loss", patience=3)
    """

    def __init__(
        self, metric: str, patience: int = 3, mode: Literal["min", "max"] = "min", min_delta: float = 0.0
    ) -> None:
        if patience < 1:
            raise ValueError(f"patience must be at least 1, not {patience}")
        if mode not in {"min", "max"}:
            raise ValueError(f"mode must be 'min' or 'max', not {mode!r}")
        self.metric = metric
        self.patience = patience
        self.mode = mode
        self.min_delta = min_delta
        self.best = math.inf
        self.waited = 0

    def begin(self, run: TrainingRun) -> None:
        """Ends a job at once that had been ended before."""
        if self.waited >= self.patience:
            run.request_stop()

    def state_dict(self) -> dict[str, Any]:
        """Returns the best so far, and how many evaluations came since."""
        return {"metric": self.metric, "mode": self.mode, "best": self.best, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Counts on; from nothing, if it was another metric or the other mode."""
        if (state["metric"], state["mode"]) == (self.metric, self.mode):
            self.best, self.waited = state["best"], state["waited"]

    def after_evaluation(self, run: TrainingRun, metrics: Metrics) -> None:
        """Counts evaluations without a better one."""
        if self.metric not in metrics:
            raise KeyError(f"the evaluation has no metric {self.metric!r}; it has {sorted(metrics)}")
        value = float(metrics[self.metric])
        cost = value if self.mode == "min" else -value
        if cost < self.best - self.min_delta:
            self.best, self.waited = cost, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            run.request_stop()
