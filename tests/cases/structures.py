"""Classes whose objects are elements: a named tuple, and a dataclass."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

__all__ = ["Pair", "Sample"]


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Sample:
    x: Any
    y: Any = 0
