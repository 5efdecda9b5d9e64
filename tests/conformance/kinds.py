"""What elements are in a chain, so that each next step is one that tf.data's graph can be built for.

A kind is the structure of an element with a ``Leaf`` in place of each component.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

__all__ = ["DICT", "INT", "PAIR", "TEXT", "VECTOR", "Leaf", "leaves_of", "mapped"]


@dataclasses.dataclass(frozen=True)
class Leaf:
    """One component.

    Attributes:
        dtype: its dtype, ``"str"`` for texts.
        shape: its sizes, None where they vary.
    """

    dtype: str
    shape: tuple[int | None, ...] = ()


INT = Leaf("int64")
TEXT = Leaf("str")
VECTOR = Leaf("int64", (None,))
PAIR = (INT, TEXT)
DICT = {"a": INT, "b": (Leaf("float32"), Leaf("int64", (2,)))}


def leaves_of(kind: Any) -> list[Leaf]:
    """The components of a kind."""
    if isinstance(kind, Leaf):
        return [kind]
    parts = kind.values() if isinstance(kind, dict) else kind
    return [leaf for part in parts for leaf in leaves_of(part)]


def mapped(kind: Any, change: Callable[[Leaf], Any]) -> Any:
    """The kind with each component changed."""
    if isinstance(kind, Leaf):
        return change(kind)
    if isinstance(kind, dict):
        return {key: mapped(part, change) for key, part in kind.items()}
    return tuple(mapped(part, change) for part in kind)
