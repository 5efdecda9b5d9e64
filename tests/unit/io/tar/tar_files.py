"""Tar archives made by Python's own tarfile, and what should be read from them, said plainly."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Iterable
from typing import Any

__all__ = ["archive_of", "elements_in", "member", "with_header"]


def member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, linkname: str = "") -> tuple[Any, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    info.size = len(content)
    return info, content


def archive_of(members: Iterable[tuple[Any, bytes]], format_: int = tarfile.PAX_FORMAT, mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=format_) as archive:  # type: ignore[call-overload]  # a mode is a str
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def with_header(data: bytes, at: int, field: slice, content: bytes) -> bytes:
    """The archive with a field of the header at a byte changed, and its checksum made right again."""
    block = bytearray(data[at : at + 512])
    block[field] = content
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return data[:at] + bytes(block) + data[at + 512 :]


def elements_in(members: Iterable[tuple[Any, bytes]], url: str) -> list[dict[str, Any]]:
    """The promise of ``io.tar`` for plain files and folders."""
    named = []
    for info, content in members:
        folder, slash, base = info.name.rpartition("/")
        stem, _, extension = base.partition(".")
        if info.isreg() and stem and extension:
            named.append((folder + slash + stem, extension.lower(), content))
    return [
        {"__key__": key, "__url__": url, **{extension: content for _, extension, content in files}}
        for key, files in itertools.groupby(named, key=lambda one: one[0])
    ]
