"""Loading a state into a plan that was changed on purpose: what goes on, and what is refused with which words."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError

data = hr.Dataset


def stopped(dataset: hr.Dataset, count: int) -> dict[str, Any]:
    with iter(dataset) as iterator:
        for _ in range(count):
            next(iterator)
        state: dict[str, Any] = json.loads(json.dumps(iterator.state_dict()))
    return state


def going_on(dataset: hr.Dataset, state: dict[str, Any], *allow: str) -> list[Any]:
    with iter(dataset) as iterator:
        iterator.load_state_dict(state, allow=set(allow))
        return list(iterator)


def refusal(dataset: hr.Dataset, state: dict[str, Any], *allow: str) -> str:
    with iter(dataset) as iterator, pytest.raises(InvalidArgumentError) as refused:
        iterator.load_state_dict(state, allow=set(allow))
    return str(refused.value)


def mixture(*weights: float) -> hr.Dataset:
    return data.sample_from_datasets([data.range(0, 40, 2), data.range(1, 40, 2)], list(weights), seed=1)


def texts(folder: Path, *names: str, lines: int = 3) -> list[str]:
    paths = []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name} {number}\n" for number in range(lines)))
        paths.append(str(path))
    return paths


# ------------------------------------------------------------------------ words


def test_a_word_that_nobody_knows_is_refused_with_those_that_there_are() -> None:
    state = stopped(data.range(3), 1)
    for allow in ({"weigths"}, "weigths"):
        with (
            iter(data.range(3)) as iterator,
            pytest.raises(InvalidArgumentError, match="'weights', 'paths', 'batch_size', 'grown'"),
        ):
            iterator.load_state_dict(state, allow=allow)


def test_what_a_word_would_allow_is_refused_with_the_word_and_the_node() -> None:
    for before, after, node, word in (
        (mixture(0.5, 0.5), mixture(0.9, 0.1), "node 2 is sample_from_datasets", "weights"),
        (data.range(9).batch(2), data.range(9).batch(3), "node 1 is batch", "batch_size"),
        (data.range(9), data.range(10), "node 0 is range", "grown"),
        (data.from_tensor_slices([1, 2]), data.from_tensor_slices([1, 2, 3]), "node 0 is from_tensor_slices", "grown"),
    ):
        message = refusal(after, stopped(before, 1))
        assert node in message
        assert f"allow={{'{word}'}}" in message
        others = {"weights", "paths", "batch_size", "grown"} - {word}
        assert f"'{word}'" in refusal(after, stopped(before, 1), *others)


def test_two_changes_need_both_words_and_nothing_else_is_allowed_with_them() -> None:
    state = stopped(data.range(9).batch(2), 1)
    both = data.range(12).batch(3)
    assert "'grown'" in refusal(both, state, "batch_size")
    assert [batch.tolist() for batch in going_on(both, state, "batch_size", "grown")] == [
        [2, 3, 4],
        [5, 6, 7],
        [8, 9, 10],
        [11],
    ]
    assert "allow=" not in refusal(data.range(12).batch(3, drop_remainder=True), state, "batch_size", "grown")


def test_a_state_without_what_may_change_loads_as_ever_and_allows_nothing() -> None:
    state = stopped(data.range(9), 2)
    state["fingerprint"]["nodes"] = [node[:2] for node in state["fingerprint"]["nodes"]]
    from headrace.iterator.saved_state import checksum

    state["checksum"] = checksum({key: value for key, value in state.items() if key != "checksum"})
    assert going_on(data.range(9), state) == [2, 3, 4, 5, 6, 7, 8]
    assert "another plan" in refusal(data.range(10), state, "grown")


def test_plans_that_hang_together_otherwise_are_refused_whatever_is_allowed() -> None:
    one, two = data.range(4), data.range(4)
    before = data.zip((one.concatenate(two), data.range(8)))
    after = data.zip((one, two.concatenate(data.range(9))))
    assert "another plan" in refusal(after, stopped(before, 1), "grown")


def test_the_numpy_iterator_and_feeds_take_the_words_as_well() -> None:
    pytest.importorskip("torch")
    state = stopped(data.range(3), 1)
    numbers = data.range(4).as_numpy_iterator()
    numbers.restore(state, allow={"grown"})
    assert list(numbers) == [1, 2, 3]
    feed = data.range(4).to_torch()
    with pytest.raises(InvalidArgumentError, match="grown"):
        feed.load_state_dict(state)
    feed.load_state_dict(state, allow={"grown"})
    assert [int(number) for number in feed] == [1, 2, 3]
    iterator = iter(data.range(4).to_torch())
    iterator.load_state_dict(state, allow={"grown"})
    assert [int(number) for number in iterator] == [1, 2, 3]


# ---------------------------------------------------------------------- weights


def test_after_other_weights_nothing_is_lost_or_twice() -> None:
    for position in (0, 1, 7, 20):
        state = stopped(mixture(0.5, 0.5), position)
        with iter(mixture(0.5, 0.5)) as iterator:
            first = [next(iterator) for _ in range(position)]
        rest = going_on(mixture(0.9, 0.1), state, "weights")
        assert sorted(first + rest) == list(range(40))


@pytest.mark.parametrize(
    ("name", "hold"),
    [
        ("shuffle", lambda ds: ds.shuffle(3, seed=0)),
        ("unbatch", lambda ds: ds.batch(3).unbatch()),
        ("unique", lambda ds: ds.unique()),
        ("pack", lambda ds: ds.batch(1).pack(4)),
        ("flat_map", lambda ds: ds.window(3).flat_map(lambda w: w)),
        ("cache", lambda ds: ds.cache()),
        ("distributed_batch", lambda ds: ds.distributed_batch(2, num_streams=1, end="pad")),
    ],
)
def test_weights_stay_behind_what_reads_again_what_it_holds(name: str, hold: Any) -> None:
    state = stopped(hold(mixture(0.5, 0.5)), 1)
    message = refusal(hold(mixture(0.9, 0.1)), state, "weights")
    assert name in message
    assert "reads again" in message
    started = going_on(hold(mixture(0.9, 0.1)), stopped(hold(mixture(0.5, 0.5)), 0), "weights")
    assert len(started) == len(list(hold(mixture(0.9, 0.1))))


# ----------------------------------------------------------------------- paths


def test_files_of_the_same_names_below_another_root_go_on(tmp_path: Path) -> None:
    old = texts(tmp_path / "old", "a/1.txt", "b/1.txt")
    new = texts(tmp_path / "a" / "new", "a/1.txt", "b/1.txt")
    state = stopped(hr.TextLineDataset(old), 4)
    rest = going_on(hr.TextLineDataset(new), state, "paths")
    assert rest == ["b/1.txt 1", "b/1.txt 2"]
    assert "'paths'" in refusal(hr.TextLineDataset(new), state)


def test_files_of_other_names_or_in_another_order_are_refused(tmp_path: Path) -> None:
    old = texts(tmp_path / "old", "a.txt", "b.txt")
    state = stopped(hr.TextLineDataset(old), 4)
    assert "another plan" in refusal(hr.TextLineDataset(texts(tmp_path / "new", "a.txt", "c.txt")), state, "paths")
    assert "another plan" in refusal(hr.TextLineDataset(old[::-1]), state, "paths")
    assert "another plan" in refusal(hr.TextLineDataset(old[:1]), state, "paths", "grown")


def test_files_that_moved_and_became_more_need_both_words(tmp_path: Path) -> None:
    state = stopped(hr.TextLineDataset(texts(tmp_path / "old", "a.txt", "b.txt")), 5)
    more = hr.TextLineDataset(texts(tmp_path / "new", "a.txt", "b.txt", "c.txt"))
    assert going_on(more, state, "paths", "grown") == ["b.txt 2", "c.txt 0", "c.txt 1", "c.txt 2"]
    assert "allow={'grown', 'paths'}" in refusal(more, state, "paths")


# ------------------------------------------------------------------ batch_size


def dealt(size: int, rank: int = 0, ranks: int = 1, **arguments: Any) -> hr.Dataset:
    filtered = data.range(40).filter(lambda x: x % 5 != 4)
    batches = filtered.distributed_batch(size, num_streams=2, **arguments)
    return batches.with_options(hr.Options(rank=rank, world_size=ranks, seed=0))


def test_another_global_batch_on_another_number_of_ranks_takes_the_next_elements_of_each_stream() -> None:
    states = [stopped(dealt(4, rank, 2, steps=6), 3) for rank in range(2)]
    rows = np.concatenate(list(dealt(2, steps=14)))
    rest = going_on(dealt(6, steps=4), json.loads(json.dumps(hr.merge_states(states))), "batch_size")
    assert np.concatenate(rest).tolist() == rows[12:24].tolist()


def test_another_global_batch_is_refused_where_steps_are_counted_in_whole_ones() -> None:
    message = refusal(dealt(8, steps=3), stopped(dealt(4, steps=6), 1), "batch_size")
    assert "saved after 4 elements" in message
    assert "global batches of 8" in message
    assert len(going_on(dealt(8), stopped(dealt(4), 1), "batch_size")) == 3


def test_another_number_of_streams_is_another_plan() -> None:
    state = stopped(data.range(40).filter(bool).distributed_batch(4), 1)
    assert "num_streams=4" in refusal(data.range(40).filter(bool).distributed_batch(8), state, "batch_size")


def test_batches_of_another_size_are_refused_within_one() -> None:
    def batches(size: int) -> hr.Dataset:
        return data.range(12).batch(size).unbatch()

    assert "unbatch" in refusal(batches(3), stopped(batches(2), 1), "batch_size")


def test_another_global_batch_waits_for_ranks_that_read_steps_again() -> None:
    states = [stopped(dealt(2, rank, 2, steps=14), 12 - rank) for rank in range(2)]
    merged = hr.merge_states(states, align=True)
    assert any("replay" in stream for stream in merged["streams"].values())
    assert "later state" in refusal(dealt(4, steps=8), merged, "batch_size")
    assert len(going_on(dealt(2, steps=14), merged)) == 3


# ----------------------------------------------------------------------- grown


def test_sources_that_have_grown_give_what_is_new_at_their_end() -> None:
    class Squares:
        def __init__(self, count: int) -> None:
            self.count = count

        def __len__(self) -> int:
            return self.count

        def __getitem__(self, number: int) -> int:
            return number**2

    assert going_on(data.range(6), stopped(data.range(4), 4), "grown") == [4, 5]
    assert going_on(data.range(6, 0, -1), stopped(data.range(6, 2, -1), 3), "grown") == [3, 2, 1]
    assert going_on(data.source(Squares(4)), stopped(data.source(Squares(3)), 2), "grown") == [4, 9]
    assert "another plan" in refusal(data.range(3), stopped(data.range(4), 1), "grown")


def test_a_window_of_a_shuffle_goes_on_until_it_has_drawn_its_last_order() -> None:
    def shuffled(count: int, size: int = 5) -> hr.Dataset:
        return data.range(count).shuffle(size, seed=3)

    for executor in ("thread", "inline"):
        options = hr.Options(executor=executor)
        for position in range(16):
            state = stopped(shuffled(20).with_options(options), position)
            assert going_on(shuffled(30).with_options(options), state, "grown") == list(shuffled(30))[position:]
        state = stopped(shuffled(20).with_options(options), 16)
        assert "shuffle has drawn the order of the last 5 of 20" in refusal(shuffled(30), state, "grown")


def test_a_full_shuffle_of_another_length_is_refused_with_the_reason() -> None:
    def shuffled(count: int, size: int) -> hr.Dataset:
        return data.range(count).shuffle(size, seed=3)

    assert "drawn the order" in refusal(shuffled(30, 100), stopped(shuffled(20, 100), 1), "grown")
    assert "old buffer_size" in refusal(shuffled(30, 30), stopped(shuffled(20, 20), 1), "grown")
    assert sorted(going_on(shuffled(30, 100), stopped(shuffled(20, 100), 0), "grown")) == list(range(30))


def test_a_full_shuffle_takes_what_is_new_into_the_next_turn_of_repeat() -> None:
    plans = (
        lambda count: data.range(count).shuffle(100, seed=3).repeat(),
        lambda count: data.range(count).shuffle(100, seed=3).map(int).repeat(3),
        lambda count: data.range(count).filter(lambda x: x >= 0).shuffle(100, seed=3).batch(2).unbatch().repeat(3),
    )
    for executor, plan in itertools.product(("thread", "inline"), plans[:2]):

        def turns(count: int, plan: Any = plan, executor: str = executor) -> hr.Dataset:
            dataset: hr.Dataset = plan(count).with_options(hr.Options(executor=executor))
            return dataset

        with iter(turns(6)) as iterator:
            iterator.load_state_dict(stopped(turns(4), 4), allow={"grown"})
            assert sorted(next(iterator) for _ in range(6)) == list(range(6))
        assert "drawn the order" in refusal(turns(6), stopped(turns(4), 5), "grown")
    assert "drawn the order" in refusal(plans[2](6), stopped(plans[2](4), 4), "grown")
    last = stopped(plans[1](4), 12)
    assert "drawn the order" in refusal(plans[1](6), last, "grown")


def test_a_full_shuffle_that_has_given_nothing_yet_orders_what_is_new_as_well() -> None:
    def mixed(count: int, executor: str) -> hr.Dataset:
        datasets = [data.range(100, 120), data.range(count).shuffle(100, seed=3)]
        return data.sample_from_datasets(datasets, [0.999, 0.001], seed=1).with_options(hr.Options(executor=executor))

    for before, after in itertools.product(("thread", "inline"), repeat=2):
        rest = going_on(mixed(6, after), stopped(mixed(4, before), 1), "grown")
        assert rest == list(mixed(6, "inline"))[1:]


def test_what_has_left_a_source_behind_does_not_go_back_when_it_grows() -> None:
    def one_after_the_other(count: int) -> hr.Dataset:
        return data.range(count).concatenate(data.range(100, 103))

    assert going_on(one_after_the_other(4), stopped(one_after_the_other(2), 1), "grown") == [1, 2, 3, 100, 101, 102]
    assert "concatenate it last" in refusal(one_after_the_other(4), stopped(one_after_the_other(2), 3), "grown")

    def mixed(count: int) -> hr.Dataset:
        return data.sample_from_datasets([data.range(count), data.range(100, 140)], [0.9, 0.1], seed=1)

    assert "reads it no more" in refusal(mixed(4), stopped(mixed(2), 30), "grown")


def test_what_acts_on_the_end_is_refused_behind_a_source_that_has_grown() -> None:
    def packed(count: int) -> hr.Dataset:
        return data.range(count).batch(1).pack(4)

    def cached(count: int) -> hr.Dataset:
        return data.range(count).cache()

    assert "pack acts on the end" in refusal(packed(9), stopped(packed(6), 1), "grown")
    assert "cache" in refusal(cached(9), stopped(cached(6), 1), "grown")


def test_a_dealt_plan_goes_on_with_more_files_and_other_ranks(tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(6)]
    files = texts(tmp_path, *names)

    def lines(paths: list[str], rank: int, ranks: int, steps: int) -> hr.Dataset:
        batches = hr.TextLineDataset(paths).distributed_batch(2, num_streams=2, steps=steps)
        return batches.with_options(hr.Options(rank=rank, world_size=ranks, seed=0))

    state = hr.merge_states([stopped(lines(files[:4], rank, 2, 6), 5) for rank in range(2)])
    rest = going_on(lines(files, 0, 1, 9), json.loads(json.dumps(state)), "grown")
    assert [batch.tolist() for batch in rest] == [batch.tolist() for batch in lines(files, 0, 1, 9)][5:]
