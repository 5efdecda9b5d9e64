"""The arrays in one of NumPy's files: mapped into memory where they lie in it as they are, and never a pickle.

What always holds. Nothing is allocated that the file's own size does not cover, however large an array a header claims;
a compressed member of an archive is decompressed in portions, as far as it goes, and no further than its header says.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError
from headrace.io.files import open_at, read_file, says_which_file
from headrace.io.npy.header import Header, read_header
from headrace.io.reader import Array

__all__ = ["array_of_bytes", "arrays_of_file"]

_ZIP_MARK: Final = b"PK"
_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PORTION_BYTES: Final = 1 << 20
_OBJECTS: Final = "holds Python objects, which only a pickle could bring back; save numbers, or texts of a fixed length"


def arrays_of_file(path: str) -> Array | dict[str, Array]:
    """Returns the array of an ``.npy`` file, or those of an ``.npz`` archive by name, read-only.

    Args:
        path: local files are mapped into memory; others, and compressed members, are read whole.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is not NumPy's, or truncated or corrupt.
        InvalidArgumentError: an array holds Python objects, or has no axis.
    """
    with _says_what_is_wrong(path):
        is_remote = "://" in path
        content = io.BytesIO(read_file(path)) if is_remote else None
        with content or open_at(path) as file:
            mark = file.read(len(_ZIP_MARK))
            file.seek(0)
            if mark == _ZIP_MARK:
                return _archived(path, file, is_mapped=not is_remote)
            if content is not None:
                return _checked(_parsed(content.getvalue(), path), path)
            return _checked(_mapped(path, file), path)


def array_of_bytes(content: bytes, where: str) -> Array:
    """Returns the array that is the content of an ``.npy`` file, a copy.

    Args:
        content: header and all.
        where: how messages call it.

    Raises:
        DataLossError: it is not NumPy's, or truncated.
        InvalidArgumentError: it holds Python objects.

    Example:
        >>> import io
        >>> import numpy as np
        >>> from headrace.io.npy.array import array_of_bytes
        >>> file = io.BytesIO()
        >>> np.save(file, np.arange(3))
        >>> array_of_bytes(file.getvalue(), "three numbers")
        array([0, 1, 2])
    """
    with _says_what_is_wrong(where):
        return _parsed(content, where).copy(order="K")


@contextmanager
def _says_what_is_wrong(path: str) -> Iterator[None]:
    try:
        with says_which_file(path):
            yield
    except HeadraceError:
        raise
    # What NumPy and zipfile raise for bytes that mean nothing.
    except (
        ValueError,
        OverflowError,
        EOFError,
        struct.error,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DataLossError(f"{path} cannot be read as NumPy's: {error}") from error


def _archived(path: str, file: Any, *, is_mapped: bool) -> dict[str, Array]:
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        if not members:
            raise InvalidArgumentError(f"{path} has no arrays in it")
        _check_sizes(path, members, file.seek(0, os.SEEK_END))
        arrays: dict[str, Array] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            where = f"{path}, '{name}'"
            found = _mapped_member(path, file, member) if is_mapped else None
            arrays[name] = _checked(_unpacked(archive, member, where) if found is None else found, where)
        return arrays


def _check_sizes(path: str, members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuses members that lie in one another: each would be decompressed, out of the same few bytes."""
    claimed = sum(member.compress_size for member in members)
    if claimed > size:
        raise DataLossError(f"{path} is corrupt: its arrays are to have {claimed} bytes in it, and it has {size}")


def _mapped_member(path: str, file: Any, member: zipfile.ZipInfo) -> Array | None:
    """Returns a member that lies in the archive as it is; None for one that does not."""
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
        return None
    file.seek(member.header_offset)
    local = file.read(30)  # the local header: its last four bytes are the lengths of what follows it
    if len(local) < 30 or local[:4] != b"PK\3\4":
        raise DataLossError(f"{path}: the archive's member '{member.filename}' is not where it should be")
    begin = member.header_offset + 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    file.seek(begin)
    return _mapped(path, file, begin + member.file_size)


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> Array:
    """Returns a member's array; of what is decompressed, no more is kept than its header asks for."""
    if member.compress_type not in _PACKED:  # of the others, a few bytes become gigabytes at once
        raise InvalidArgumentError(f"{where} is compressed in a way that is not NumPy's; save it with savez_compressed")
    with archive.open(member) as stream:
        header = _header(stream, where)
        content = bytearray()
        while len(content) < header.nbytes:
            portion = stream.read(min(header.nbytes - len(content), _PORTION_BYTES))
            if not portion:
                raise DataLossError(f"{where} is truncated: it has {len(content)} of {header.nbytes} bytes")
            content += portion
        if stream.read(1):  # at the end, its checksum is looked at
            raise DataLossError(f"{where} is corrupt: more follows than the {header.nbytes} bytes of its array")
    return _array(header, content)


def _mapped(path: str, file: Any, end: int | None = None) -> Array:
    """Returns the array whose header the file stands at, in the file's memory, which must not reach beyond ``end``."""
    header = _header(file, path)
    begin = file.tell()
    end = file.seek(0, os.SEEK_END) if end is None else min(end, file.seek(0, os.SEEK_END))
    _check_reaches(path, begin, header.nbytes, end)
    if not header.nbytes:  # nothing cannot be mapped
        return _array(header, b"")
    order: Any = "F" if header.is_fortran else "C"
    return np.memmap(path, header.dtype, "r", begin, header.shape, order).view(np.ndarray)


def _parsed(content: bytes, path: str) -> Array:
    """Returns the array that these bytes are, header and all."""
    stream = io.BytesIO(content)
    header = _header(stream, path)
    _check_reaches(path, stream.tell(), header.nbytes, len(content))
    return _array(header, memoryview(content)[stream.tell() :])


def _check_reaches(path: str, begin: int, nbytes: int, end: int) -> None:
    if begin + nbytes > end:
        raise DataLossError(
            f"{path} is truncated: {nbytes} bytes of an array begin at byte {begin}, and it ends at {end}"
        )


def _array(header: Header, content: Any) -> Array:
    """Returns these bytes as an array, which is no copy."""
    # Of texts without a character, np.zeros would make texts of one.
    return np.ndarray(header.shape, header.dtype, content or b"\0", order="F" if header.is_fortran else "C")


def _header(stream: Any, where: str) -> Header:
    header = read_header(stream)
    if header.dtype.hasobject:
        raise InvalidArgumentError(f"{where} {_OBJECTS}")
    return header


def _checked(array: Array, where: str) -> Array:
    if not array.ndim:
        raise InvalidArgumentError(f"{where} has no axis along which its elements could lie: it is one {array.dtype}")
    array.flags.writeable = False
    return array
