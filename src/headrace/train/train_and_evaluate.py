"""``train_and_evaluate``: a whole training job that can be killed at any step and goes on as if it had not been.

Theory of operation. The training input is opened once and stays open: an evaluation in between does not close it, empty
its buffers, or start its epoch over. The evaluation's dataset is built once and started anew each time. A checkpoint holds
the trainer's state and the place in the input behind the last batch that was trained on, so the batches that come after it
are those that would have come.

The order after a step: hooks; a checkpoint when one is due; an evaluation when one is due and a checkpoint was just
written. At the end, whatever ended it but an error: a checkpoint, the final evaluation, the final exports.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headrace.clock import MONOTONIC, Clock
from headrace.train.checkpoints import Checkpoint, Checkpoints
from headrace.train.evaluation import Evaluation
from headrace.train.hooks import Hook
from headrace.train.inputs import TrainingInput, bounded
from headrace.train.reporting import LogHook, TensorBoardHook, progress_of
from headrace.train.specs import EvalSpec, RunConfig, TrainSpec
from headrace.train.trainers import Trainer

__all__ = ["train_and_evaluate"]

# Training reads ahead all the time, an evaluation now and then.
_TRAINING_SHARE = 0.75


def train_and_evaluate(
    trainer: Trainer,
    train_spec: TrainSpec,
    eval_spec: EvalSpec,
    config: RunConfig | None = None,
    *,
    clock: Clock = MONOTONIC,
) -> tuple[dict[str, float] | None, list[Any]]:
    """Trains up to ``max_steps``, keeps checkpoints, evaluates behind them, and exports; goes on where a checkpoint is.

    Args:
        trainer: what is trained: see ``hr.train.Trainer``; ``TorchTrainer`` and ``JaxTrainer`` make one.
        train_spec: what it is trained on.
        eval_spec: what it is judged on.
        config: where and how often the job is kept; by default nowhere.
        clock: tells the time, in tests.

    Returns:
        The metrics of the final evaluation (means over all examples, and ``global_step``), and what the exporters returned
        at the final export. (None, []) where the checkpoint had reached ``max_steps`` already: then the
        trainer only takes what the checkpoint holds.

    Raises:
        TypeError: a specification is none, or the trainer lacks a method.
        DataLossError: the newest checkpoint is broken.
        HeadraceError: the error of an element of an input; the job can be started again from its last checkpoint.

    Example:
        >>> import headrace as hr
        >>> class Mean:
        ...     total = count = 0
        ...
        ...     def train_step(self, features, labels):
        ...         self.total, self.count = self.total + features.sum(), self.count + len(features)
        ...         return {"mean": self.total / self.count}
        ...
        ...     def eval_step(self, features, labels):
        ...         return {"error": abs(features - self.total / self.count).mean()}
        ...
        ...     def state_dict(self):
        ...         return {"total": self.total, "count": self.count}
        ...
        ...     def load_state_dict(self, state):
        ...         self.total, self.count = state["total"], state["count"]
        >>> numbers = lambda: hr.Dataset.range(10).repeat().batch(5)
        >>> metrics, exports = hr.train.train_and_evaluate(
        ...     Mean(), hr.train.TrainSpec(numbers, max_steps=4), hr.train.EvalSpec(numbers, steps=2)
        ... )
        >>> metrics
        {'error': 2.5, 'global_step': 4.0}
    """
    _check(trainer, train_spec, eval_spec)
    return _Job(trainer, train_spec, eval_spec, config or RunConfig(), clock).run()


def _check(trainer: Any, train_spec: Any, eval_spec: Any) -> None:
    for value, kind in ((train_spec, TrainSpec), (eval_spec, EvalSpec)):
        if not isinstance(value, kind):
            raise TypeError(f"train_and_evaluate: expected a {kind.__name__}, not {type(value).__name__}")
    for method in ("train_step", "eval_step", "state_dict", "load_state_dict"):
        if not callable(getattr(trainer, method, None)):
            raise TypeError(f"train_and_evaluate: the trainer, a {type(trainer).__name__}, has no {method}()")


class _Job:
    """One process's part of a job; what hooks see of it is ``TrainingRun``."""

    def __init__(
        self, trainer: Trainer, train_spec: TrainSpec, eval_spec: EvalSpec, config: RunConfig, clock: Clock
    ) -> None:
        self.trainer = trainer
        self.step = 0
        self._train_spec = train_spec
        self._eval_spec = eval_spec
        self._config = config
        self._clock = clock
        self._checkpoints = Checkpoints(config.folder, config.keep_checkpoint_max)
        self._hooks: list[Hook] = []
        self._stopping = False
        self._waited_s = 0.0
        self._trained_s = 0.0
        self._began_s = self._saved_s = clock.now_s()
        self._evaluated_s: float | None = None
        self._saved_at: int | None = None
        self._saved_path: Path | None = None

    @property
    def wait_share(self) -> float:
        """The part of the time of all steps that they waited for their batches."""
        return self._waited_s / self._trained_s if self._trained_s > 0 else 0.0

    def request_stop(self) -> None:
        """Ends training after this step."""
        self._stopping = True

    def run(self) -> tuple[dict[str, float] | None, list[Any]]:
        """The whole job."""
        checkpoint = self._checkpoints.latest()
        if checkpoint is not None:
            self.step = self._saved_at = checkpoint.step
            # Also where nothing is left to do: whoever started a job again wants what it has learned.
            self.trainer.load_state_dict(checkpoint.trainer)
            if self._train_spec.max_steps is not None and self.step >= self._train_spec.max_steps:
                return None, []
        budget = self._config.ram_budget
        training = None if budget is None else max(1, int(budget * _TRAINING_SHARE))
        place = checkpoint.input if checkpoint is not None else None
        source = TrainingInput(bounded(self._train_spec.input_fn(), training), place, self.step)
        evaluation = Evaluation(self._eval_spec, budget and max(1, budget - (training or 0)), self._config.folder)
        with contextlib.ExitStack() as stack:
            stack.callback(source.close)
            self._hooks = [
                *self._own_hooks(),
                *stack.enter_context(progress_of(self._config, self._train_spec.max_steps)),
            ]
            self._hooks += [*self._train_spec.hooks, *self._eval_spec.hooks]
            stack.callback(self._tell, lambda hook: hook.end(self))
            self._tell(lambda hook: hook.begin(self))
            self._train(source, evaluation)
            return self._finish(source, evaluation)

    def _own_hooks(self) -> list[Hook]:
        config, every = self._config, self._config.log_step_count_steps
        hooks: list[Hook] = [] if every is None else [LogHook(every)]
        if config.tensorboard:
            assert config.folder is not None  # RunConfig has looked
            name = self._eval_spec.name
            hooks.append(
                TensorBoardHook(config.folder, config.folder / (f"eval_{name}" if name else "eval"), every or 100)
            )
        return hooks

    def _tell(self, what: Callable[[Hook], None]) -> None:
        for hook in self._hooks:
            what(hook)

    # ---------------------------------------------------------------- training

    def _train(self, source: TrainingInput, evaluation: Evaluation) -> None:
        while not self._stopping and (self._train_spec.max_steps is None or self.step < self._train_spec.max_steps):
            if not self._make_step(source):
                return
            if self._checkpoint_is_due():
                self._save(source)
                if self._evaluation_is_due():
                    self._evaluate(evaluation, final=False)

    def _make_step(self, source: TrainingInput) -> bool:
        """One step; False where the input has ended."""
        self._tell(lambda hook: hook.before_step(self))
        start = self._clock.now_s()
        try:
            features, labels = source.next()
        except StopIteration:
            return False
        there = self._clock.now_s()
        metrics: Mapping[str, Any] = self.trainer.train_step(features, labels)
        self._waited_s += there - start
        self._trained_s += self._clock.now_s() - start
        self.step += 1
        self._tell(lambda hook: hook.after_step(self, metrics))
        return True

    def _checkpoint_is_due(self) -> bool:
        steps, seconds = self._config.save_checkpoints_steps, self._config.save_checkpoints_secs
        if steps is not None and self.step % steps == 0:
            return True
        return seconds is not None and self._clock.now_s() - self._saved_s >= seconds

    def _save(self, source: TrainingInput) -> None:
        path = self._checkpoints.write(Checkpoint(self.step, self.trainer.state_dict(), source.state()))
        self._saved_s, self._saved_at, self._saved_path = self._clock.now_s(), self.step, path
        if path is not None:
            self._tell(lambda hook: hook.after_checkpoint(self, path))

    def _evaluation_is_due(self) -> bool:
        now_s = self._clock.now_s()
        if now_s - self._began_s < self._eval_spec.start_delay_secs:
            return False
        return self._evaluated_s is None or now_s - self._evaluated_s >= self._eval_spec.throttle_secs

    def _evaluate(self, evaluation: Evaluation, *, final: bool) -> tuple[dict[str, float], list[Any]]:
        self._evaluated_s = self._clock.now_s()
        result = evaluation.run(self.trainer, self.step)
        self._tell(lambda hook: hook.after_evaluation(self, result))
        return result, self._export(result, final=final)

    def _export(self, result: dict[str, float], *, final: bool) -> list[Any]:
        folder = self._config.folder
        if folder is None:
            return []
        return [
            exporter.export(self.trainer, folder / "export" / exporter.name, self._saved_path, result, final)
            for exporter in self._eval_spec.exporters  # type: ignore[union-attr]  # a tuple since EvalSpec was made
        ]

    def _finish(self, source: TrainingInput, evaluation: Evaluation) -> tuple[dict[str, float], list[Any]]:
        if self._saved_at != self.step:
            self._save(source)
        return self._evaluate(evaluation, final=True)
