"""A file on a web server, through fsspec, as servers really are.

What always holds: it is read in order from any offset on, by requests for ranges where the server answers them, and from
its beginning where it does not. The bytes are the file's own: no server is invited to compress them on the way, which
would make offsets mean something else. A server that cannot be reached, or that refuses, is not taken for one that does not
have the file.
"""

from __future__ import annotations

import io
from typing import Any, Final

from headrace.errors import DataLossError, FailedPreconditionError, HeadraceError, NotFoundError

__all__ = ["HttpFile", "is_http"]

# HTTP's own numbers: Not Found and Gone, Unauthorized and Forbidden.
_GONE: Final = {404, 410}
_REFUSED: Final = {401, 403}
# What is passed over at once where a server sends a file only from its beginning.
_PORTION_BYTES: Final = 1 << 20


def is_http(path: str) -> bool:
    """Returns whether a path is the address of a web server."""
    return path.startswith(("http://", "https://"))


class HttpFile(io.RawIOBase):
    """An open file of a web server.

    Args:
        path: its address.
        offset: how many of its bytes are passed over.

    Attributes:
        size: how many bytes it has, as the server says; None where it does not say.

    Raises:
        NotFoundError: the server has no such file.
        FailedPreconditionError: the server refuses it.
        DataLossError: the file ends before ``offset``; or the server cannot be reached, or answers with an error.
    """

    def __init__(self, path: str, offset: int = 0) -> None:
        super().__init__()
        self._path = path
        self._at = offset
        self._in_order = False  # whether it can only be read from its beginning
        self._file = _opened(path)
        self.size: int | None = self._file.size
        try:
            self._go_to(offset)
        except BaseException:
            self.close()
            raise

    def read(self, size: int = -1, /) -> bytes:
        """Returns the next bytes, at most ``size``, or all where that is negative; b"" at the end."""
        try:
            portion: bytes = self._file.read(size)
        except ValueError:
            if self.closed or self._in_order:
                raise
            self._read_in_order()  # the server said nothing against ranges, and answers with the whole
            portion = self._file.read(size)
        self._at += len(portion)
        return portion

    def close(self) -> None:
        """Closes the connection. May be called twice."""
        if not self.closed:
            self._file.close()
        super().close()

    def _go_to(self, offset: int) -> None:
        if self.size is not None and self.size < offset:
            raise self._ended(self.size)
        try:
            self._file.seek(offset)  # which asks for nothing yet
        except ValueError:
            self._in_order = True
            self._pass_over(offset)

    def _read_in_order(self) -> None:
        self._file.close()
        self._file = _opened(self._path, block_size=0)  # so that fsspec asks for no ranges
        self._in_order = True
        self._pass_over(self._at)

    def _pass_over(self, size: int) -> None:
        left = size
        while left:
            passed = len(self._file.read(min(left, _PORTION_BYTES)))
            if not passed:
                raise self._ended(size - left)
            left -= passed

    def _ended(self, size: int) -> HeadraceError:
        return DataLossError(
            f"{self._path} has {size} bytes, and reading is to go on at byte {self._at}: the file has changed"
        )


def _opened(path: str, **options: Any) -> Any:
    import fsspec

    try:
        return fsspec.open(path, "rb", headers=_headers(), **options).open()
    except FileNotFoundError as error:  # what fsspec makes of whatever went wrong
        cause = error.__cause__
        status = getattr(cause, "status", None)
        if cause is None or status in _GONE:
            raise NotFoundError(f"no such file: {path}") from error
        if status in _REFUSED:
            raise FailedPreconditionError(f"no permission to read {path}: the server answers {status}") from error
        raise DataLossError(f"{path} cannot be read: {cause!r}") from error


def _headers() -> dict[str, str]:
    """Returns those that the user told fsspec of, and that the file is wanted as it is."""
    import fsspec

    known = {name: fsspec.config.conf.get(name, {}).get("headers", {}) for name in ("http", "https")}
    return {"Accept-Encoding": "identity", **known["http"], **known["https"]}
