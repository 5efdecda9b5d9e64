"""The header of NumPy's own format: what an array is, before the array.

What always holds. Of a file no more than ``MAX_HEADER_BYTES`` are looked at, and nothing is allocated for what a header
claims. What is wrong with it is a ``ValueError``, whatever Python's parser makes of it, and it warns of nothing.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import Any, Final, NamedTuple

import numpy as np

__all__ = ["MAX_HEADER_BYTES", "Header", "read_header"]

# As many as NumPy's own reader takes of a file that nobody vouches for; dtypes of a hundred fields have half of it.
MAX_HEADER_BYTES: Final = 10_000
_MAGIC: Final = b"\x93NUMPY"
# By version: how many bytes the header's length has, and its encoding.
_VERSIONS: Final = {(1, 0): (2, "latin1"), (2, 0): (4, "latin1"), (3, 0): (4, "utf-8")}
_KEYS: Final = {"descr", "fortran_order", "shape"}
_LONG_OF_PYTHON_2: Final = re.compile(r"(?<=\d)L(?=\s*[,)])")


class Header(NamedTuple):
    """What the bytes after it are.

    Attributes:
        shape: of the array.
        is_fortran: whether its first axis changes fastest.
        dtype: of its items.
    """

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """How many bytes the array has."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: Any) -> Header:
    """Reads a header; the stream then stands at the array.

    Raises:
        ValueError: it is none, or one that cannot be.
    """
    text = _text(stream)
    try:
        with warnings.catch_warnings(action="ignore"):  # of numbers that run into words, and of old names of dtypes
            said = _literal(text)
            dtype = np.lib.format.descr_to_dtype(said["descr"])
    # Python's parser and NumPy's are asked what the text means, and on a damaged one they raise anything.
    except Exception as error:
        raise ValueError(f"its header is damaged: {str(error)[:200] or type(error).__name__}") from error
    shape, is_fortran = said["shape"], said["fortran_order"]
    if not _is_shape(shape) or type(is_fortran) is not bool:
        raise ValueError("its header says no shape that an array could have")
    return Header(shape, is_fortran, dtype)


def _text(stream: Any) -> str:
    mark = stream.read(len(_MAGIC) + 2)
    width, encoding = _VERSIONS.get(tuple(mark[len(_MAGIC) :]), (0, ""))
    if not mark.startswith(_MAGIC) or not width:
        raise ValueError("it begins with no mark of NumPy's, or with one of an unknown version")
    length = int.from_bytes(stream.read(width), "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"its header has {length} bytes, and {MAX_HEADER_BYTES} is the most that is read")
    content = stream.read(length)
    if len(content) < length:
        raise ValueError("it ends within its header")
    return str(content, encoding)


def _literal(text: str) -> dict[str, Any]:
    try:
        said = ast.literal_eval(text)
    except SyntaxError:
        said = ast.literal_eval(_LONG_OF_PYTHON_2.sub("", text))
    if not isinstance(said, dict) or said.keys() != _KEYS:
        raise ValueError(f"it does not say {', '.join(sorted(_KEYS))}")
    return said


def _is_shape(said: Any) -> bool:
    return isinstance(said, tuple) and all(type(size) is int and size >= 0 for size in said)
