"""Describes files that are read as streams of bytes, compressed or not: what their formats have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

import numpy as np

from headrace.arguments import check_int
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.compression import checked_compression_type
from headrace.io.reader import Chunk
from headrace.io.stream_reader import DEFAULT_BUFFER_BYTES

__all__ = ["StreamedFiles"]

# What the buffers of files that are read in turns have together, and each at least: shorter ones cost more calls than they save memory.
_BYTES_OF_ALL: Final = 32 << 20
_FEWEST_BYTES: Final = 1 << 18


@frozen(kw_only=True)
class StreamedFiles:
    """Records in a stream of bytes.

    Attributes:
        smallest_buffer: 0 where it stands for the default, as in most of tf.data's readers.
    """

    op: ClassVar[str]
    smallest_buffer: ClassVar[int] = 0
    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        if self.buffer_size is None:
            return
        size = check_int(self.buffer_size, field="buffer_size", stage=self.op)
        if size < self.smallest_buffer:
            message = f"buffer_size is a number of bytes, at least {self.smallest_buffer}, or None for the default, not {size}"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "buffer_size", size or None)

    def side_by_side(self, files: int) -> Self:
        """Returns the same read with shorter buffers, where so many files are read in turns; with those of the user's size if one was given."""
        nbytes = max(_FEWEST_BYTES, _BYTES_OF_ALL // files)
        if self.buffer_size is not None or nbytes >= DEFAULT_BUFFER_BYTES:
            return self
        return dataclasses.replace(self, buffer_size=nbytes)

    def parameters(self) -> dict[str, Any]:
        return {"compression_type": self.compression_type or None}

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.columns
