"""Files that are damaged in place, as a disk or another program does, while somebody may have them open."""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path
from typing import Final

from headrace.errors import NotFoundError
from headrace.testing.faults.arguments import an_int

__all__ = ["Damaged", "corrupt", "truncate"]

_TURNED: Final = tuple(range(1, 256))  # what a byte is combined with: never 0, which would leave it as it is


class Damaged(contextlib.AbstractContextManager["Damaged"]):
    """A damaged file, which is as it was at the end of a ``with`` block.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = path.read_bytes()

    def __exit__(self, *_: object) -> None:
        self._path.write_bytes(self._before)


def truncate(path: str | os.PathLike[str], to: float = 0.5) -> Damaged:
    r"""Cuts a file short, where it is.

    Args:
        path: the file.
        to: how many bytes are left, or, as a float below 1, which share of them.

    Returns:
        What puts the file back at the end of a ``with`` block. Without one, it stays as it is.

    Raises:
        InvalidArgumentError: the file has fewer bytes.
        NotFoundError: there is no such file.

    Example:
        >>> import pathlib, tempfile, headrace as hr
        >>> from headrace.testing import faults
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "words.txt")
        ...     _ = path.write_text("one\ntwo\nthree\n")
        ...     with faults.truncate(path, 5):
        ...         print(list(hr.TextLineDataset(path)))
        ...     print(list(hr.TextLineDataset(path)))
        ['one', 't']
        ['one', 'two', 'three']
    """
    path, size = _found(path)
    is_share = type(to) is float and 0 <= to < 1
    length = (
        int(to * size) if is_share else an_int(to, "to", 0, size, what=f", the bytes of {path}, or a share below 1.0")
    )
    damaged = Damaged(path)
    os.truncate(path, length)
    return damaged


def corrupt(path: str | os.PathLike[str], *, count: int = 1, seed: int = 0) -> Damaged:
    """Changes bytes of a file, where it is.

    Args:
        path: the file.
        count: how many bytes.
        seed: draws which, and what they become.

    Returns:
        What puts the file back at the end of a ``with`` block. Without one, it stays as it is.

    Raises:
        InvalidArgumentError: the file has fewer bytes.
        NotFoundError: there is no such file.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.testing import faults
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "zeros")
        ...     _ = path.write_bytes(bytes(1000))
        ...     _ = faults.corrupt(path, count=3, seed=1)
        ...     path.read_bytes().count(0)
        997
    """
    path, size = _found(path)
    an_int(count, "count", 1, size, what=f", the bytes of {path}")
    damaged = Damaged(path)
    dice = random.Random(seed)
    with path.open("r+b") as file:
        for place in dice.sample(range(size), count):
            file.seek(place)
            (byte,) = file.read(1)
            file.seek(place)
            file.write(bytes([byte ^ dice.choice(_TURNED)]))
    return damaged


def _found(path: str | os.PathLike[str]) -> tuple[Path, int]:
    path = Path(path)
    if not path.is_file():
        raise NotFoundError(f"there is no file {path}, which was to be damaged")
    return path, path.stat().st_size
