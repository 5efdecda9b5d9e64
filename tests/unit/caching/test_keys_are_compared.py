"""A key is compared again when an epoch is whole, and a seed of the run has a cache of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr

FACTOR = 2


def scaled(x: int) -> int:
    return x * FACTOR


def numbers(dataset: hr.Dataset, executor: str) -> list[int]:
    return [int(x) for x in dataset.with_options(hr.Options(executor=executor))]


KEEPING: dict[str, Callable[[hr.Dataset, Path], hr.Dataset]] = {
    "cache": lambda ds, folder: ds.cache(folder, key=hr.fingerprint),
    "cache by a function": lambda ds, folder: ds.cache(folder, key=lambda mine: f"mine {hr.fingerprint(mine)}"),
    "snapshot": lambda ds, folder: ds.snapshot(folder),
    "snapshot in shards": lambda ds, folder: ds.snapshot(folder, shard_func=lambda x: 0),
}


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("way", KEEPING)
def test_what_changed_before_the_epoch_was_whole_is_not_kept(
    way: str, executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def build() -> hr.Dataset:
        return KEEPING[way](hr.Dataset.range(3).map(scaled), tmp_path)

    built = build()
    with monkeypatch.context() as changed:
        changed.setitem(globals(), "FACTOR", 3)
        assert numbers(built, executor) == [0, 3, 6]
    assert "changed after the dataset was built, so nothing is kept" in caplog.text
    assert ("global 'FACTOR'" in caplog.text) == (way != "cache by a function")
    caplog.clear()
    assert [numbers(build(), executor) for _ in range(2)] == [[0, 2, 4]] * 2
    assert not caplog.text


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_file_that_was_replaced_and_put_back_leaves_nothing_of_the_other(
    executor: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, folder = tmp_path / "a.txt", tmp_path / "kept"

    def write(text: str, written: int) -> None:
        file.write_text(text)
        os.utime(file, (written, written))

    def lengths() -> hr.Dataset:
        return hr.TextLineDataset(file).map(len).cache(folder, key=hr.fingerprint)

    write("a\n", 1)
    built = lengths()
    write("aaa\n", 2)
    assert numbers(built, executor) == [3]
    assert "a.txt" in caplog.text
    write("a\n", 1)
    assert numbers(lengths(), executor) == [1]


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_each_seed_of_the_run_has_a_cache_of_its_own(executor: str, tmp_path: Path) -> None:
    def build(seed: int | None, *, kept: bool = True) -> hr.Dataset:
        drawn = hr.Dataset.range(5).random_map(lambda rng, x: rng.integers(99))
        drawn = drawn.cache(tmp_path, key=hr.fingerprint) if kept else drawn
        return drawn.with_options(hr.Options(seed=seed))

    for seed in (1, 2, 1, 2):
        assert numbers(build(seed), executor) == numbers(build(seed, kept=False), executor)
        assert int(build(seed)[3]) == numbers(build(seed), executor)[3]
    assert numbers(build(None), executor) == numbers(build(None), executor)
    assert len(list(tmp_path.glob("*.elements"))) == 3


def test_a_seed_that_decides_nothing_makes_no_other_cache(tmp_path: Path) -> None:
    for seed in (1, 2):
        dataset = hr.Dataset.range(5).shuffle(5, seed=3).cache(tmp_path, key=hr.fingerprint)
        list(dataset.with_options(hr.Options(seed=seed)))
    assert len(list(tmp_path.glob("*.elements"))) == 1


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_run_with_a_seed_goes_on_in_its_own_cache(executor: str, tmp_path: Path) -> None:
    def build() -> hr.Dataset:
        kept = hr.Dataset.range(9).shuffle(9).cache(tmp_path, key=hr.fingerprint)
        return kept.with_options(hr.Options(seed=4, executor=executor))

    whole = list(build())
    for place in range(9):
        with iter(build()) as iterator:
            begun = [next(iterator) for _ in range(place)]
            state = iterator.state_dict()
        with iter(build()) as iterator:
            iterator.load_state_dict(state)
            assert begun + list(iterator) == whole
