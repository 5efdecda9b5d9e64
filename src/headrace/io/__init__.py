"""Files and formats: opening, reading, decoding. One file a format.

``hr.io`` is this package's public surface; readers and formats are imported from their own modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headrace.io.csv import decode_csv
    from headrace.io.example_features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
    from headrace.io.example_message import serialize_example
    from headrace.io.example_parsing import parse_example, parse_single_example
    from headrace.io.files import read_file
    from headrace.io.image_decoding import decode_image, decode_jpeg, decode_png
    from headrace.io.indexed_records import build_index
    from headrace.io.parquet_writer import ParquetWriter
    from headrace.io.raw_decoding import decode_raw
    from headrace.io.tar_writer import TarWriter
    from headrace.io.tfrecord_writer import TFRecordWriter

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


# Imported when it is first used: nobody waits for a format that is not read.
_LATER: Final = {
    "FixedLenFeature": "example_features",
    "FixedLenSequenceFeature": "example_features",
    "ParquetWriter": "parquet_writer",
    "TFRecordWriter": "tfrecord_writer",
    "TarWriter": "tar_writer",
    "VarLenFeature": "example_features",
    "build_index": "indexed_records",
    "decode_csv": "csv",
    "decode_image": "image_decoding",
    "decode_jpeg": "image_decoding",
    "decode_png": "image_decoding",
    "decode_raw": "raw_decoding",
    "parse_example": "example_parsing",
    "parse_single_example": "example_parsing",
    "read_file": "files",
    "serialize_example": "example_message",
}


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

    def __getattr__(name: str) -> object:
        if name in _LATER:
            import importlib

            return getattr(importlib.import_module(f"headrace.io.{_LATER[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
