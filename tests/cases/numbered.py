"""The case that a number stands for, the same in every process: who is to play a part of it is told the number alone.

So Hypothesis draws it from bytes that follow from the number, and from nothing that a process may have seen before.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

__all__ = ["numbered"]

T = TypeVar("T")
# Far more than any case needs.
_BYTES: Final = 8192


def numbered(cases: st.SearchStrategy[T]) -> Callable[[int], T | None]:
    """Returns what draws the case of a number; None where none could be drawn."""
    drawn: list[T] = []

    @given(cases)
    @settings(database=None)
    def draw(case: Any) -> None:
        drawn.append(case)

    def case_of(seed: int) -> T | None:
        drawn.clear()
        draw.hypothesis.fuzz_one_input(random.Random(seed).randbytes(_BYTES))  # type: ignore[attr-defined]  # given puts it there
        return drawn.pop() if drawn else None

    return case_of
