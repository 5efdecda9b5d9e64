"""Checkpoints of a training job: the model and the place in its input, together or not at all.

    model_dir/checkpoint-000001200/   job.json, state.json, state.npz

What always holds: a folder under its name is whole, because it was written beside and renamed; the newest whole one is
where a job goes on.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Any, Final

from headrace.errors import DataLossError
from headrace.train.checkpoint_values import read_values, write_values

__all__ = ["Checkpoint", "Checkpoints"]

_NAME: Final = re.compile(r"checkpoint-(\d+)")
_JOB_FILE: Final = "job.json"


@dataclasses.dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a job stood.

    Attributes:
        step: how many steps were made.
        trainer: the trainer's state.
        input: the place of the input; None where the input has none.
    """

    step: int
    trainer: Any
    input: dict[str, Any] | None


class Checkpoints:
    """The checkpoints in a folder.

    Args:
        folder: where; None keeps nothing.
        keep: how many stay; None keeps all.
    """

    def __init__(self, folder: Path | None, keep: int | None) -> None:
        self._folder = folder
        self._keep = keep

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint.

        Raises:
            DataLossError: it is broken; older ones are named as the way out.
        """
        found = self._found()
        if not found:
            return None
        step, path = found[-1]
        try:
            job = json.loads((path / _JOB_FILE).read_text())
            return Checkpoint(step, read_values(path), job["input"])
        except (DataLossError, OSError, ValueError, KeyError) as error:
            message = f"the checkpoint {path} is broken ({error}); remove it to go on from the one before"
            raise DataLossError(message) from error

    def write(self, checkpoint: Checkpoint) -> Path | None:
        """Writes a checkpoint and removes those that are too old; where it lies now."""
        if self._folder is None:
            return None
        path = self._folder / f"checkpoint-{checkpoint.step:09}"
        beside = self._folder / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part"
        beside.mkdir(parents=True)
        try:
            write_values(beside, checkpoint.trainer)
            (beside / _JOB_FILE).write_text(json.dumps({"step": checkpoint.step, "input": checkpoint.input}))
            shutil.rmtree(path, ignore_errors=True)
            beside.rename(path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        self._remove_old()
        return path

    def _remove_old(self) -> None:
        assert self._folder is not None  # there is something to remove
        for left in self._folder.glob(".checkpoint-*.part"):
            shutil.rmtree(left, ignore_errors=True)
        if self._keep is not None:
            for _, path in self._found()[: -self._keep]:
                shutil.rmtree(path, ignore_errors=True)

    def _found(self) -> list[tuple[int, Path]]:
        if self._folder is None or not self._folder.is_dir():
            return []
        matches = [(match, path) for path in self._folder.iterdir() if (match := _NAME.fullmatch(path.name))]
        return sorted((int(match[1]), path) for match, path in matches)
