"""Who writes a model out after an evaluation: always, at the end, or when it is the best so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from headrace.train.whole_folders import recover, removed, written_whole

__all__ = ["BestExporter", "Exporter", "FinalExporter", "LatestExporter"]

Metrics = Mapping[str, Any]
# Writes the model of a trainer into a folder that is there, and empty.
ExportFn = Callable[[Any, Path], Any]


@runtime_checkable
class Exporter(Protocol):
    """What ``EvalSpec.exporters`` takes.

    Three methods more are called where an exporter has them: ``state_dict()`` and ``load_state_dict(state)``, as those of
    ``hr.train.Hook``; and ``recover(export_path)`` when a job starts, to clear away what a kill left.
    A job that died between an evaluation and the end of its exports evaluates and exports again, so an export must be able to replace itself.
    """

    @property
    def name(self) -> str:
        """The name of its folder within ``model_dir/export``."""
        ...

    def export(
        self,
        trainer: Any,
        export_path: Path,
        checkpoint_path: Path | None,
        eval_result: Metrics,
        is_the_final_export: bool,
    ) -> Any:
        """Writes the model below ``export_path``; returns what was written, or None."""
        ...


class _FolderExporter:
    """Writes folders that are whole when they have their name."""

    def __init__(self, name: str, export_fn: ExportFn) -> None:
        self.name = name
        self._export_fn = export_fn

    def recover(self, export_path: Path) -> None:
        """Clears away what a kill left, and brings back what it left without its name."""
        recover(export_path)

    def _write(self, trainer: Any, path: Path) -> Path:
        with written_whole(path) as folder:
            self._export_fn(trainer, folder)
        return path


class FinalExporter(_FolderExporter):
    """Exports once, after the last evaluation.

    Args:
        name: of its folder.
        export_fn: called with the trainer and an empty folder.
    """

    def export(
        self,
        trainer: Any,
        export_path: Path,
        checkpoint_path: Path | None,
        eval_result: Metrics,
        is_the_final_export: bool,
    ) -> Path | None:
        """Writes the model, if this is the end."""
        return self._write(trainer, export_path / "final") if is_the_final_export else None


class LatestExporter(_FolderExporter):
    """Exports after every evaluation, and keeps the latest.

    Args:
        name: of its folder.
        export_fn: called with the trainer and an empty folder.
        exports_to_keep: how many stay; None keeps all.

    Raises:
        ValueError: ``exports_to_keep`` is not positive.
    """

    def __init__(self, name: str, export_fn: ExportFn, exports_to_keep: int | None = 5) -> None:
        if exports_to_keep is not None and exports_to_keep < 1:
            raise ValueError(f"exports_to_keep must be at least 1, not {exports_to_keep}")
        super().__init__(name, export_fn)
        self._exports_to_keep = exports_to_keep
        self._latest: int | None = None

    def state_dict(self) -> dict[str, Any]:
        """Returns the step of the latest export."""
        return {"latest": self._latest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from there."""
        self._latest = state["latest"]

    def export(
        self,
        trainer: Any,
        export_path: Path,
        checkpoint_path: Path | None,
        eval_result: Metrics,
        is_the_final_export: bool,
    ) -> Path:
        """Writes the model into a folder with the number of the step."""
        step = int(eval_result["global_step"])
        path = export_path / f"{step:09}"
        if self._latest == step and path.exists():  # the end came to be known after the evaluation
            return path
        self._write(trainer, path)
        self._latest = step
        if self._exports_to_keep is not None:
            others = [other for other in export_path.iterdir() if other.name.isdigit() and other != path]
            others.sort(key=lambda other: int(other.name))
            for old in others[: max(0, len(others) + 1 - self._exports_to_keep)]:
                removed(old)
        return path


class BestExporter(_FolderExporter):
    """Exports when an evaluation is better than every one before, of the whole job, however often it was started.

    A metric that is NaN is worse than any number, whatever ``compare_fn`` makes of it.

    Args:
        name: of its folder.
        export_fn: called with the trainer and an empty folder.
        compare_fn: called with the best metrics so far and the current ones; returns whether the current are better. By
            default a smaller ``loss`` is.
    """

    def __init__(
        self, name: str, export_fn: ExportFn, compare_fn: Callable[[Metrics, Metrics], bool] | None = None
    ) -> None:
        super().__init__(name, export_fn)
        self._compare_fn = compare_fn or (lambda best, current: current["loss"] < best["loss"])
        self._best: Metrics | None = None

    def export(
        self,
        trainer: Any,
        export_path: Path,
        checkpoint_path: Path | None,
        eval_result: Metrics,
        is_the_final_export: bool,
    ) -> Path | None:
        """Writes the model, if it is the best."""
        if self._best is not None and not self._is_better(self._best, eval_result):
            return None
        path = self._write(trainer, export_path / "best")
        self._best = dict(eval_result)
        return path

    def _is_better(self, best: Metrics, current: Metrics) -> bool:
        is_better = self._compare_fn(best, current)
        fewer = _not_numbers_in(best) - _not_numbers_in(current)
        # A comparison with NaN says the same both ways: it knows nothing.
        if fewer and self._compare_fn(current, best) == is_better:
            return fewer > 0
        return is_better

    def state_dict(self) -> dict[str, Any]:
        """Returns the best metrics so far."""
        return {"best": self._best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Compares with those from now on."""
        self._best = state["best"]


def _not_numbers_in(metrics: Metrics) -> int:
    return sum(math.isnan(value) for value in metrics.values())
