"""headrace keeps an accelerator fed: tf.data's words on plain Python, fast, exactly resumable, and able to say why a step waited."""

from __future__ import annotations

from headrace import errors, io, queue, train
from headrace.dataset import CsvDataset, Dataset, TextLineDataset
from headrace.iterator import DatasetIterator
from headrace.plan.node import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from headrace.plan.options import Options
from headrace.structure import TensorSpec

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
    "io",
    "queue",
    "train",
]

__version__ = "0.1.0.dev0"
