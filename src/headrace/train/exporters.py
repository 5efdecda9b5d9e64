"""Who writes a model out after an evaluation: always, at the end, or when it is the best so far."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

__all__ = ["BestExporter", "Exporter", "FinalExporter", "LatestExporter"]

Metrics = Mapping[str, Any]
# Writes the model of a trainer into a folder that is there, and empty.
ExportFn = Callable[[Any, Path], Any]


@runtime_checkable
class Exporter(Protocol):
    """What ``EvalSpec.exporters`` takes."""

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


def _written(export_fn: ExportFn, trainer: Any, folder: Path) -> Path:
    """A folder that is complete when it has its name."""
    beside = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    export_fn(trainer, beside)
    shutil.rmtree(folder, ignore_errors=True)
    return beside.rename(folder)


class FinalExporter:
    """Exports once, after the last evaluation.

    Args:
        name: of its folder.
        export_fn: called with the trainer and an empty folder.
    """

    def __init__(self, name: str, export_fn: ExportFn) -> None:
        self.name = name
        self._export_fn = export_fn

    def export(
        self,
        trainer: Any,
        export_path: Path,
        checkpoint_path: Path | None,
        eval_result: Metrics,
        is_the_final_export: bool,
    ) -> Path | None:
        """Writes the model, if this is the end."""
        return _written(self._export_fn, trainer, export_path / "final") if is_the_final_export else None


class LatestExporter:
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
        self.name = name
        self._export_fn = export_fn
        self._exports_to_keep = exports_to_keep

    def export(
        self,
        trainer: Any,
        export_path: Path,
        checkpoint_path: Path | None,
        eval_result: Metrics,
        is_the_final_export: bool,
    ) -> Path:
        """Writes the model into a folder with the number of the step."""
        written = _written(self._export_fn, trainer, export_path / f"{int(eval_result['global_step']):09}")
        if self._exports_to_keep is not None:
            for old in sorted(path for path in export_path.iterdir() if path.name.isdigit())[: -self._exports_to_keep]:
                shutil.rmtree(old)
        return written


class BestExporter:
    """Exports when an evaluation is better than every one before.

    Args:
        name: of its folder.
        export_fn: called with the trainer and an empty folder.
        compare_fn: called with the best metrics so far and the current ones; returns whether the current are better. By
            default a smaller ``loss`` is.
    """

    def __init__(
        self, name: str, export_fn: ExportFn, compare_fn: Callable[[Metrics, Metrics], bool] | None = None
    ) -> None:
        self.name = name
        self._export_fn = export_fn
        self._is_better = compare_fn or (lambda best, current: current["loss"] < best["loss"])
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
        self._best = dict(eval_result)
        return _written(self._export_fn, trainer, export_path / "best")
