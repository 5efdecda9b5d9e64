"""The facade: ``Dataset``, the datasets of files, and nothing that the layers below would need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.dataset.dataset import Dataset
from headrace.dataset.fingerprinting import fingerprint

if TYPE_CHECKING:
    from headrace.dataset.formats.arrow import ArrowDataset
    from headrace.dataset.formats.csv import CsvDataset
    from headrace.dataset.formats.fixed_length import FixedLengthRecordDataset
    from headrace.dataset.formats.json_lines import JsonLinesDataset
    from headrace.dataset.formats.numpy import NumpyDataset
    from headrace.dataset.formats.parquet import ParquetDataset
    from headrace.dataset.formats.sql import SqlDataset
    from headrace.dataset.formats.tar import TarDataset
    from headrace.dataset.formats.text import TextLineDataset
    from headrace.dataset.formats.tfrecord import TFRecordDataset

__all__ = [
    "ArrowDataset",
    "CsvDataset",
    "Dataset",
    "FixedLengthRecordDataset",
    "JsonLinesDataset",
    "NumpyDataset",
    "ParquetDataset",
    "SqlDataset",
    "TFRecordDataset",
    "TarDataset",
    "TextLineDataset",
    "fingerprint",
]

# The module of each format, in ``formats``: its reader is imported when somebody first reads such files.
FORMATS = {
    "ArrowDataset": "arrow",
    "CsvDataset": "csv",
    "FixedLengthRecordDataset": "fixed_length",
    "JsonLinesDataset": "json_lines",
    "NumpyDataset": "numpy",
    "ParquetDataset": "parquet",
    "SqlDataset": "sql",
    "TarDataset": "tar",
    "TextLineDataset": "text",
    "TFRecordDataset": "tfrecord",
}


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

    def __getattr__(name: str) -> object:
        if name in FORMATS:
            import importlib

            return getattr(importlib.import_module(f"headrace.dataset.formats.{FORMATS[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
