"""What somebody would write into a file to have a program run what is not its own."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from headrace.io.elements.file import MAGIC, TAIL

if TYPE_CHECKING:
    import pytest

__all__ = ["HOSTILE", "Trap", "elements_file", "nothing_runs", "segment", "table"]

ran: list[str] = []


class Trap:
    """Not structure at all."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        ran.append("Trap")


class TrapsTuple(tuple[Any]):
    __slots__ = ()

    def __new__(cls, *arguments: Any) -> Self:
        ran.append("TrapsTuple")
        return super().__new__(cls)


@dataclasses.dataclass
class LeavesTraces:
    x: Any

    def __del__(self) -> None:
        ran.append("LeavesTraces")


@dataclasses.dataclass
class Watched:
    x: Any

    def __getattribute__(self, name: str) -> Any:
        ran.append("Watched")
        return super().__getattribute__(name)


class _Meta(type):
    def __getattr__(cls, name: str) -> Any:
        ran.append("_Meta")
        raise AttributeError(name)

    def __call__(cls, *arguments: Any, **more: Any) -> Any:
        ran.append("_Meta")


class Metaclassed(metaclass=_Meta):
    """A class that is asked for something."""


class Plain(NamedTuple):
    x: Any


def __getattr__(name: str) -> Any:
    if name.startswith("Made"):
        ran.append(name)
        return Plain
    raise AttributeError(name)


HERE = __name__
PLACES = [
    ("subprocess:Popen", ["args"]),
    ("os:system", ["command"]),
    ("builtins:eval", ["source"]),
    ("builtins:dict", ["x"]),
    ("builtins:type", ["x"]),
    ("builtins:tuple", ["x"]),
    ("collections:OrderedDict", ["x"]),
    ("importlib:import_module", ["name"]),
    ("headrace.errors:sys.modules", ["x"]),
    ("headrace.io.elements.structure:sys.exit", ["x"]),
    ("headrace.io.elements.structure:inspect.Parameter", ["x"]),
    ("headrace:Dataset", ["x"]),
    ("headrace:RaggedTensor", ["x"]),
    ("headrace.ragged:RaggedTensor", ["values"]),
    ("headrace.elements.tensor_spec:TensorSpec", ["x"]),
    (f"{HERE}:Trap", ["x"]),
    (f"{HERE}:TrapsTuple", []),
    (f"{HERE}:LeavesTraces", ["x"]),
    (f"{HERE}:Watched", ["x"]),
    (f"{HERE}:Metaclassed", ["x"]),
    (f"{HERE}:Metaclassed.inner", ["x"]),
    (f"{HERE}:MadeUp", ["x"]),
    (f"{HERE}:Plain", ["x", "y"]),
    (f"{HERE}:Plain", ["y"]),
    (f"{HERE}:Plain.__new__", ["x"]),
    (f"{HERE}:dataclasses.dataclass", ["x"]),
    ("module_with_a_trap:Point", ["x"]),
    ("module_with_a_trap.inner:Point", ["x"]),
    ("antigravity:Point", ["x"]),
    ("sys:modules", ["x"]),
    ("", []),
    (":", ["x"]),
    (":Plain", ["x"]),
    (f"{HERE}", ["x"]),
    (f"{HERE}:", ["x"]),
]


def _deep(depth: int) -> Any:
    data: Any = "*"
    for _ in range(depth):
        data = {"tuple": [data]}
    return data


HOSTILE: dict[str, Any] = {
    **{
        f"{place} of {fields}": {"class": place, "fields": fields, "parts": ["*"] * len(fields)}
        for place, fields in PLACES
    },
    "a call with a list": {"class": "subprocess:Popen", "fields": ["args"], "parts": [{"dict": [["touch", "*"]]}]},
    "fields that are no names": {"class": f"{HERE}:Plain", "fields": [["x"]], "parts": ["*"]},
    "a name that is none": {"class": ["os", "system"], "fields": ["x"], "parts": ["*"]},
    "more than a class": {"class": f"{HERE}:Plain", "fields": ["x"], "parts": ["*"], "call": "os:system"},
    "fewer parts": {"class": f"{HERE}:Plain", "fields": ["x"], "parts": []},
    "a list": ["*"],
    "a number": 7,
    "an unknown form": {"set": ["*"]},
    "unhashable keys": {"dict": [[["a"], "*"]]},
    "one key twice": {"dict": [["a", "*"], ["a", "*"]]},
    "items that are no pairs": {"dict": ["*", 3]},
    "deep": _deep(200),
}


def segment(structure: Any, columns: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    """The entry of a segment that has no bytes."""
    made = {"count": 1, "structure": structure, "columns": columns or [], "at": len(MAGIC), "nbytes": 0, "crc32": 0}
    return {**made, **more}


def leaf() -> dict[str, Any]:
    """The entry of a column of empty leaves, which needs no bytes."""
    return {"shape": [0], "values": {"dtype": "<i8", "at": 0, "count": 0}}


def table(structure: Any, leaves: int | None = None, *, meta: Any = None) -> dict[str, Any]:
    """A table of contents whose one element has that structure."""
    count = json.dumps(structure).count('"*"') if leaves is None else leaves
    return {
        "meta": {} if meta is None else meta,
        "compression": None,
        "origins": [],
        "segments": [segment(structure, [leaf() for _ in range(count)])],
    }


def elements_file(path: Path, contents: Any) -> Path:
    """A file of elements with that table of contents, as it would lie there if headrace had written it."""
    text = contents if isinstance(contents, bytes) else json.dumps(contents).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(MAGIC + text + TAIL.pack(len(text), zlib.crc32(text), MAGIC))
    return path


@contextmanager
def nothing_runs(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """Fails where a module was imported that lay about, or code of a class was run."""
    folder.mkdir(exist_ok=True)
    (folder / "module_with_a_trap.py").write_text(f"import {HERE} as hostile\nhostile.ran.append('an import')\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(os, "system", lambda command: ran.append("os.system"))
    monkeypatch.setattr("subprocess.Popen", lambda *arguments: ran.append("Popen"))
    ran.clear()
    before = {name for name in sys.modules if "trap" in name or name == "antigravity"}
    yield
    assert ran == []
    assert {name for name in sys.modules if "trap" in name or name == "antigravity"} == before
