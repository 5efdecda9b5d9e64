"""Rows of CSV files: 1,024 numbers and a label each, 23 in a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

import headrace as hr
from examples.waiting.gpu import gpu_step
from headrace.cli.demo.csv_folder import prepare_folder
from headrace.cli.demo.data import Recipe

__all__ = ["STEP_S", "naive", "parse", "step"]

DATA: Final = Path("data/csv")  # the files of ``headrace demo``
FEATURES: Final = 1024
BATCH_SIZE: Final = 23

STEP_S: Final = 0.0015

step = gpu_step(STEP_S)


def parse(line: str) -> tuple[Any, Any]:
    """Returns the numbers of a line, each made by Python, and its label."""
    numbers = np.array([float(field) for field in line.split(",")], np.float32)
    return numbers[:-1], numbers[-1:]


def files() -> list[str]:
    """Returns the files of ``headrace demo``, made where they are not there."""
    DATA.parent.mkdir(exist_ok=True)
    folder = prepare_folder(
        DATA,
        Recipe(files=20, rows=100, features=FEATURES, seed=0),
        may_fill=True,
        features=None,
        on_file=lambda *_: None,
    )
    return [str(path) for path in folder.paths]


def naive() -> hr.Dataset:
    """The input as one writes it first."""
    return hr.TextLineDataset(files()).shuffle(2000, seed=0).map(parse).batch(BATCH_SIZE)
