"""shard behind what draws its order without a seed: each process has another, and the log says so."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from headrace import log

data = hr.Dataset


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a process of its own, as far as warnings go."""
    monkeypatch.setattr(log, "_said", {})


def numbers(_: object = None) -> hr.Dataset:
    return data.range(8)


def shuffled(_: object = None) -> hr.Dataset:
    return data.range(8).shuffle(8)


OWN_ORDER: dict[str, Callable[[], hr.Dataset]] = {
    "shuffle [buffer_size=8]": shuffled,
    "shuffle 'between' [buffer_size=3]": lambda: (
        numbers().shuffle(3, name="between").map(abs).batch(1).unbatch().prefetch(2).cache()
    ),
    "shuffle 'zipped' [buffer_size=-2]": lambda: data.zip(numbers(), numbers().shuffle(-2, name="zipped")),
    "shuffle 'inside' [buffer_size=4]": lambda: data.range(2).flat_map(lambda _: numbers().shuffle(4, name="inside")),
    "shuffle 'interleaved' [buffer_size=4]": lambda: data.range(2).interleave(
        lambda _: numbers().shuffle(4, name="interleaved"), cycle_length=2, num_parallel_calls=2
    ),
    "sample_from_datasets": lambda: data.sample_from_datasets([numbers(), numbers()], [0.5, 0.5]),
    "random": lambda: data.choose_from_datasets([numbers(), numbers()], data.random().map(lambda x: x % 2)),
    "rejection_resample": lambda: numbers().rejection_resample(lambda x: x % 2, [0.5, 0.5], [0.5, 0.5]).take(3),
}

ONE_ORDER: dict[str, Callable[[], hr.Dataset]] = {
    "a seed": lambda: numbers().shuffle(8, seed=1).shard(2, 0),
    "a seed of the whole dataset": lambda: shuffled().shard(2, 0).with_options(hr.Options(seed=1)),
    "shard before shuffle": lambda: numbers().shard(2, 0).shuffle(8),
    "one shard": lambda: shuffled().shard(1, 0),
    "a buffer of one": lambda: numbers().shuffle(1).shard(2, 0),
    "a shuffle of what opened the shards": lambda: shuffled().flat_map(lambda _: numbers().shard(2, 0)),
    "a shuffle inside of what a shard opens": lambda: numbers().shard(2, 0).flat_map(shuffled),
    "random elements": lambda: data.random().take(4).shard(2, 0),
    "random values": lambda: numbers().random_map(lambda generator, x: x + generator.integers(2)).shard(2, 0),
}


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("named", OWN_ORDER)
def test_an_order_of_each_process_before_a_shard_is_named_once(
    named: str, executor: str, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = OWN_ORDER[named]().shard(4, 1).with_options(hr.Options(executor=executor))
    for _ in range(3):
        list(itertools.islice(dataset, 4))
    (message,) = [message for message in caplog.messages if "has no seed" in message]
    assert message.startswith(named)
    assert " has no seed, and stands before shard [num_shards=4]: " in message
    assert "Options(seed=" in message


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("what", ONE_ORDER)
def test_what_loses_nothing_is_not_spoken_of(what: str, executor: str, caplog: pytest.LogCaptureFixture) -> None:
    list(ONE_ORDER[what]().with_options(hr.Options(executor=executor)))
    assert not caplog.messages


@pytest.fixture
def files(tmp_path: Path) -> str:
    for letter in "abcd":
        (tmp_path / f"{letter}.txt").write_text(letter)
    return str(tmp_path / "*.txt")


def test_files_are_listed_in_an_order_of_each_process_unless_they_are_told_not_to(
    files: str, caplog: pytest.LogCaptureFixture
) -> None:
    list(data.list_files(files, shuffle=False).shard(2, 0))
    list(data.list_files(files, seed=1).shard(2, 0))
    assert not caplog.messages
    list(data.list_files(files).shard(2, 0))
    (message,) = caplog.messages
    assert message.startswith("shuffle 'list_files' [buffer_size=4] has no seed")


def test_a_resumed_run_is_not_told_again(caplog: pytest.LogCaptureFixture) -> None:
    dataset = shuffled().shard(2, 0)
    with iter(dataset) as iterator:
        next(iterator)
        state = iterator.state_dict()
    assert len(caplog.messages) == 1
    with iter(dataset) as iterator:
        iterator.load_state_dict(state)
        assert len(list(iterator)) == 3
    assert len(caplog.messages) == 1
