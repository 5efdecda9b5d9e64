"""Where a prefetch makes its elements, as a function of what they take: no threads and no clock."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.physical.workers import trial_budget
from headrace.physical.workers.overlap_tuner import OverlapTuner, _Found, overlap_of


@dataclasses.dataclass
class World:
    """A source and a consumer, by the seconds of a block of both, and what each loses when the two run at once.

    A thread has one block ready, and makes the next.
    """

    made_s: float
    gap_s: float
    lost_s: float = 5e-5
    elements: int = 100  # of a block
    here: int = 0  # blocks that were made here
    passed_s: float = 0.0
    made_at_s: float | None = None  # when the thread had made its latest block; None: there is none
    taken_at_s: tuple[float, float] = (0.0, 0.0)  # the latest two

    def run(self, tuner: OverlapTuner, blocks: int) -> None:
        """Lets that many blocks pass."""
        for _ in range(blocks):
            if tuner.ahead:
                begun_at_s = self.passed_s if self.made_at_s is None else max(self.made_at_s, self.taken_at_s[0])
                self.made_at_s = begun_at_s + self.made_s + self.lost_s
                asked_at_s = self.passed_s + self.gap_s
                taken_at_s = max(asked_at_s, self.made_at_s) + self.lost_s
                self.passed_s, self.taken_at_s = taken_at_s, (self.taken_at_s[1], taken_at_s)
                tuner.taken(self.elements, self.made_s + self.lost_s, taken_at_s - asked_at_s, self.gap_s)
            else:
                self.here += 1
                self.made_at_s = None
                self.passed_s += self.made_s + self.gap_s
                tuner.made_here(self.elements, self.made_s, self.gap_s)


@dataclasses.dataclass
class Lock:
    """A source and a consumer that need Python's lock: the thread makes some blocks, and then its consumer takes these."""

    made_s: float
    gap_s: float
    at_once: int
    elements: int
    ahead: int = 0  # blocks that a thread has made
    begun: int = 0  # threads

    def run(self, tuner: OverlapTuner, blocks: int) -> None:
        """Lets about that many blocks pass."""
        while blocks > 0:
            if not tuner.ahead:
                tuner.made_here(self.elements, self.made_s, self.gap_s)
                self.begun += tuner.ahead
                blocks -= 1
                continue
            waited_s = self.at_once * self.made_s
            for _ in range(self.at_once):
                tuner.taken(self.elements, self.made_s, waited_s, self.gap_s)
                waited_s = 0.0
            blocks -= self.at_once
            self.ahead += self.at_once


SECONDS = st.sampled_from([1e-5, 1e-4, 1e-3, 4e-3])


@given(SECONDS)
def test_a_consumer_that_comes_back_at_once_gets_no_thread(made_s: float) -> None:
    tuner, world = OverlapTuner(), World(made_s, gap_s=0.0)
    tuner.made_here(1, 1e-5, None)
    world.run(tuner, 5_000)
    assert world.here == 5_000


def test_a_first_element_that_takes_long_begins_a_thread_before_it_is_handed_on() -> None:
    tuner = OverlapTuner()
    tuner.made_here(1, 0.002, None)
    assert tuner.ahead


@given(st.integers(1, 10_000), st.floats(1e-4, 1.0))
def test_a_first_block_of_many_cheap_elements_begins_none(elements: int, made_s: float) -> None:
    tuner = OverlapTuner()
    tuner.made_here(elements, made_s, None)
    assert tuner.ahead == (made_s >= max(0.001, 1e-4 * elements))


@given(st.floats(1e-3, 10.0), st.integers(1, 100), st.floats(1e-4, 1.0), st.floats(0.0, 1e-6))
def test_where_others_were_made_with_the_first_block_the_second_tells(
    filled_s: float, elements: int, made_s: float, gap_s: float
) -> None:
    tuner = OverlapTuner()
    tuner.made_here(1, filled_s, None, is_alone=False)
    has_begun_at_once = tuner.ahead
    tuner.made_here(elements, made_s, gap_s)
    assert not has_begun_at_once
    assert tuner.ahead == (made_s >= max(0.001, 1e-4 * elements))
    later = OverlapTuner(tuner._found)
    later.made_here(1, filled_s, None, is_alone=False)
    assert later.ahead == tuner.ahead  # it has told of later epochs, too
    if later.ahead:
        later.taken(64, 1e-3, 1e-5, 1e-5)  # of cheap ones: what it told was chance
        last = OverlapTuner(tuner._found)
        last.made_here(1, filled_s, None, is_alone=False)
        assert not last.ahead


@given(st.sampled_from([0.02, 0.05]), st.sampled_from([0.0, 0.02]))
def test_where_the_consumer_pulls_on_at_once_a_long_first_element_decides_nothing(made_s: float, gap_s: float) -> None:
    tuner, world = OverlapTuner(is_pulled_on=True), World(made_s, gap_s)
    tuner.made_here(1, 0.02, None)
    assert not tuner.ahead
    world.run(tuner, 100)
    assert tuner.ahead == (gap_s > 0)


def test_a_first_element_that_is_cheap_begins_none() -> None:
    tuner = OverlapTuner()
    tuner.made_here(1, 1e-4, None)
    assert not tuner.ahead


@given(SECONDS)
def test_a_thread_that_hides_nothing_ends_after_a_few_blocks(made_s: float) -> None:
    tuner, world = OverlapTuner(), World(made_s, gap_s=0.0)
    tuner.made_here(1, 0.02, None)  # the first is slow, as where a file is opened
    world.run(tuner, 100)
    assert world.here > 90


@given(st.sampled_from([3e-4, 1e-3, 4e-3]), st.sampled_from([3e-4, 1e-3, 4e-3, 1.0]))
def test_a_thread_that_hides_something_is_there_nearly_all_the_time(made_s: float, gap_s: float) -> None:
    tuner, world = OverlapTuner(), World(made_s, gap_s, elements=10)
    world.run(tuner, 10_000)
    assert world.here < 500


@given(st.sampled_from([3e-4, 1e-3, 4e-3]), st.sampled_from([3e-4, 1e-3, 4e-3]))
def test_a_thread_that_costs_more_than_it_hides_is_there_hardly_at_all(made_s: float, gap_s: float) -> None:
    tuner, world = OverlapTuner(), World(made_s, gap_s, lost_s=1.5 * min(made_s, gap_s))
    world.run(tuner, 10_000)
    assert not tuner.ahead
    assert world.here > 9_500
    assert world.passed_s < 1.03 * 10_000 * (made_s + gap_s)


@given(st.sampled_from([5e-5, 3e-4, 1e-3]), st.sampled_from([5e-5, 3e-4, 1e-3]))
def test_an_epoch_of_few_cheap_elements_starts_no_thread(made_s: float, gap_s: float) -> None:
    tuner, world = OverlapTuner(), World(made_s, gap_s)
    tuner.made_here(1, 1e-5, None)
    world.run(tuner, 100)
    assert world.here == 100


@given(st.sampled_from([5e-5, 3e-4, 1e-3]), st.sampled_from([5e-5, 3e-4, 1e-3]), st.sampled_from([2.0, 10.0]))
def test_what_experiments_with_cheap_elements_cost_is_a_small_part_of_any_time(
    made_s: float, gap_s: float, times_slower: float
) -> None:
    tuner, world = OverlapTuner(), World(made_s, gap_s, lost_s=times_slower * (made_s + gap_s))
    alone_s = made_s + gap_s
    for blocks in range(1, 3_001):
        world.run(tuner, 1)
        # What the next one will take is expected to be what one takes without a thread.
        assert world.passed_s - blocks * alone_s < 0.06 * world.passed_s + 8 * 2 * times_slower * alone_s
    assert world.passed_s < 1.1 * 3_000 * alone_s


def test_cheap_elements_have_a_thread_when_it_has_won_twice_and_not_by_chance() -> None:
    tuner, world = OverlapTuner(), World(made_s=5e-4, gap_s=5e-4)
    for lost_s in (1e-3, 0.0):
        world.lost_s = lost_s
        for ahead in (True, False):  # until an experiment begins, and until it is over
            while tuner.ahead != ahead:
                world.run(tuner, 1)
        assert tuner.reason.endswith("may be chance, and is tried once more") == (not lost_s)
        assert world.here > 0.9 * world.passed_s / 1e-3
    world.lost_s, world.here = 1e-3, 0
    world.run(tuner, 1_000)
    assert not tuner.ahead
    assert world.here > 980  # one experiment more


@given(st.integers(1, 12), st.sampled_from([0.1, 0.3, 1.0]), st.integers(20, 1_000))
def test_blocks_that_are_taken_together_are_no_quicker_for_that(at_once: int, gap: float, elements: int) -> None:
    tuner, world = OverlapTuner(), Lock(1e-3, gap * 1e-3, at_once, elements)
    world.run(tuner, 20_000)
    assert not tuner.ahead or world.begun <= 12
    assert world.ahead <= 12 * (12 + at_once)


@given(st.floats(1e-7, 1e-5))
def test_the_sooner_a_consumer_takes_the_next_element_the_later_a_thread_is_tried(element_s: float) -> None:
    elements = round(5e-4 / element_s)
    tuner, world = OverlapTuner(), World(made_s=5e-4, gap_s=5e-4, elements=elements)
    enough_s = 20 * 8e-3 * 2e-5 / element_s  # of six to eight blocks
    blocks = int(enough_s / 1e-3)
    world.run(tuner, min(blocks, 20_000))
    assert world.here == min(blocks, 20_000)
    if blocks < 20_000:
        world.run(tuner, blocks)
        assert world.here < 2 * blocks


def test_where_python_has_no_lock_short_calls_are_tried_like_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_budget, "_HAS_LOCK", True)
    assert trial_budget.odds_of(1e-7) < 0.01
    monkeypatch.setattr(trial_budget, "_HAS_LOCK", False)
    assert trial_budget.odds_of(1e-7) == 1.0


@pytest.mark.parametrize("growth", [1, 2])
def test_a_thread_is_not_tried_while_blocks_grow(growth: int) -> None:
    found = _Found()
    found.budget.worked(1e9)  # an experiment is nothing beside that
    tuner, elements, ahead = OverlapTuner(found), 1, False
    for _ in range(50):
        tuner.made_here(elements, 2e-4, 2e-4)
        ahead = ahead or tuner.ahead
        elements *= growth
    assert ahead == (growth == 1)


def test_a_block_that_takes_long_is_never_tried_here() -> None:
    tuner, world = OverlapTuner(), World(made_s=0.05, gap_s=0.05, lost_s=1.0)
    world.run(tuner, 10_000)
    assert world.here == 1


def test_a_consumer_that_begins_to_work_has_a_thread_soon() -> None:
    tuner, world = OverlapTuner(), World(made_s=1e-3, gap_s=0.0)
    world.run(tuner, 10_000)
    world.gap_s = 0.01
    world.here = 0
    world.run(tuner, 100)
    assert world.here < 30  # two trials, and one of the other way, among them


@pytest.mark.parametrize("change", ["a slower source", "a slower consumer"])
def test_what_was_useless_is_tried_again_when_more_could_be_hidden(change: str) -> None:
    tuner, world = OverlapTuner(), World(made_s=5e-4, gap_s=5e-4, lost_s=1e-3)
    world.run(tuner, 10_000)
    assert world.here > 9_000
    if change == "a slower source":
        world.made_s, world.gap_s, world.lost_s = 2e-3, 4e-3, 5e-5
    else:
        world.made_s, world.gap_s, world.lost_s = 4e-3, 2e-3, 5e-5
    world.here = 0
    world.run(tuner, 200)
    assert tuner.ahead
    assert world.here < 30


def test_a_pause_of_the_consumer_decides_nothing() -> None:
    tuner, world = OverlapTuner(), World(made_s=1e-3, gap_s=1e-3)
    for _ in range(100):
        world.run(tuner, 63)
        pause = World(world.made_s, gap_s=100.0)
        pause.run(tuner, 1)
    assert tuner.ahead
    assert world.here < 200


def test_a_source_that_works_for_several_blocks_at_once_keeps_its_thread() -> None:
    tuner, world = OverlapTuner(), World(made_s=0.0, gap_s=2e-3)
    for _ in range(1_000):
        world.made_s = 0.012
        world.run(tuner, 1)
        world.made_s = 1e-5
        world.run(tuner, 5)
    assert tuner.ahead
    assert world.here < 300


class Operation:
    """What a prefetch is known by."""


def test_the_next_epoch_begins_ahead_where_that_was_better() -> None:
    operation = Operation()
    World(made_s=1e-3, gap_s=1e-3).run(overlap_of((operation,)), 1_000)
    assert overlap_of((operation,)).ahead
    assert not overlap_of((Operation(),)).ahead


def test_where_a_thread_was_useless_short_epochs_together_try_it_no_more_often_than_a_long_one() -> None:
    operation, ahead = Operation(), 0
    for _ in range(200):
        world, tuner = World(made_s=5e-4, gap_s=5e-4, lost_s=1e-3), overlap_of((operation,))
        tuner.made_here(1, 2e-3 if ahead else 1e-4, None)  # a first element that takes long, as where a file is opened
        tuner.made_here(1, 1e-4, 1e-4)  # and one that comes alone, most of whose time is the way there
        world.run(tuner, 50)
        ahead += 50 - world.here
    assert 0 < ahead < 200


@given(st.integers(1, 8), st.sampled_from([0.0, 1e-5, 3e-5]))
def test_a_thread_that_hides_little_ends_also_where_each_epoch_is_too_short_to_tell(blocks: int, gap_s: float) -> None:
    operation, threads, ends_ahead = Operation(), 0, True
    for _ in range(50):
        tuner = overlap_of((operation,))
        tuner.made_here(1, 2e-3, None)  # each time, as where a file is opened
        threads += tuner.ahead
        World(made_s=1e-3, gap_s=gap_s).run(tuner, blocks)
        ends_ahead = tuner.ahead
    assert not ends_ahead
    assert threads * blocks <= 25  # of which each loses 20 µs at least, and 250 are enough


def test_another_consumer_of_a_later_epoch_has_a_thread_soon() -> None:
    operation = Operation()
    for _ in range(20):
        World(made_s=5e-4, gap_s=5e-4, lost_s=1e-3).run(overlap_of((operation,)), 100)
    tuner, world = overlap_of((operation,)), World(made_s=4e-3, gap_s=4e-3)
    world.run(tuner, 100)
    assert tuner.ahead
    assert world.here < 20


@given(st.integers(8, 14))
def test_trials_that_an_epoch_s_end_cuts_short_cost_no_more_than_others(blocks: int) -> None:
    operation, ahead = Operation(), 0
    for _ in range(400):
        world, tuner = World(made_s=5e-4, gap_s=5e-4, lost_s=1e-3), overlap_of((operation,))
        tuner.made_here(1, 1e-4, None)
        world.run(tuner, blocks)
        ahead += blocks - world.here
    assert ahead <= 0.06 * 400 * blocks


@given(st.integers(300, 1_500))
def test_a_thread_that_became_useless_ends_wherever_in_an_epoch_the_trial_without_it_falls(blocks: int) -> None:
    operation = Operation()
    World(made_s=5e-4, gap_s=5e-4).run(overlap_of((operation,)), blocks)
    for _ in range(60):
        World(made_s=5e-4, gap_s=5e-4, lost_s=1e-3).run(overlap_of((operation,)), 20)
    assert not overlap_of((operation,)).ahead
