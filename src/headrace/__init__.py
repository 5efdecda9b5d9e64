"""headrace keeps an accelerator fed: tf.data's words on plain Python, fast, exactly resumable, and able to say why a step waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import errors, io, queue
from headrace.dataset import (
    ArrowDataset,
    CsvDataset,
    Dataset,
    FixedLengthRecordDataset,
    JsonLinesDataset,
    NumpyDataset,
    ParquetDataset,
    SqlDataset,
    TarDataset,
    TextLineDataset,
    TFRecordDataset,
    fingerprint,
)
from headrace.iterator import DatasetIterator
from headrace.labels import one_hot
from headrace.plan.node import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from headrace.plan.options import Options
from headrace.plan.vectorized import vectorized
from headrace.ragged import RaggedTensor
from headrace.structure import TensorSpec

if TYPE_CHECKING:
    from headrace import audio, image, train

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "ArrowDataset",
    "CsvDataset",
    "Dataset",
    "DatasetIterator",
    "FixedLengthRecordDataset",
    "JsonLinesDataset",
    "NumpyDataset",
    "Options",
    "ParquetDataset",
    "RaggedTensor",
    "SqlDataset",
    "TFRecordDataset",
    "TarDataset",
    "TensorSpec",
    "TextLineDataset",
    "audio",
    "errors",
    "fingerprint",
    "image",
    "io",
    "one_hot",
    "queue",
    "train",
    "vectorized",
]

__version__ = "0.1.0.dev0"


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

    def __getattr__(name: str) -> object:
        """These modules are imported when they are first used: who has a Dataset does not wait for them."""
        if name in {"audio", "image", "train"}:
            import importlib

            return importlib.import_module(f"headrace.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
