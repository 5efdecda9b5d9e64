"""What ``TarDataset(handlers="auto")`` makes of files by their extensions: those that WebDataset's users write."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any, Final

from headrace.known_as import known_as
from headrace.plan.tar_handlers import Handler

__all__ = ["AUTO"]


@known_as("array of a tar member")
def _array(data: bytes) -> Any:
    from headrace.io.npy.array import array_of_bytes

    return array_of_bytes(data, "the array")


@known_as("JPEG of a tar member")
def _jpeg(data: bytes) -> Any:
    from headrace.io.images.decoding import decode_jpeg

    return decode_jpeg(data)


@known_as("PNG of a tar member")
def _png(data: bytes) -> Any:
    from headrace.io.images.decoding import decode_png

    return decode_png(data)


@known_as("WAV of a tar member")
def _wav(data: bytes) -> Any:
    from headrace.audio.wav import decode_wav

    return decode_wav(data)


AUTO: Final = MappingProxyType[str, Handler](
    {
        **dict.fromkeys(("txt", "text", "transcript"), bytes.decode),
        **dict.fromkeys(("cls", "cls2", "class", "count", "index", "inx", "id"), int),
        **dict.fromkeys(("json", "jsn"), json.loads),
        **dict.fromkeys(("jpg", "jpeg"), _jpeg),
        "npy": _array,
        "png": _png,
        "wav": _wav,
    }
)
