"""What a user reads of a plan that is dealt to ranks: in explain(), in stats(), in errors and in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headrace as hr
from headrace import log
from headrace.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a process of its own, as far as warnings go."""
    monkeypatch.setattr(log, "_said", {})


def is_even(x: int) -> bool:
    return x % 2 == 0


def plus_one(x: int) -> int:
    return x + 1


def rows() -> Iterator[int]:
    yield from range(40)


def as_rank(dataset: hr.Dataset, rank: int = 1, world_size: int = 2) -> hr.Dataset:
    return dataset.with_options(hr.Options(rank=rank, world_size=world_size, seed=1))


def generated() -> hr.Dataset:
    return hr.Dataset.from_generator(rows, output_signature=hr.TensorSpec((), int))


def said_of(dataset: hr.Dataset, caplog: pytest.LogCaptureFixture) -> list[str]:
    for _ in range(2):
        list(dataset)
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def without_places(text: str) -> str:
    return "\n".join(line.partition(" (")[0] for line in text.splitlines())


def test_explain_shows_what_runs_once_per_stream() -> None:
    dataset = hr.Dataset.range(100).filter(is_even).shuffle(40).map(plus_one)
    explained = as_rank(dataset.distributed_batch(8, num_streams=4, steps=3)).explain()
    assert (
        without_places(explained.partition("\n\n")[2])
        == """\
runs on this rank as, once per stream what is below 'streams of the rank'
with_options [seed=1, rank=1, world_size=2]
  distributed_batch [batch_size=4, drop_remainder=True]
    map 'plus_one'
      streams of the rank [rank=1 of 2, streams=2 of 4, steps=3]
        shuffle [buffer_size=10, reshuffle_each_iteration=True]
          filter 'is_even'
            part of the stream [num_streams=4]
              range [start=0, stop=100, step=1, dtype=int64]"""
    )


def test_explain_shows_what_every_rank_knows_whole() -> None:
    dataset = hr.Dataset.range(100).shuffle(100).map(plus_one)
    explained = as_rank(dataset.distributed_batch(8, num_streams=4)).explain()
    assert (
        without_places(explained.partition("\n\n")[2])
        == """\
runs on this rank as
with_options [seed=1, rank=1, world_size=2]
  distributed_batch [batch_size=4, drop_remainder=True]
    map 'plus_one'
      part of the rank [rank=1 of 2]
        shuffle [buffer_size=100, reshuffle_each_iteration=True]
          range [start=0, stop=100, step=1, dtype=int64]"""
    )


def test_statistics_count_each_element_once_over_all_streams() -> None:
    dataset = hr.Dataset.range(24).filter(lambda _: True).map(plus_one).distributed_batch(8, num_streams=4, steps=3)
    iterator = iter(as_rank(dataset))
    assert len(list(iterator)) == 3
    counts = {stage.name.partition(" (")[0]: stage.elements for stage in iterator.stats().stages}
    assert counts["part of the stream"] == counts["streams of the rank"] == counts["map 'plus_one'"] == 12
    assert counts["distributed_batch"] == 3


def test_a_generator_that_every_rank_reads_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = said_of(as_rank(generated().map(plus_one).distributed_batch(8)), caplog)
    assert message.startswith("from_generator 'rows' (")
    assert ": each of 2 ranks reads all of it once, keeps its own part, and" in message


def test_how_often_streams_read_a_generator_is_told(caplog: pytest.LogCaptureFixture) -> None:
    dataset = generated().filter(lambda _: True).distributed_batch(8, steps=2)
    assert (
        "the rank reads all of it once, and again for each of its 8 streams that falls far behind"
        in said_of(dataset, caplog)[0]
    )
    assert (
        "each of 2 ranks reads all of it once, and again for each of its 4 streams"
        in said_of(as_rank(dataset), caplog)[1]
    )


def test_a_rank_alone_that_reads_a_generator_once_is_told_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert said_of(generated().map(plus_one).distributed_batch(8), caplog) == []


@pytest.mark.parametrize("make", [hr.TextLineDataset, hr.TFRecordDataset, hr.TarDataset])
def test_too_few_files_are_read_by_number(make: Callable[[list[str]], hr.Dataset]) -> None:
    dataset = make(["a", "b"])
    with pytest.raises(
        InvalidArgumentError, match=r"2 files cannot .* to 4 streams, .* at most 2 .*random_access=True\)"
    ):
        dataset.distributed_batch(4)


def test_too_few_files_of_a_format_without_numbers_are_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n")
    with pytest.raises(
        InvalidArgumentError, match=r"1 file cannot .* into more files, or into a format that is read by"
    ):
        hr.CsvDataset(path, [int]).distributed_batch(4)


def test_all_ranks_save_one_fingerprint() -> None:
    dataset = hr.Dataset.range(100).shard(2, 1).filter(is_even).distributed_batch(8, num_streams=4, steps=1)
    of = {
        iter(as_rank(dataset, rank, size)).state_dict()["fingerprint"]["digest"]
        for size in (1, 2, 4)
        for rank in range(size)
    }
    assert len(of) == 1


def test_a_rank_that_takes_its_own_shard_first_is_told(caplog: pytest.LogCaptureFixture) -> None:
    numbers = hr.Dataset.range(100).shuffle(100, seed=1)
    dealt = [numbers.shard(4, index).map(plus_one).distributed_batch(8, num_streams=4) for index in range(4)]
    assert said_of(as_rank(dealt[1], 2, 4), caplog) == []
    (message,) = said_of(as_rank(dealt[2], 2, 4), caplog)
    assert "shard(4, 2) stands before distributed_batch on rank 2 of 4" in message
    assert "Leave out the shard" in message
    behind = numbers.distributed_batch(8, num_streams=4).shard(2, 1)
    count = len(said_of(as_rank(behind, 0, 2), caplog))
    (message,) = said_of(as_rank(behind, 1, 2), caplog)[count:]
    assert "shard(2, 1) stands behind distributed_batch on rank 1 of 2" in message


@pytest.mark.parametrize(
    ("batch", "streams", "ranks", "said"),
    [
        (100, 0, 4, r"num_streams=100 would do for both 4 ranks and those that divide 50; num_streams=20 for 4 ranks"),
        (64, 0, 5, r"320 in place of 64; or one of 65 with num_streams=5 for 5 ranks"),
        (24, 2, 3, r"num_streams=6 would do for both 3 ranks and those that divide 2$"),
    ],
)
def test_a_number_of_ranks_that_does_not_fit_is_told_what_would_do(
    batch: int, streams: int, ranks: int, said: str
) -> None:
    dataset = hr.Dataset.range(1000)
    dealt = dataset.distributed_batch(batch, num_streams=streams) if streams else dataset.distributed_batch(batch)
    with pytest.raises(InvalidArgumentError, match=said):
        iter(as_rank(dealt, 0, ranks))


def test_a_state_of_other_streams_is_told_that_these_must_stay() -> None:
    state = iter(as_rank(hr.Dataset.range(100).distributed_batch(12), 0, 1)).state_dict()
    other = iter(as_rank(hr.Dataset.range(100).distributed_batch(24), 0, 1))
    with pytest.raises(InvalidArgumentError, match=r"give num_streams= as it was, .*allow=\{'batch_size'\}"):
        other.load_state_dict(state, allow={"batch_size"})


def test_one_state_alone_is_no_list_of_states() -> None:
    iterator = iter(hr.Dataset.range(8).distributed_batch(4))
    with pytest.raises(InvalidArgumentError, match="give a list of the states of ranks"):
        hr.merge_states(iterator.state_dict())  # type: ignore[arg-type]  # which a user may do
