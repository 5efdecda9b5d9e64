"""How the tests compress what the readers are to decompress, by the names of ``compression_type``."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable

import pyarrow as pa

__all__ = ["COMPRESS", "SUFFIXES"]


def _by_arrow(codec: str) -> Callable[[bytes], bytes]:
    def compress(content: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content)
        compressed: bytes = sink.getvalue().to_pybytes()
        return compressed

    return compress


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "GZIP": lambda content: gzip.compress(content, mtime=0),
    "ZLIB": zlib.compress,
    "BZ2": bz2.compress,
    "XZ": lzma.compress,
    "ZSTD": _by_arrow("zstd"),
    "LZ4": _by_arrow("lz4"),
}
SUFFIXES = {"GZIP": ".gz", "ZLIB": ".zz", "BZ2": ".bz2", "XZ": ".xz", "ZSTD": ".zst", "LZ4": ".lz4"}
