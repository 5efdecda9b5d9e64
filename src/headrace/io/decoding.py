"""Decompresses a stream of bytes: zlib, bz2 and lzma of the standard library, ZSTD and LZ4 by pyarrow's codecs.

What always holds:
- Several compressed streams one after the other, as ``cat a.gz b.gz`` writes them, are one.
- A stream is at its end only where its format says so. One that breaks off, or whose checksum or structure is wrong,
  raises DataLossError, once the bytes before the fault have been read.
- What is held does not grow with what a stream claims or how far it expands: bytes leave a decoder in portions of fixed
  size, which also decides alone where the bytes before a fault end. A stream that asks for a window beyond
  the limit is refused.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from headrace.errors import DataLossError, HeadraceError, ResourceExhaustedError

__all__ = ["PORTION_BYTES", "ByteStream", "decoded"]

# Large enough that a decoder's work, not the calls, is the cost; small enough to stay in a core's own cache.
PORTION_BYTES: Final = 1 << 17
# pyarrow throws away what a call has decompressed when it meets a fault; so little is asked for at a time. It costs a
# tenth of the speed (1.6 instead of 1.9 GB/s of ZSTD).
_STEP_BYTES: Final = 1 << 12
# `xz -9` needs 65 MiB. A header may claim 4 GiB.
_XZ_MEMORY_BYTES: Final = 1 << 28


class ByteStream(Protocol):
    """The bytes of one file, in order."""

    def read(self, size: int, /) -> bytes:
        """Returns the next 1 to ``size`` bytes, or b"" at the end."""
        ...

    def close(self) -> None:
        """Closes the file."""
        ...


def decoded(raw: ByteStream, path: str, kind: str) -> ByteStream:
    """Returns the content of a compressed stream, which belongs to what is returned.

    Args:
        raw: the compressed bytes.
        path: where they come from, for messages.
        kind: one of the names of ``compression``, neither "" nor INFER.
    """
    members = _MEMBERS.get(kind)
    portions: _Portions = _ByArrow(raw, kind) if members is None else _ByMembers(raw, members, padded=kind != "BZ2")
    return _Decoded(raw, portions, path, kind)


class _CutShortError(Exception):
    """The compressed stream ended before its format says so."""


class _Portions(Protocol):
    """Decompresses; says what is wrong by ``_CutShortError`` or the codec's own errors."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The codec's own errors."""
        ...

    def next(self) -> bytes:
        """Returns the next bytes, PORTION_BYTES at most; b"" at the end."""
        ...


class _Decoded:
    """Hands out portions in any sizes, and words what is wrong with them."""

    def __init__(self, raw: ByteStream, portions: _Portions, path: str, kind: str) -> None:
        self._raw = raw
        self._portions = portions
        self._path = path
        self._kind = kind
        self._waiting = b""  # decompressed, not read

    def read(self, size: int, /) -> bytes:
        if not self._waiting:
            self._waiting = self._portion()
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        return taken

    def close(self) -> None:
        self._waiting = b""
        self._raw.close()

    def _portion(self) -> bytes:
        try:
            return self._portions.next()
        except HeadraceError:
            raise  # the file's, though some of ours are an OSError, too
        except _CutShortError as error:
            what = f"{self._path} ends in the middle of its {self._kind} stream; it was cut short"
            raise DataLossError(what) from error.__cause__
        except self._portions.errors as error:
            raise self._worded(error) from error

    def _worded(self, error: Exception) -> HeadraceError:
        if "memory" in str(error).lower():  # as both liblzma and libzstd say it
            return ResourceExhaustedError(
                f"{self._path} asks for more memory to be decompressed than is allowed ({error}); compress it with a "
                "smaller window"
            )
        return DataLossError(
            f"{self._path} is no {self._kind} stream, or a corrupt one ({error}); check compression_type"
        )


# --- the standard library's decoders --------------------------------------------------------------------------------


class _Member(Protocol):
    """One compressed stream of the several that a file may hold; the standard library's bz2 and lzma have this form."""

    @property
    def eof(self) -> bool:
        """Whether its end was reached."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether nothing comes out before more goes in."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was found after its end."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Returns the next bytes, ``max_length`` at most."""
        ...


class _Inflating:
    """zlib's decoder in the form of the others."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        inflated = self._inner.decompress(self._inner.unconsumed_tail or data, max_length)
        # Where it is full, zlib may hold output for which there was no room, even without a tail.
        self.needs_input = len(inflated) < max_length
        return inflated


# What makes a decoder of one member. 16 more than the window's bits stand for the header and checksum of gzip.
_MEMBERS: Final[dict[str, Callable[[], _Member]]] = {
    "GZIP": lambda: _Inflating(16 + zlib.MAX_WBITS),
    "ZLIB": lambda: _Inflating(zlib.MAX_WBITS),
    "BZ2": bz2.BZ2Decompressor,
    "XZ": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES),
}


class _ByMembers:
    """Decompresses one member after the other."""

    errors = (zlib.error, lzma.LZMAError, OSError)  # bz2 has no class of its own

    def __init__(self, raw: ByteStream, make: Callable[[], _Member], *, padded: bool) -> None:
        self._raw = raw
        self._make = make
        self._padding = b"\0" if padded else b""  # zeros may fill a file up to a block of a tape or disk
        self._member = make()
        self._begun = False  # whether the member was given anything

    def next(self) -> bytes:
        while True:
            source = self._source()
            if not source and self._member.needs_input:
                return self._at_the_end()
            self._begun = True
            portion = self._member.decompress(source, PORTION_BYTES)
            if portion:
                return portion

    def _source(self) -> bytes:
        """Returns what the member is to be given next: b"" where it needs nothing, and at the end of the file."""
        if not self._member.eof:
            return self._raw.read(PORTION_BYTES) if self._member.needs_input else b""
        left = self._member.unused_data.lstrip(self._padding)
        while not left and (more := self._raw.read(PORTION_BYTES)):
            left = more.lstrip(self._padding)
        self._member = self._make()
        self._begun = False
        return left

    def _at_the_end(self) -> bytes:
        if self._begun:
            raise _CutShortError
        return b""


# --- pyarrow's codecs -----------------------------------------------------------------------------------------------


class _ByArrow:
    """Decompresses by pyarrow, which follows frame with frame itself."""

    def __init__(self, raw: ByteStream, kind: str) -> None:
        import pyarrow as pa

        self._inner: Any = pa.CompressedInputStream(pa.PythonFile(_AsFile(raw), "r"), kind.lower())
        self._fault: Exception | None = None  # after what was handed out
        self.errors = (OSError, pa.ArrowException)

    def next(self) -> bytes:
        pieces: list[Any] = []
        left = PORTION_BYTES
        while left and (step := self._step()):
            pieces.append(step)
            left -= len(step)
        if not pieces and self._fault is not None:
            raise self._fault
        return b"".join(pieces)

    def _step(self) -> Any:
        """Returns the next few bytes, none at the end and before a fault, which is told when nothing is left before it."""
        if self._fault is None:
            try:
                # Not its read, which would never free the bytes of a call that meets a fault.
                return self._inner.read_buffer(_STEP_BYTES)
            except (*self.errors, HeadraceError) as error:
                self._fault = _CutShortError() if str(error).startswith("Truncated") else error
        return b""


class _AsFile:
    """A stream of bytes as pyarrow reads files. Who made the stream closes it."""

    closed = False

    def __init__(self, raw: ByteStream) -> None:
        self.read = raw.read

    def close(self) -> None:
        """Does nothing: it has nothing of its own open."""
