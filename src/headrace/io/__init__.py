"""Files and formats: opening, reading, decoding. One file a format.

``hr.io`` is this package's public surface; readers and formats are imported from their own modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.io.csv import decode_csv
from headrace.io.example_features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from headrace.io.example_message import serialize_example
from headrace.io.files import read_file
from headrace.io.indexed_records import build_index
from headrace.io.parquet_writer import ParquetWriter
from headrace.io.parse_example import parse_example, parse_single_example
from headrace.io.raw_decoding import decode_raw
from headrace.io.tar_writer import TarWriter
from headrace.io.tfrecord_writer import TFRecordWriter

if TYPE_CHECKING:
    from headrace.io.image_decoding import decode_image, decode_jpeg, decode_png

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "ParquetWriter",
    "TFRecordWriter",
    "TarWriter",
    "VarLenFeature",
    "build_index",
    "decode_csv",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "parse_example",
    "parse_single_example",
    "read_file",
    "serialize_example",
]


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

    def __getattr__(name: str) -> object:
        """Images are decoded by those who have images; the others do not wait for the import."""
        if name in {"decode_image", "decode_jpeg", "decode_png"}:
            from headrace.io import image_decoding

            return getattr(image_decoding, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
