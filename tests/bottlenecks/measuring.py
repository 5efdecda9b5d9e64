"""What a profile says of a plant, and what its first advice brings."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from headrace.profiling.phases import Epochs, consume

if TYPE_CHECKING:
    from tests.bottlenecks.planted import Plant

__all__ = ["Measured", "measured"]

# Before it counts: processes begin, and caches are filled, for which it may take some more times as long.
_WARM_S: Final = 1.5
_MOST_WARM: Final = 4


@dataclasses.dataclass(frozen=True)
class Measured:
    """What was asked, said and measured.

    Attributes:
        cause: what was planted.
        named: what the verdict says.
        stage: the operation that it names.
        is_right: whether both are what was planted.
        promised: how many times as many steps the first advice promises; None where there is none.
        gained: how many it brought.
        words: the first advice and how the plant was drawn.
    """

    cause: str
    named: str
    stage: str | None
    is_right: bool
    promised: float | None
    gained: float | None
    words: str

    @property
    def is_kept(self) -> bool:
        """Whether it brought at least half of what was promised."""
        return self.promised is None or self.gained is None or self.gained - 1 >= (self.promised - 1) / 2

    def __str__(self) -> str:
        right = "" if self.is_right else "WRONG "
        kept = "" if self.is_kept else "NOT KEPT "
        gain = "" if self.promised is None else f"{self.promised:.2f}× promised, {self.gained:.2f}× came: "
        return f"{right}{self.named} {self.stage} {kept}{gain}{self.words}"


def measured(plant: Plant, seconds: float, *, shows: bool = False) -> Measured:
    """Profiles a plant, and then runs it as it is and as it is advised."""
    profile = plant.dataset.profile(plant.step, seconds=max(seconds, 2 * plant.seconds), feed=plant.feed)
    if shows:
        print(profile)
    verdict = profile.verdict
    is_right = verdict.cause == plant.cause and (plant.stage is None or plant.stage in (verdict.stage or ""))
    first = next(iter(profile.advice), None)
    promised = gained = None
    if first is not None:
        fills_cache = first.text.startswith(".cache()")
        after, before = (_rate(ds, plant, fills_cache=fills_cache) for ds in (first.applied(), plant.dataset))
        promised, gained = first.expected_speedup, after / before
    text = "no advice" if first is None else first.text
    return Measured(plant.cause, verdict.cause, verdict.stage, is_right, promised, gained, f"{text} [{plant.drawn}]")


def _rate(dataset: Any, plant: Plant, *, fills_cache: bool) -> float:
    began: list[object] = []
    epochs = Epochs(dataset if plant.feed is None else plant.feed(dataset), began.append)
    with closing(iter(epochs)) as elements:
        consume(elements, plant.step, max(_WARM_S, plant.seconds))  # prefetch tries for some seconds whether it gains
        for _ in range(_MOST_WARM):
            if len(began) > 1 or not fills_cache:
                break
            consume(elements, plant.step, _WARM_S)
        return consume(elements, plant.step, plant.seconds).rate
