"""headrace keeps an accelerator fed: tf.data's words on plain Python, fast, exactly resumable, and able to say why a step waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import errors, io, queue
from headrace.dataset import CsvDataset, Dataset, TextLineDataset, fingerprint
from headrace.iterator import DatasetIterator
from headrace.plan.node import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from headrace.plan.options import Options
from headrace.structure import TensorSpec

if TYPE_CHECKING:
    from headrace import train

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "CsvDataset",
    "Dataset",
    "DatasetIterator",
    "Options",
    "TensorSpec",
    "TextLineDataset",
    "errors",
    "fingerprint",
    "io",
    "queue",
    "train",
]

__version__ = "0.1.0.dev0"


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

    def __getattr__(name: str) -> object:
        """``hr.train`` is imported when it is first used: who has a Dataset does not wait for it."""
        if name == "train":
            import importlib

            return importlib.import_module("headrace.train")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
