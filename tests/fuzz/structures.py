"""Files of elements whose table of contents was changed by somebody who can sign it: names of classes, sizes, places.

Bytes that are turned at random fail at the first checksum. So the bytes of a case here are only what the changes are
drawn from; the file that is read has checksums that fit, and names what a reader must not call.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import random
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headrace.errors import HeadraceError
from headrace.io.elements.file import MAGIC, TAIL, ElementFile
from headrace.io.elements.writer import ElementWriter

__all__ = ["cases", "read_changed"]

_ran: list[str] = []


@dataclasses.dataclass
class Sample:
    """A class of the program's own, which is not to be built by a file."""

    x: Any
    y: Any

    def __post_init__(self) -> None:
        _ran.append("Sample")


class Pair(NamedTuple):
    """Another one."""

    x: Any
    y: Any


class Trap:
    """No structure."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        _ran.append("Trap")


_PLACES = (
    *(f"{__name__}:{name}" for name in ("Sample", "Pair", "Trap", "json.JSONDecoder", "", "Sample.__init__")),
    *(
        "os:system",
        "subprocess:Popen",
        "builtins:eval",
        "antigravity:Point",
        "sys:modules",
        "headrace:Dataset",
        ":",
        "",
    ),
)
_MEMBERS: tuple[Any, ...] = ("*", None, {"tuple": []}, {"tuple": ["*", "*"]}, {"dict": [["a", "*"]]}, [], {}, "x")
_NUMBERS = (0, 1, 2, 3, 8, 64, -1, 2**31, 2**53, 2**62, 2**63, 2**64, 1.5, float("nan"), True)
_TEXTS = ("<i8", "|u1", "<f4", "O", "V8", "str", "bytes", "GZIP", "M8[s]", "U3", "\ud800")
_KEYS = ("tuple", "dict", "class", "fields", "parts", "shape", "axes", "shapes", "ends", "text", "numpy", "values")


def cases() -> list[bytes]:
    """What changes are drawn from."""
    return [b"", b"elements", bytes(range(64))]


def _good() -> list[tuple[dict[str, Any], bytes]]:
    """Tables of contents of good files, and what stands before them."""
    rows: list[Any] = [(n, {"b": "é" * n, "a": np.arange(n)}, Sample(np.float32(n), Pair(n, None))) for n in range(5)]
    found = []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number, compression in enumerate((None, "GZIP")):
            path = Path(folder) / f"{number}.elements"
            with ElementWriter(path, compression=compression) as writer:
                writer.add_origins([f"row {n}" for n in range(10)])
                writer.add(rows)
                writer.add([b"bytes"] * 5)
            content = path.read_bytes()
            start = len(content) - TAIL.size - TAIL.unpack(content[-TAIL.size :])[0]
            found.append((json.loads(content[start : -TAIL.size]), content[:start]))
    return found


_kept: list[tuple[dict[str, Any], bytes]] = []


def read_changed(path: str) -> Iterator[Any]:
    """Changes a good table as the bytes of the case say, and reads what it gives."""
    if not _kept:
        _kept.extend(_good())
    rng = random.Random(zlib.crc32(Path(path).read_bytes()))
    contents, data = copy.deepcopy(rng.choice(_kept))
    for _ in range(rng.choice((1, 1, 2, 4))):
        _change(rng, contents)
    place = Path(f"{path}.signed")
    place.write_bytes(_signed(contents, data))
    _ran.clear()
    before = set(sys.modules)
    try:
        yield from _read(place)
    finally:
        place.unlink()
        assert not _ran, f"{_ran} was called"
        assert not (set(sys.modules) - before) & {"antigravity", "subprocess"}, "something was imported"


def _read(place: Path) -> Iterator[Any]:
    try:
        ElementFile(place, to_look_at=True).verify()
    except HeadraceError as error:
        yield error
    file = ElementFile(place)
    yield file.spec(), file.has_tuples, file.origin(0)
    yield from file.rows(range(min(len(file), 50)))


def _signed(contents: dict[str, Any], data: bytes) -> bytes:
    """The file; the checksums of segments fit as well, where they name bytes."""
    for segment in contents.get("segments") or () if isinstance(contents.get("segments"), list) else ():
        if isinstance(segment, dict) and type(segment.get("at")) is type(segment.get("nbytes")) is int:
            segment["crc32"] = zlib.crc32(data[max(segment["at"], 0) : max(segment["at"] + segment["nbytes"], 0)])
    text = json.dumps(contents).encode()
    return data + text + TAIL.pack(len(text), zlib.crc32(text), MAGIC)


def _change(rng: random.Random, contents: Any) -> None:
    parents = list(_parents(contents))
    parent, key = rng.choice(parents)
    if isinstance(parent, dict) and rng.random() < 0.1:
        del parent[key]
    elif isinstance(parent, dict) and rng.random() < 0.1:
        parent[rng.choice(_KEYS)] = parent.pop(key)
    else:
        parent[key] = _anything(rng, parent[key])


def _parents(data: Any) -> Iterator[tuple[Any, Any]]:
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in parts:
        yield data, key
        yield from _parents(part)


def _anything(rng: random.Random, old: Any) -> Any:
    kind = rng.random()
    if isinstance(old, int) and kind < 0.5:
        return old + rng.choice((-64, -8, -1, 1, 8, 64))
    if isinstance(old, str) and ":" in old and kind < 0.7:
        return rng.choice(_PLACES)
    if kind < 0.3:
        return rng.choice(_NUMBERS)
    if kind < 0.5:
        return rng.choice(_TEXTS)
    return _structure(rng, rng.choice((1, 2, 3, 150)))


def _structure(rng: random.Random, depth: int) -> Any:
    if not depth or rng.random() < 0.05:
        return copy.deepcopy(rng.choice(_MEMBERS))
    parts = [_structure(rng, depth - 1), *("*" for _ in range(rng.randrange(2)))]
    match rng.randrange(3):
        case 0:
            return {"tuple": parts}
        case 1:
            return {"dict": [[rng.choice(("a", "b", 1, None)), part] for part in parts]}
    return {"class": rng.choice(_PLACES), "fields": ["x", "y"][: len(parts)], "parts": parts}
