"""Sources of tar archives, some of their elements and some of the archives bad."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from typing import Any

from tests.laws.elements import Failing, written

import headrace as hr

SOURCES: dict[str, Callable[[int], hr.Dataset]] = {
    "tar": lambda n: hr.TarDataset([tar_file(n), tar_file(n // 2)]),
    "tar with handlers": lambda n: hr.TarDataset(tar_file(n), {"cls": int, "txt": bytes.decode}),
    "tar with failing handlers": lambda n: hr.TarDataset(tar_file(n), {"cls": picky}),
    "bad tar": lambda n: hr.TarDataset([tar_file(n, good=False), tar_file(2)], {"cls": int}),
    "cut tar": lambda n: hr.TarDataset([tar_file(n, cut=700 * n + 1), "absent.tar", tar_file(2)]),
    "readable tar": lambda n: hr.TarDataset(
        [tar_file(n, good=False), "absent.tar", tar_file(3, cut=2_000)], {"cls": picky}, on_error="skip"
    ),
    "compressed tar": lambda n: hr.TarDataset(tar_file(n, compressed=True), compression_type="GZIP"),
    "parallel tars": lambda n: hr.TarDataset([tar_file(n), tar_file(n // 2), tar_file(1)], {"cls": int}, 2),
    "tars of files": lambda n: hr.TarDataset(hr.Dataset.from_tensors(tar_file(n, good=False))),
    "tar by number": lambda n: hr.TarDataset([tar_file(n), tar_file(n // 2)], {"cls": int}, random_access=True),
    "bad tar by number": lambda n: hr.TarDataset(tar_file(n, good=False), {"cls": picky}, 2, random_access=True),
    "readable tar by number": lambda n: hr.TarDataset(
        tar_file(n, good=False), {"cls": picky}, on_error="skip", random_access=True
    ),
}


def picky(data: bytes) -> int:
    if int(data) % 4 == 2:
        raise Failing("a two")
    return int(data)


def tar_file(length: int, *, good: bool = True, cut: int | None = None, compressed: bool = False) -> str:
    """Elements of a class, and now and then a text; every third one is bad in its own way, unless good."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in range(length):
            _add(archive, f"{number:02}.cls", str(number).encode())
            if number % 2:
                _add(archive, f"{number:02}.txt", b"text " * number)
            if number % 3 == 1 and not good:
                _add(archive, f"{number:02}.{'cls' if number % 2 else 'link'}", b"", number % 2 == 0)
    content = buffer.getvalue()[:cut]
    return written(gzip.compress(content, mtime=0) if compressed else content, ".tar")


def _add(archive: Any, name: str, content: bytes, is_link: bool = False) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    if is_link:
        info.type, info.linkname = tarfile.SYMTYPE, "elsewhere"
    archive.addfile(info, io.BytesIO(content))
