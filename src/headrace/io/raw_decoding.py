"""Bytes as numbers: ``tf.io.decode_raw``."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from headrace.errors import InvalidArgumentError

__all__ = ["LOST_NULS", "decode_raw"]

LOST_NULS: Final = "it drops the NUL bytes at the end of each record; make it with np.array(records, dtype=object)"
_DTYPES: Final = [np.dtype(code) for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"]
# The dtypes of NumPy's types whose numbers lie in files as in memory.
_AS_IN_MEMORY: Final = {dtype.type: dtype for dtype in _DTYPES} if sys.byteorder == "little" else {}


def decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: int | None = None
) -> np.ndarray:
    r"""Returns the numbers that bytes are, as ``tf.io.decode_raw``.

    Args:
        input_bytes: ``bytes``, or an array or a (nested) list of them, all of one length.
        out_type: the dtype of the numbers.
        little_endian: the byte order in which they are written.
        fixed_length: how many bytes of each count: longer ones are cut, shorter ones filled with zeros. None takes all.

    Returns:
        Of the shape of ``input_bytes`` with an axis more, along the numbers of each. The array is the caller's own.

    Raises:
        InvalidArgumentError: what is not bytes; bytes of several lengths, or of one that is no multiple of a number's.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.io.decode_raw(b"\x01\x00\x02\x00", np.int16)
        array([1, 2], dtype=int16)
        >>> hr.io.decode_raw([b"ab", b"cd"], np.uint8)
        array([[ 97,  98],
               [ 99, 100]], dtype=uint8)
    """
    if type(input_bytes) is bytes and type(out_type) is type and little_endian and fixed_length is None:  # mostly
        dtype = _AS_IN_MEMORY.get(out_type)
        if dtype is not None and not len(input_bytes) % dtype.itemsize:
            return np.frombuffer(input_bytes, dtype).copy()
    dtype = np.dtype(out_type)
    if dtype.kind not in "biufc":
        raise InvalidArgumentError(f"decode_raw gives numbers, and not {dtype}")
    pieces, shape = _pieces(input_bytes)
    if fixed_length is not None:
        if fixed_length < 1 or fixed_length % dtype.itemsize:
            raise InvalidArgumentError(
                f"fixed_length is a positive multiple of the {dtype.itemsize} bytes of {dtype}, and not {fixed_length}"
            )
        pieces = [piece[:fixed_length].ljust(fixed_length, b"\0") for piece in pieces]
    size = _size(pieces, dtype)
    joined = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    numbers = np.frombuffer(joined, dtype.newbyteorder("<" if little_endian else ">")).reshape(*shape, size)
    return numbers.astype(dtype)


def _pieces(value: Any) -> tuple[list[bytes], tuple[int, ...]]:
    """Returns all bytes in a row, and the shape in which they came."""
    if isinstance(value, bytes):
        return [value], ()
    if isinstance(value, np.ndarray) and value.dtype == object:
        for one in value.ravel().tolist():
            if not isinstance(one, bytes):
                raise InvalidArgumentError(f"decode_raw takes bytes, and not {type(one).__name__}")
        return value.ravel().tolist(), value.shape
    if isinstance(value, np.ndarray):
        why = LOST_NULS if value.dtype.kind == "S" else "make it one of bytes, with dtype=object"
        raise InvalidArgumentError(f"decode_raw does not take an array of dtype {value.dtype}: {why}")
    if not isinstance(value, (list, tuple)):
        raise InvalidArgumentError(
            f"decode_raw takes bytes, or an array or a list of them, and not {type(value).__name__}"
        )
    parts = [_pieces(one) for one in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise InvalidArgumentError(f"the lists of bytes differ in shape: {sorted(shapes)}")
    return [piece for pieces, _ in parts for piece in pieces], (len(value), *(shapes.pop() if shapes else ()))


def _size(pieces: list[bytes], dtype: np.dtype[Any]) -> int:
    """Returns how many numbers each has."""
    length = len(pieces[0]) if pieces else 0
    for index, piece in enumerate(pieces):
        if len(piece) != length:
            raise InvalidArgumentError(
                f"decode_raw needs bytes of one length: element {index} has {len(piece)}, and those before it {length}"
            )
    if length % dtype.itemsize:
        raise InvalidArgumentError(f"{length} bytes are no multiple of {dtype.itemsize}, the size of {dtype}")
    return length // dtype.itemsize
