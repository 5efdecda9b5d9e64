"""The function that stands in every plan of chaos, and the faults that come in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import total

from headrace.testing import faults
from headrace.testing.faults.record import ENTRY_BYTES

__all__ = [
    "EXIT_STATUS",
    "Fault",
    "deaths_of",
    "drawn_faults",
    "enlarged",
    "faulty",
    "hangs_of",
    "may_give_up",
    "touched",
]

EXIT_STATUS: Final = 7
# Beyond any block, and short beside a case.
_DELAY_S: Final = 0.02
_DEADLY: Final = ("kill", "exit")
_HANGING: Final = "hang"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at which share of the elements, drawn by a seed, once for each."""

    kind: str
    share: float
    seed: int


def drawn_faults() -> st.SearchStrategy[Fault]:
    """Deaths at some elements, delays at more; a few at which the function never returns, each of which takes a program its deadline."""
    numbers = st.integers(0, 1_000)
    hangs = st.builds(Fault, st.just(_HANGING), st.just(0.05), numbers)
    deaths = st.builds(Fault, st.sampled_from(_DEADLY), st.sampled_from([0.02, 0.1, 0.3]), numbers)
    kinds = [deaths, deaths, deaths, st.builds(Fault, st.just("delay"), st.sampled_from([0.05, 0.5]), numbers), hangs]
    return st.integers(0, len(kinds) - 1).flatmap(kinds.__getitem__)


def touched(*element: Any) -> Any:
    """Returns an element as it is."""
    return element if len(element) != 1 else element[0]


def enlarged(*element: Any) -> Any:
    """Returns an element and an array of some pages that tells it from others."""
    return touched(*element), np.full(3_000, total(element) % 1_000)


def faulty(given: Sequence[Fault], records: Path) -> Callable[..., Any]:
    """Returns the function with its faults, which are noted in files beside each other."""
    function: Callable[..., Any] = touched
    for number, fault in enumerate(given):
        at, record = faults.chance(fault.share, seed=fault.seed), _record(records, number)
        if fault.kind == "kill":
            function = faults.kill(function, at=at, record=record)
        elif fault.kind == "exit":
            function = faults.exit(function, EXIT_STATUS, at=at, record=record)
        else:
            seconds = math.inf if fault.kind == _HANGING else _DELAY_S
            function = faults.delay(function, seconds, at=at, record=record)
    return function


def may_give_up(given: Sequence[Fault], killed: int) -> bool:
    """Whether the function can fail for an element: it never returns, or kills its process where a process was killed at that element before."""
    return any(fault.kind == _HANGING for fault in given) or sum(fault.kind in _DEADLY for fault in given) + killed > 1


def deaths_of(given: Sequence[Fault], records: Path) -> int:
    """Returns how many processes have died of the function: one for each element that is noted, however often it was called again."""
    return _count(given, records, _DEADLY)


def hangs_of(given: Sequence[Fault], records: Path) -> int:
    """Returns how often the function did not return."""
    return _count(given, records, (_HANGING,))


def _count(given: Sequence[Fault], records: Path, kinds: Sequence[str]) -> int:
    paths = [_record(records, number) for number, fault in enumerate(given) if fault.kind in kinds]
    return sum(len(_noted(path.read_bytes())) for path in paths if path.exists())


def _noted(entries: bytes) -> set[bytes]:
    return {entries[at : at + ENTRY_BYTES] for at in range(0, len(entries), ENTRY_BYTES)}


def _record(records: Path, number: int) -> Path:
    return records / f"fault-{number}"
