"""What a process that calls functions does at a moment, and in whose words that is told."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from headrace.blocks.block import Block
from headrace.blocks.origin import GroupedOrigin
from headrace.observe.failures import Failures
from headrace.observe.meter import Meter
from headrace.plan.elementwise import Map
from headrace.processes.orders import NO_ORIGIN

__all__ = ["Calling", "Functions", "Reading", "told_here"]

_NUMBERS: Final = re.compile(f"{NO_ORIGIN}([0-9]+)")


class Functions(NamedTuple):
    """Maps in a row, as processes know them.

    Attributes:
        key: their number in the run.
        body: them, pickled.
        maps: them.
        meter: counts what the processes do.
        failures: notes what fails there and is replaced.
    """

    key: int
    body: bytes
    maps: tuple[Map, ...]
    meter: Meter
    failures: Failures

    @property
    def stage(self) -> str:
        """What the maps are called together."""
        return " + ".join(one.label for one in self.maps)


class Calling(NamedTuple):
    """Functions that a process calls on a block."""

    functions: Functions
    block: Block
    since_s: float

    @property
    def stage(self) -> str:
        """The operation."""
        return self.functions.stage

    @property
    def origin(self) -> str:
        """All elements of the block, in words."""
        return GroupedOrigin(self.block.origin, ((0, len(self.block)),)).describe(0)

    def told_here(self, origin: str) -> str:
        """Returns what the process tells of an element, in words of this one."""
        return told_here(origin, self.block)


class Reading(NamedTuple):
    """A dataset that a process reads."""

    stage: str
    origin: str
    since_s: float

    def told_here(self, origin: str) -> str:
        """Returns what the process tells of an element, which it knows by its number here."""
        return origin


def told_here(origin: str, block: Block) -> str:
    """Returns the words of an origin in which elements of a block have numbers."""
    found = list(_NUMBERS.finditer(origin))
    if not found:
        return origin
    first, last = int(found[0][1]), int(found[-1][1])
    here = GroupedOrigin(block.origin, ((first, last + 1),)).describe(0)
    text = origin[found[-1].end() :]
    return here + text if text.startswith(" (") and ":" not in here else here  # where the element has one
