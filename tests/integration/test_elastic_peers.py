"""The question in benchmarks/elastic: what is counted, and what headrace answers."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from elastic import headrace_
from elastic.asking import BATCH, NUMBERS, Library, Open, Opening, answer, compared


def test_headrace_loses_nothing_and_doubles_nothing_whether_there_are_fewer_ranks_or_more() -> None:
    said = answer(Library(name="headrace", package="headrace", load=headrace_.load, given=headrace_.given))
    assert said["numbers"] == ["8 → 6, 6 → 12: nothing lost or doubled, 16 of 16 global batches equal"]
    assert len(said["mixture"]) == 1
    assert said["mixture"][0].startswith("8 → 6, 6 → 12: nothing lost or doubled, ")
    equal, of = said["mixture"][0].removesuffix(" global batches equal").rsplit(", ")[-1].split(" of ")
    assert equal == of


def test_what_is_lost_and_doubled_is_counted_of_the_whole_epoch_and_equal_batches_after_the_stop() -> None:
    whole = [[step * 2, step * 2 + 1] for step in range(7)]
    assert compared(whole, [*whole[:5], [10, 10], [12]]) == "2 of 14 lost, 1 doubled, 1 of 3 global batches equal"
    assert compared(whole, [*whole[:4], *whole[:3:-1]]) == "nothing lost or doubled, 1 of 3 global batches equal"


def sliced(rank: int, ranks: int, state: Any) -> Open:
    """What a loader does that counts what its own rank has read."""
    own = range(NUMBERS)[rank::ranks]
    size, read = BATCH // ranks, state or 0
    batches = [own[at : at + size] for at in range(read, len(own), size)]
    left = iter(batches)
    return Open(left, lambda: read + size * (len(batches) - operator.length_hint(left)))


def test_a_loader_that_counts_what_each_rank_has_read_doubles_with_fewer_ranks_and_loses_with_more() -> None:
    said = answer(Library(name="a", package="numpy", load=lambda: (sliced, sliced)))
    assert said["numbers"] == said["mixture"]
    assert said["numbers"] == [
        "8 → 6: 0 of 480 lost, 24 doubled, 0 of 16 global batches equal",
        "6 → 12: 96 of 480 lost, 0 doubled, 0 of 16 global batches equal",
    ]


def refusing(rank: int, ranks: int, state: Any) -> Open:
    if state is not None:
        raise ValueError("another number\n of ranks")
    return sliced(rank, ranks, state)


def missing() -> tuple[Opening, Opening]:
    raise ModuleNotFoundError("of what the library needs")


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (
            Library(name="a", package="numpy", load=lambda: (refusing, refusing)),
            "8 → 6, 6 → 12: refused: ValueError: another number of ranks",
        ),
        (Library(name="a", package="numpy", load=missing), "not installed"),
        (Library(name="a", package="no-such-package-of-all", load=lambda: (sliced, sliced)), "not installed"),
    ],
)
def test_a_refusal_is_quoted_and_what_is_not_there_is_told(library: Library, said: str) -> None:
    assert answer(library)["numbers"] == answer(library)["mixture"] == [said]
