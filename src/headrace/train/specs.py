"""What a training job is told: its inputs, how far it goes, how often it is kept and judged.

Names, arguments and defaults are those of TensorFlow's Estimator (2.15); what is wrong is a ValueError, as there.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headrace.train.exporters import Exporter
from headrace.train.hooks import Hook

__all__ = ["EvalSpec", "RunConfig", "TrainSpec"]

InputFn = Callable[[], Any]


def _check_number(name: str, value: Any, *, least: float, whole: bool = True) -> None:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ValueError(f"{name} must be {'an int' if whole else 'a number'}, not {value!r}")  # noqa: TRY004 - as Estimator's
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")


def _check_input(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"input_fn must be a function that returns a Dataset, not {type(input_fn).__name__}")


@dataclasses.dataclass(frozen=True, slots=True)
class TrainSpec:
    """What is trained on, and how far.

    Args:
        input_fn: called once; returns a ``Dataset``, a feed (``to_torch()``, ``to_jax()``), an iterator or an iterable.
            A tuple of two is features and labels, and so is a list of two tensors, as PyTorch's ``DataLoader`` makes it; any other
            element is features alone. Random numbers that it draws are drawn again when a job goes on.
        max_steps: the number of the last step, counted from the job's very first start; a job that has reached it makes up
            what its end still lacks, and does nothing else. None trains to the end of the input.
        hooks: see ``hr.train.Hook``.

    Raises:
        ValueError: ``max_steps`` is not positive.
        TypeError: ``input_fn`` is no function, or a hook is no ``Hook``.
    """

    input_fn: InputFn
    max_steps: int | None = None
    hooks: Sequence[Hook] = ()

    def __post_init__(self) -> None:
        _check_input(self.input_fn)
        if self.max_steps is not None:
            _check_number("max_steps", self.max_steps, least=1)
        object.__setattr__(self, "hooks", _checked_hooks(self.hooks))


@dataclasses.dataclass(frozen=True, slots=True)
class EvalSpec:
    """What the model is judged on, and how often.

    Args:
        input_fn: called once, at the start; returns what ``TrainSpec.input_fn`` may. A dataset is started anew at each evaluation,
            and random numbers are drawn from the same stream each time.
        steps: how many batches an evaluation takes; None takes all, and an endless dataset is refused then.
        name: tells the results of several evaluations apart.
        hooks: see ``hr.train.Hook``.
        exporters: write the model out after each evaluation.
        start_delay_secs: no evaluation but the last comes sooner after the start.
        throttle_secs: no evaluation but the last comes sooner after the one before.

    Raises:
        ValueError: ``steps`` is not positive, or a time is negative.
        TypeError: ``input_fn`` is no function, or an exporter or hook is none.
    """

    input_fn: InputFn
    steps: int | None = 100
    name: str | None = None
    hooks: Sequence[Hook] = ()
    exporters: Sequence[Exporter] | Exporter = ()
    start_delay_secs: float = 120
    throttle_secs: float = 600

    def __post_init__(self) -> None:
        _check_input(self.input_fn)
        if self.steps is not None:
            _check_number("steps", self.steps, least=1)
        _check_number("start_delay_secs", self.start_delay_secs, least=0, whole=False)
        _check_number("throttle_secs", self.throttle_secs, least=0, whole=False)
        if self.name == "":
            raise ValueError("name must not be empty")
        object.__setattr__(self, "hooks", _checked_hooks(self.hooks))
        exporters = (self.exporters,) if isinstance(self.exporters, Exporter) else tuple(self.exporters)
        for exporter in exporters:
            if not isinstance(exporter, Exporter):
                raise TypeError(f"an exporter has a name and an export(); {type(exporter).__name__} has not")
        names = [exporter.name for exporter in exporters]
        if len(set(names)) != len(names):
            raise ValueError(f"two exporters have one name: {sorted(names)}")
        object.__setattr__(self, "exporters", exporters)


def _checked_hooks(hooks: Sequence[Hook]) -> tuple[Hook, ...]:
    for hook in hooks:
        if not isinstance(hook, Hook):
            raise TypeError(f"a hook is an hr.train.Hook, not {type(hook).__name__}")
    return tuple(hooks)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Where a job is kept, and how often.

    Args:
        model_dir: the folder of checkpoints, results and exports, for one job at a time; None keeps nothing, and the job cannot be
            resumed.
        save_checkpoints_steps: how many steps lie between checkpoints; None goes by time alone.
        save_checkpoints_secs: how many seconds lie between checkpoints; None goes by steps alone. With both, either makes one.
        keep_checkpoint_max: how many checkpoints stay; None keeps all.
        log_step_count_steps: how many steps lie between lines in the log; None writes none.
        ram_budget: bytes that both inputs together may hold ready, if they are datasets or feeds; three parts of four are
            training's. None leaves it to each dataset's own options.
        tensorboard: whether metrics are written as TensorBoard's event files into ``model_dir``.
        progress: whether a live line shows steps, metrics and the share of waiting; None shows it on a terminal.

    Raises:
        ValueError: a number is not positive, or there is neither a number of steps nor of seconds.
    """

    model_dir: str | os.PathLike[str] | None = None
    save_checkpoints_steps: int | None = None
    save_checkpoints_secs: float | None = 600
    keep_checkpoint_max: int | None = 5
    log_step_count_steps: int | None = 100
    ram_budget: int | None = None
    tensorboard: bool = False
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("save_checkpoints_steps", "keep_checkpoint_max", "log_step_count_steps", "ram_budget"):
            if getattr(self, name) is not None:
                _check_number(name, getattr(self, name), least=1)
        if self.save_checkpoints_secs is not None:
            _check_number("save_checkpoints_secs", self.save_checkpoints_secs, least=0, whole=False)
        if self.save_checkpoints_steps is None and self.save_checkpoints_secs is None:
            raise ValueError("save_checkpoints_steps and save_checkpoints_secs cannot both be None")
        if self.tensorboard and self.model_dir is None:
            raise ValueError("tensorboard=True needs a model_dir to write into")

    @property
    def folder(self) -> Path | None:
        """``model_dir`` as a path."""
        return None if self.model_dir is None else Path(self.model_dir)
