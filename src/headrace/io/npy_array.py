"""The arrays in one of NumPy's files: mapped into memory where they lie in it as they are, and never a pickle.

What always holds. Nothing is allocated that the file's own size does not cover, however large an array a header claims;
a compressed member of an archive is decompressed as far as it goes before its header is believed.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError
from headrace.io.files import open_at, read_file, says_which_file
from headrace.io.reader import Array

__all__ = ["arrays_of_file"]

_ZIP_MARK: Final = b"PK"
_OBJECTS: Final = "holds Python objects, which only a pickle could bring back; save numbers, or texts of a fixed length"


def arrays_of_file(path: str) -> Array | dict[str, Array]:
    """The array of an ``.npy`` file, or those of an ``.npz`` archive by name, read-only.

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
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        SyntaxError,
    ) as error:
        raise DataLossError(f"{path} cannot be read as NumPy's: {error}") from error


def _archived(path: str, file: Any, *, is_mapped: bool) -> dict[str, Array]:
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        if not members:
            raise InvalidArgumentError(f"{path} has no arrays in it")
        arrays: dict[str, Array] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            found = _mapped_member(path, file, member) if is_mapped else None
            where = f"{path}, '{name}'"
            # Decompressed in portions, so a claim of its size alone takes no memory.
            arrays[name] = _checked(_parsed(archive.read(member), where) if found is None else found, where)
        return arrays


def _mapped_member(path: str, file: Any, member: zipfile.ZipInfo) -> Array | None:
    """A member that lies in the archive as it is; None for one that does not."""
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
        return None
    file.seek(member.header_offset)
    local = file.read(30)  # the local header: its last four bytes are the lengths of what follows it
    if len(local) < 30 or local[:4] != b"PK\3\4":
        raise DataLossError(f"{path}: the archive's member '{member.filename}' is not where it should be")
    begin = member.header_offset + 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    file.seek(begin)
    return _mapped(path, file, begin + member.file_size)


def _mapped(path: str, file: Any, end: int | None = None) -> Array:
    """The array whose header the file stands at, in the file's memory, which must not reach beyond ``end``."""
    shape, is_fortran, dtype = _header(file)
    _refuse_objects(path, dtype)
    begin = file.tell()
    nbytes = math.prod(shape) * dtype.itemsize
    end = file.seek(0, os.SEEK_END) if end is None else min(end, file.seek(0, os.SEEK_END))
    if begin + nbytes > end:
        raise DataLossError(
            f"{path} is truncated: {nbytes} bytes of an array begin at byte {begin}, and it ends at {end}"
        )
    order: Any = "F" if is_fortran else "C"
    if not nbytes:  # nothing cannot be mapped
        return np.zeros(shape, dtype, order)
    return np.memmap(path, dtype, "r", begin, shape, order).view(np.ndarray)


def _parsed(content: bytes, where: str) -> Array:
    """The array that these bytes are, header and all."""
    stream = io.BytesIO(content)
    shape, _, dtype = _header(stream)
    _refuse_objects(where, dtype)
    if stream.tell() + math.prod(shape) * dtype.itemsize > len(content):
        raise DataLossError(
            f"{where} is truncated: an array of shape {shape} of {dtype} is not in {len(content)} bytes"
        )
    stream.seek(0)
    array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether it is in Fortran's order, and the dtype; what follows is the array."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    # The third version differs from the second in names of fields alone, which are UTF-8 and not Latin-1.
    shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    return shape, is_fortran, _as_utf8(dtype) if version == (3, 0) else dtype


def _as_utf8(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.names is None:
        return dtype
    names = [name.encode("latin1").decode() for name in dtype.names]
    fields = [(name, _as_utf8(dtype[index])) for index, name in enumerate(names)]
    return np.dtype(fields)


def _refuse_objects(path: str, dtype: np.dtype[Any]) -> None:
    if dtype.hasobject:
        raise InvalidArgumentError(f"{path} {_OBJECTS}")


def _checked(array: Array, where: str) -> Array:
    if not array.ndim:
        raise InvalidArgumentError(f"{where} has no axis along which its elements could lie: it is one {array.dtype}")
    array.flags.writeable = False
    return array
