"""What the formats have in common that are read as streams of bytes, compressed or not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.io.compression import checked_compression_type
from headrace.io.reader import Chunk

__all__ = ["StreamedFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StreamedFiles:
    """Records in a stream of bytes."""

    op: ClassVar[str]
    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        size = self.buffer_size
        if size is not None and (isinstance(size, bool) or not isinstance(size, int)):
            raise TypeError(f"buffer_size must be an int or None, not {type(size).__name__}")
        if size is not None and size < 1:
            raise InvalidArgumentError(f"buffer_size must be at least 1 byte, not {size}")

    def parameters(self) -> dict[str, Any]:
        return {"compression_type": self.compression_type or None}

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.columns
