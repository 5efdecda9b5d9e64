"""The facade: ``Dataset``, the datasets of files, and nothing that the layers below would need."""

from __future__ import annotations

from headrace.dataset.dataset import Dataset
from headrace.dataset.fingerprinting import fingerprint
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
