"""Files as Arrow reads them: at any place, those of this machine without Python's lock."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa

from headrace.errors import InvalidArgumentError, MissingExtraError
from headrace.io.files import open_at
from headrace.io.http_file import HttpFile, is_http

__all__ = ["native_file"]


def native_file(path: str, *, mapped: bool = False) -> Any:
    """Opens a file.

    Args:
        path: a local path, or an address with ``://`` that fsspec knows.
        mapped: whether a local file is mapped into memory.

    Raises:
        OSError: it is not there, or cannot be read.
    """
    if "://" in path:
        return pa.PythonFile(_remote(path), mode="r")
    try:
        return pa.memory_map(path) if mapped else pa.OSFile(path)
    except (OSError, pa.ArrowException):
        open_at(path).close()  # which says best what is wrong with a path
        raise


def _remote(path: str) -> Any:
    import fsspec

    try:
        file = fsspec.open(path, "rb").open()
    except FileNotFoundError:
        if is_http(path):
            HttpFile(path).close()  # which says what the server answered
        raise
    except ImportError as error:
        raise MissingExtraError(f"{path} needs a package for its kind of address: {error}") from error
    except ValueError as error:
        raise InvalidArgumentError(f"{path} is no address that fsspec knows: {error}") from error
    # Everybody who opens a file in memory gets the same object, with one place for all.
    return io.BytesIO(file.getvalue()) if isinstance(file, io.BytesIO) else file
