"""Writes WebDataset shards: an element is a run of files of one key in a tar archive.

What always holds.
- The archive is whole or it is not there under its name (``atomic_file``).
- The same elements are the same bytes: files stand in the order of the element, with no owner, no time, and mode 0644.
- GNU tar and Python's ``tarfile`` read it: POSIX headers (ustar), with a pax header only where a name or size needs it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.io.atomic_file import AtomicFile
from headrace.io.tar.header import BLOCK_BYTES, END_BLOCK, padded
from headrace.io.tar.members import split_name

__all__ = ["TarWriter"]

# tar reads and writes 20 blocks at once, and fills the last ones up.
_RECORD_BYTES: Final = 20 * BLOCK_BYTES


class TarWriter:
    """Writes one shard of elements, which appears under its name when it is complete.

    Bytes are written as they are. A ``str`` is written in UTF-8, a number as its digits, a list or dict as JSON: what
    ``TarDataset(handlers="auto")`` reads back under the extensions ``txt``, ``cls`` and ``json``.

    Args:
        path: where it will stand: a local path, whose folder is made, or an address with ``://``.

    Raises:
        FailedPreconditionError: nothing can be written there.
        InvalidArgumentError: from ``write``, for an element that has no key, the key of the one before, or a value that
            is neither bytes nor text, number, list or dict.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shard-0000.tar"
        >>> with hr.io.TarWriter(path) as writer:
        ...     writer.write({"__key__": "0001", "txt": "a cat", "cls": 3, "json": {"seen": [1, 2]}})
        >>> for element in hr.TarDataset(path):
        ...     print(element["__key__"], element["txt"], element["cls"], element["json"])
        0001 b'a cat' b'3' b'{"seen": [1, 2]}'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = AtomicFile(path)
        self._last_key: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._file.abandon()

    def write(self, element: Mapping[str, Any]) -> None:
        """Writes one element.

        Args:
            element: its key as ``"__key__"``, and one value an extension; other names that begin with two underlines,
                such as ``"__url__"``, are left out.

        Raises:
            InvalidArgumentError: it is no such element. Nothing of it is written.
            FailedPreconditionError: the writer is closed.
        """
        if not self._file.is_open:
            raise FailedPreconditionError(f"{self._file.path}: this writer is closed; make another one")
        files = _files_of(element)
        key = element["__key__"]
        if key == self._last_key:
            raise InvalidArgumentError(f"key {key!r} comes twice in a row: the two would be read as one element")
        self._last_key = key
        for name, content in files.items():
            self._file.write(_header(name, len(content)))
            self._file.write(content)
            self._file.write(bytes(padded(len(content)) - len(content)))

    def close(self) -> None:
        """Writes the end, and gives the file its name; a ``with`` block does it."""
        if self._file.is_open:
            self._file.write(END_BLOCK * 2)
            self._file.write(bytes(-self._file.tell() % _RECORD_BYTES))
        self._file.complete()


def _files_of(element: Mapping[str, Any]) -> dict[str, bytes]:
    """Returns the contents of an element's files by their names."""
    key = element.get("__key__")
    if not isinstance(key, str):
        raise InvalidArgumentError(f"an element needs a str under '__key__', and has {key!r}")
    files = {}
    for extension, value in element.items():
        if extension.startswith("__"):
            continue
        name = f"{key}.{extension}"
        if split_name(name) != (key, extension) or "\0" in name:
            raise InvalidArgumentError(
                f"{name!r} would not be read back as key {key!r} and {extension!r}: after its last slash a key is not "
                "empty and has no dot, and an extension is not empty, in small letters, without a slash"
            )
        files[name] = _content(value, name)
    if not files:
        raise InvalidArgumentError(f"the element of key {key!r} has no files, so it would not be read back")
    return files


def _content(value: Any, name: str) -> bytes:
    for kinds, encode in _ENCODERS:
        if isinstance(value, kinds):
            return encode(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a scalar of NumPy's
        return _content(value.item(), name)
    raise InvalidArgumentError(
        f"{name} is of type {type(value).__name__}, and not bytes, text, a number, a list or a dict; encode it first"
    )


_ENCODERS: Final[tuple[tuple[Any, Callable[[Any], bytes]], ...]] = (
    ((bytes, bytearray, memoryview), bytes),
    (str, str.encode),
    (bool, lambda value: str(int(value)).encode()),
    ((int, float), lambda value: repr(value).encode()),
    ((list, dict), lambda value: json.dumps(value).encode()),
)


def _header(name: str, nbytes: int) -> bytes:
    import tarfile  # with all its compressions it takes long to import

    member = tarfile.TarInfo(name)
    member.size = nbytes
    header = member.tobuf(tarfile.PAX_FORMAT)
    assert len(header) % BLOCK_BYTES == 0  # whole blocks, or no archive would be whole
    return header
