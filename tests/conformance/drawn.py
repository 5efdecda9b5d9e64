"""One operation of a random chain, with its arguments."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

from tests.conformance.sides import Headrace

__all__ = ["Apply", "Draw", "Drawn", "drawn"]

Apply = Callable[[Headrace, Any], Any]


@dataclasses.dataclass(frozen=True)
class Drawn:
    """One operation with its arguments.

    Attributes:
        text: how it is written.
        apply: from dataset to dataset, on a side.
        kind: what elements come out; None where it is refused.
        fails: whether elements may fail from here on.
        is_last: whether nothing can follow.
    """

    text: str
    apply: Apply
    kind: Any
    fails: bool = False
    is_last: bool = False


# From the random numbers and the kind of elements; None where it does not suit that kind.
Draw = Callable[[random.Random, Any], Drawn | None]


def drawn(op: str, arguments: Any, apply: Apply, kind: Any, **more: Any) -> Drawn:
    """The operation as it is written."""
    return Drawn(f"{op}({arguments})", apply, kind, **more)
