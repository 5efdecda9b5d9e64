"""What ``TarDataset(handlers="auto")`` makes of files by their extensions: those that WebDataset's users write."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any, Final

from headrace.plan.tar_handlers import Handler

__all__ = ["AUTO"]


def _array(data: bytes) -> Any:
    from headrace.io.npy.array import array_of_bytes

    return array_of_bytes(data, "the array")


def _jpeg(data: bytes) -> Any:
    from headrace.io.images.decoding import decode_jpeg

    return decode_jpeg(data)


def _png(data: bytes) -> Any:
    from headrace.io.images.decoding import decode_png

    return decode_png(data)


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
