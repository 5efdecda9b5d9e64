"""Which elements are those of a stream: all of them once, and of each kind of what repeats every stream has its part."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.plan.dealing_places import PlacesOfStream

TOTAL = 500
shapes = pytest.mark.parametrize(
    ("streams", "before"), [(streams, before) for streams in (1, 2, 3, 12, 64) for before in (0, 1, 5, 130)]
)


def all_of(places: PlacesOfStream) -> list[int]:
    numbers: list[int] = places.among(0, places.count(TOTAL)).tolist()
    return numbers


@shapes
def test_each_element_is_of_one_stream(streams: int, before: int) -> None:
    dealt = [number for stream in range(streams) for number in all_of(PlacesOfStream(streams, stream, before))]
    assert sorted(dealt) == list(range(TOTAL))


@shapes
def test_one_by_one_and_together_they_are_the_same(streams: int, before: int) -> None:
    for stream in range(streams):
        places = PlacesOfStream(streams, stream, before)
        numbers = all_of(places)
        assert numbers == [places.at(index) for index in range(len(numbers))]
        assert places.of(np.array([3, 0, 2])).tolist() == [numbers[3], numbers[0], numbers[2]]
        assert [places.count(total) for total in range(0, TOTAL, 7)] == [
            sum(number < total for number in numbers) for total in range(0, TOTAL, 7)
        ]


def test_a_branch_of_a_concatenation_has_the_elements_that_it_has_in_the_whole() -> None:
    for stream in range(12):
        whole, branch = PlacesOfStream(12, stream), PlacesOfStream(12, stream, 31)
        assert [number + 31 for number in all_of(branch)][:20] == whole.among(whole.count(31), 20).tolist()


def test_the_first_round_is_not_turned() -> None:
    assert [PlacesOfStream(12, stream).at(0) for stream in range(12)] == list(range(12))


def test_numbers_of_any_size_do_not_overflow() -> None:
    places = PlacesOfStream(64, 7)
    index = (1 << 56) + 3
    assert places.among(index, 1).tolist() == [places.at(index)]
    assert places.at(index) // 64 == index


@pytest.mark.parametrize("period", [2, 3, 4, 7, 8, 16, 64, 128])
@pytest.mark.parametrize("streams", [2, 8, 64])
def test_every_stream_has_its_part_of_what_repeats(streams: int, period: int) -> None:
    rounds = 400 * period
    counts = [
        np.count_nonzero(PlacesOfStream(streams, stream).among(0, rounds) % period == 0) for stream in range(streams)
    ]
    # 400 are its part; of numbers without a pattern it would have that up to five times its root.
    assert min(counts) > 300
    assert max(counts) < 500
