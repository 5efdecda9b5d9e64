"""Files by name: local paths as they are, anything with ``://`` through fsspec; opened, matched, read whole.

What always holds: an error names the path, and tells a missing file from one that cannot be read.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, BinaryIO, cast

import numpy as np

from headrace.errors import (
    DataLossError,
    FailedPreconditionError,
    HeadraceError,
    InvalidArgumentError,
    MissingExtraError,
    NotFoundError,
)
from headrace.io.http_file import HttpFile, is_http
from headrace.io.no_room import no_more_files
from headrace.io.patterns import pythons_pattern

__all__ = [
    "FilePath",
    "FilePaths",
    "is_short",
    "match_files",
    "open_at",
    "path_of",
    "paths_of_files",
    "read_file",
    "says_which_file",
    "size_when_opened",
    "version_of",
]

FilePath = str | bytes | os.PathLike[str] | os.PathLike[bytes]
FilePaths = FilePath | Sequence[FilePath]

_WILDCARDS = frozenset("*?[")
_PORTION_BYTES = 1 << 24


def path_of(path: FilePath) -> str:
    """Returns the path as a str; bytes are a name as the system has it.

    Raises:
        InvalidArgumentError: when it is no path, or an empty one.
    """
    name: object = os.fspath(path) if isinstance(path, os.PathLike) else path
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError(f"a file is named by a non-empty str or path, and not by {name!r}")
    return name


def paths_of_files(filenames: Any, *, stage: str | None = None) -> list[str]:
    """Returns the paths that a user names: one, or several in a list, in lists of lists or in an array.

    Raises:
        TypeError: it is neither a path nor several.
        InvalidArgumentError: one of several is no path, or an empty one.
    """
    if isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [filenames]
    if isinstance(filenames, np.ndarray):
        filenames = filenames.ravel().tolist()
    if not isinstance(filenames, Iterable) or isinstance(filenames, Mapping):
        message = f"files are named by a path or a list of paths, not by {filenames!r}"
        raise TypeError(f"{stage}: {message}" if stage else message)
    paths: list[str] = []
    for one in filenames:
        if isinstance(one, (list, tuple, np.ndarray)):
            paths += paths_of_files(one, stage=stage)
        else:
            try:
                paths.append(path_of(one))
            except InvalidArgumentError as error:
                raise error.located(stage=stage, origin=None) from None
    return paths


def open_at(path: str, offset: int = 0) -> BinaryIO:
    """Opens a file for reading at ``offset`` bytes, without a buffer of its own where it is local.

    Raises:
        NotFoundError: when there is no such file.
        FailedPreconditionError: when it is a folder, or may not be read.
        DataLossError: when it ends before ``offset``, so it is not the file that it was.
    """
    with says_which_file(path):
        if is_http(path):
            return _open_http(path, offset)
        file = _open_remote(path) if _is_remote(path) else cast(BinaryIO, io.FileIO(path))
        try:
            if offset:
                _seek(file, path, offset)
        except BaseException:
            file.close()
            raise
    return file


def read_file(path: FilePath) -> bytes:
    """Returns the whole content of a file, as ``tf.io.read_file`` gives it.

    Args:
        path: a local path, or an address with ``://`` that fsspec knows.

    Raises:
        NotFoundError: when there is no such file.
        FailedPreconditionError: when it is a folder, or may not be read.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.txt")
        ...     _ = path.write_bytes(b"all of it")
        ...     hr.io.read_file(path)
        b'all of it'
    """
    name = path_of(path)
    if _is_remote(name):
        with open_at(name) as file, says_which_file(name):
            return file.read()
    with says_which_file(name):
        return _read_local(name)


def _read_local(path: str) -> bytes:
    # Python's file object makes twice as many calls to the system, and each gives Python's lock away.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(file).st_size
        content = os.read(file, size + 1)
        if len(content) == size:
            return content
        parts = [content]  # more than the system reads at once, or no plain file, or one that changes
        while part := os.read(file, _PORTION_BYTES):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


def size_when_opened(file: BinaryIO) -> int | None:
    """Returns how many bytes an open file has, or had when it was opened; None where nobody knows."""
    if isinstance(file, io.FileIO):
        return os.fstat(file.fileno()).st_size
    size = getattr(file, "size", None)
    return size if isinstance(size, int) else None


def is_short(path: str, most_bytes: int) -> bool:
    """Returns whether a local file has no more bytes, and can be read twice, as a pipe cannot."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # which opening it tells; it may be in a store
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= most_bytes


def version_of(path: str) -> tuple[int, str]:
    """Returns a file's size in bytes, and what changes when its content does: when it was written, or what its store calls that.

    Raises:
        NotFoundError: when there is no such file.
        InvalidArgumentError: when its file system says neither when it was written nor what version it is.
    """
    with says_which_file(path):
        if not _is_remote(path):
            found = os.stat(path)
            return found.st_size, str(found.st_mtime_ns)
        import fsspec

        system, inner = fsspec.core.url_to_fs(path)
        about = system.info(inner)
    for name in ("ETag", "etag", "mtime", "last_modified", "LastModified", "Last-Modified", "updated", "created"):
        if about.get(name) is not None:
            return int(about.get("size") or 0), str(about[name])
    raise InvalidArgumentError(f"{path}: its file system does not say when a file was written")


def match_files(patterns: FilePaths) -> list[str]:
    """Returns the paths that match any of the patterns, sorted, as ``tf.io.matching_files`` gives them.

    Args:
        patterns: one glob pattern or several: ``*``, ``?``, ``[…]``, ``[^…]`` or ``[!…]`` for any other character, a
            backslash for the character after it as it is, and ``**`` for any depth of folders (in TensorFlow it is
            ``*``). Names that begin with a dot are matched only by a pattern that says so (TensorFlow's ``*`` matches
            them, too).

    Raises:
        InvalidArgumentError: when together they match nothing. Which pattern, and whether it is its folder that is
            missing, is said.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.io.files import match_files
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("b.csv", "a.csv", "notes.txt"):
        ...         pathlib.Path(folder, name).touch()
        ...     [pathlib.Path(path).name for path in match_files(f"{folder}/*.csv")]
        ['a.csv', 'b.csv']
    """
    names = paths_of_files(patterns)
    found = sorted(path for name in names for path in _matches(name))
    if not found:
        raise InvalidArgumentError(_why_nothing_matches(names))
    return found


class says_which_file:  # noqa: N801 - reads as a sentence: with says_which_file(path)
    """Turns the operating system's errors into ours, which name the file and what to look at."""

    # No generator: a reader of small files enters it twice a file.
    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception) and (ours := _named(error, self._path)) is not error:
            raise ours from error


def _named(error: Exception, path: str) -> Exception:
    if isinstance(error, HeadraceError):
        return error  # ours already, though some of ours are an OSError, too
    if isinstance(error, FileNotFoundError):
        return NotFoundError(f"no such file: {path}")
    if isinstance(error, IsADirectoryError | NotADirectoryError):
        return FailedPreconditionError(f"{path} is not a file: {error.strerror}")
    if isinstance(error, PermissionError):
        return FailedPreconditionError(f"no permission to read {path}; look at its owner and mode")
    if isinstance(error, OSError):
        return no_more_files(error, path) or DataLossError(f"{path} cannot be read: {error}")
    # A remote file system raises what it likes.
    return DataLossError(f"{path} cannot be read: {error!r}") if _is_remote(path) else error


def _is_remote(path: str) -> bool:
    return "://" in path


def _open_http(path: str, offset: int) -> BinaryIO:
    try:
        return cast(BinaryIO, HttpFile(path, offset))
    except ImportError as error:
        raise MissingExtraError(f"{path} needs aiohttp: pip install 'headrace[http]'") from error


def _open_remote(path: str) -> BinaryIO:
    import fsspec

    try:
        file = fsspec.open(path, "rb").open()
    except ImportError as error:
        raise MissingExtraError(f"{path} needs a package for its kind of address: {error}") from error
    except ValueError as error:
        raise InvalidArgumentError(f"{path} is no address that fsspec knows: {error}") from error
    # Everybody who opens a file in memory gets the same object, with one place for all.
    return io.BytesIO(file.getvalue()) if isinstance(file, io.BytesIO) else cast(BinaryIO, file)


def _seek(file: BinaryIO, path: str, offset: int) -> None:
    size = file.seek(0, os.SEEK_END)
    if size < offset:
        raise DataLossError(f"{path} has {size} bytes, and reading is to go on at byte {offset}: the file has changed")
    file.seek(offset)


def _matches(pattern: str) -> list[str]:
    if not _is_remote(pattern):
        import glob

        found = glob.glob(pythons_pattern(pattern), recursive=True)
        # The folder itself is nothing in it; a pattern that ends so asks for it.
        return [path for path in found if not path.endswith(os.sep)] if pattern.endswith("**") else found
    import fsspec

    system, inner = fsspec.core.url_to_fs(pythons_pattern(pattern))
    itself = inner.removesuffix("**").rstrip("/")
    return [system.unstrip_protocol(name) for name in system.glob(inner) if name.rstrip("/") != itself]


def _why_nothing_matches(patterns: list[str]) -> str:
    if not patterns:
        return "no file pattern was given"
    reasons = []
    for pattern in patterns:
        folder = _fixed_folder(pattern)
        missing = folder and not _is_remote(pattern) and not os.path.isdir(folder)
        reasons.append(
            f"no such folder: {folder} (of the pattern {pattern})" if missing else f"no file matches {pattern}"
        )
    return "; ".join(reasons)


def _fixed_folder(pattern: str) -> str:
    """Returns the folder that a pattern names without wildcards, '' for the current one."""
    parts = pattern.split("/")[:-1]
    fixed = list(takewhile(lambda part: not _WILDCARDS.intersection(part), parts))
    return "/".join(fixed)
