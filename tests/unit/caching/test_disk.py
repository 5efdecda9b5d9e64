"""A cache on disk: found again, filled once, whole or not there, and never another pipeline's."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError
from headrace.testing.restoring import check_every_restore_point, same

EXECUTORS = ["inline", "thread"]


def counted(count: int = 5) -> tuple[hr.Dataset, list[int]]:
    calls: list[int] = []

    def call(x: int) -> tuple[int, str, np.ndarray]:
        calls.append(x)
        return x, str(x), np.full(x % 3, x, np.float32)

    return hr.Dataset.range(count).map(call), calls


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_later_epochs_and_later_datasets_read_the_file(tmp_path: Path, executor: str, count: int) -> None:
    options = hr.Options(executor=executor)
    first, calls = counted(count)
    cached = first.cache(tmp_path, key="k").with_options(options)
    expected = list(first)
    calls.clear()
    assert same(list(cached), expected)
    assert same(list(cached), expected)
    again, calls_again = counted(count)
    assert same(list(again.cache(tmp_path, key="k").with_options(options)), expected)
    assert (calls, calls_again) == (list(range(count)), [])
    assert left_in(tmp_path) == ["k.elements"]


def test_one_backend_reads_what_the_other_wrote(tmp_path: Path) -> None:
    for writer, reader in (EXECUTORS, EXECUTORS[::-1]):
        dataset, calls = counted()
        cached = dataset.cache(tmp_path / writer)
        expected = list(cached.with_options(hr.Options(executor=writer)))
        calls.clear()
        assert same(list(cached.with_options(hr.Options(executor=reader))), expected)
        assert not calls


def test_a_stored_dataset_is_read_by_index(tmp_path: Path) -> None:
    dataset = hr.Dataset.from_tensor_slices(np.arange(2000.0).reshape(1000, 2)).cache(tmp_path)
    assert len(list(dataset)) == 1000
    batches = list(dataset.shuffle(1000, seed=1).batch(100))
    assert sorted(np.concatenate(batches)[:, 0].tolist()) == list(np.arange(0.0, 2000, 2))
    assert all(batch.flags.writeable for batch in batches)


def test_a_partial_epoch_leaves_no_cache_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    dataset, _ = counted()
    with caplog.at_level(logging.WARNING, "headrace"):
        assert len(list(dataset.filter(lambda *_: True).cache(tmp_path).take(2))) == 2
    assert "nothing is kept" in caplog.text
    assert left_in(tmp_path) == []


def test_an_epoch_with_a_failure_is_not_kept(tmp_path: Path) -> None:
    dataset = hr.Dataset.range(4).map(lambda x: 1 // (x - 1)).cache(tmp_path)
    for _ in range(2):
        with iter(dataset) as iterator:
            assert next(iterator) == -1
            with pytest.raises(hr.errors.HeadraceError):
                next(iterator)
            assert list(iterator) == [1, 0]
    assert left_in(tmp_path) == []


def test_another_pipelines_elements_are_refused(tmp_path: Path) -> None:
    list(hr.Dataset.range(3).cache(tmp_path))
    with pytest.raises(InvalidArgumentError, match=r"another pipeline.*key=hr\.fingerprint.*headrace cache clear"):
        list(hr.Dataset.range(4).cache(tmp_path))


def test_with_a_fingerprint_each_pipeline_has_its_own(tmp_path: Path) -> None:
    def pipeline(factor: int) -> hr.Dataset:
        return hr.Dataset.range(3).map(lambda x: x * factor).cache(tmp_path, key=hr.fingerprint)

    assert [list(pipeline(factor)) for factor in (1, 2, 1)] == [[0, 1, 2], [0, 2, 4], [0, 1, 2]]
    assert len(left_in(tmp_path)) == 2


def test_a_key_may_be_any_text_and_needs_a_folder(tmp_path: Path) -> None:
    assert list(hr.Dataset.range(2).cache(tmp_path, key="a/b:../c\n" * 50)) == [0, 1]
    assert len(left_in(tmp_path)) == 1
    with pytest.raises(InvalidArgumentError, match="give its folder"):
        hr.Dataset.range(2).cache(key="k")
    with pytest.raises(TypeError, match="key must be a text, or a function of the dataset, not int"):
        hr.Dataset.range(2).cache(tmp_path, key=3)  # type: ignore[arg-type]  # as users write


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("folder", ["", "on disk"])
def test_what_exceeds_max_bytes_is_a_clear_error(tmp_path: Path, executor: str, folder: str) -> None:
    place = tmp_path / folder if folder else ""
    dataset = hr.Dataset.range(100).map(lambda x: np.zeros(10_000)).cache(place, max_bytes=1_000_000)
    with pytest.raises(ResourceExhaustedError, match=r"cache, element 12: .*max_bytes=1,000,000"):
        list(dataset.with_options(hr.Options(executor=executor)))
    assert not folder or left_in(tmp_path / folder) == []
    with pytest.raises(InvalidArgumentError, match="max_bytes must be at least 1"):
        hr.Dataset.range(1).cache(max_bytes=0)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_element_without_bytes_is_refused_by_name(tmp_path: Path, executor: str) -> None:
    dataset = hr.Dataset.range(3).map(lambda x: (x, {x} if x == 2 else x)).cache(tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"cache, element 2: component \[1\]: an object of type set"):
        list(dataset.with_options(hr.Options(executor=executor)))
    assert left_in(tmp_path) == []


def test_a_broken_file_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    dataset = hr.Dataset.range(3).cache(tmp_path)
    list(dataset)
    (path,) = tmp_path.glob("*.elements")
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataLossError, match="not written to its end; remove it with: headrace cache clear"):
        list(dataset)


def test_a_cache_that_was_removed_is_filled_again(tmp_path: Path) -> None:
    dataset, calls = counted(3)
    cached = dataset.cache(tmp_path)
    for _ in range(2):
        list(cached)
        next(tmp_path.glob("*.elements")).unlink()
    assert calls == [0, 1, 2] * 2


def test_two_iterators_at_once_fill_it_once(tmp_path: Path) -> None:
    dataset, calls = counted(4)
    cached = dataset.cache(tmp_path)
    with iter(cached) as writer, iter(cached) as reader:
        next(writer)
        assert len(list(reader)) == 4
        assert left_in(tmp_path) != ["cache.elements"]
        assert len(list(writer)) == 3
    assert left_in(tmp_path) == ["cache.elements"]
    assert len(list(cached)) == 4
    assert len(calls) == 8


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("seed", [1, None])
def test_it_resumes_at_every_element_while_filled_and_afterwards(
    tmp_path: Path, executor: str, seed: int | None
) -> None:
    options = hr.Options(executor=executor)
    shuffled = hr.Dataset.range(6).shuffle(6, seed=seed)
    check_every_restore_point(shuffled.cache(tmp_path).repeat(2).with_options(options))


def test_a_state_never_goes_on_in_another_caches_elements(tmp_path: Path) -> None:
    cached = hr.Dataset.range(20).shuffle(20, seed=1).cache(tmp_path)
    list(cached)
    with iter(cached) as iterator:
        begun = [next(iterator) for _ in range(5)]
        state = iterator.state_dict()
        rest = list(iterator)
    next(tmp_path.glob("*.elements")).unlink()
    list(cached)  # a later epoch: other elements come first
    with iter(cached) as iterator:
        iterator.load_state_dict(state)
        assert list(iterator) == rest
    assert sorted(begun + rest) == list(range(20))


# ------------------------------------------------------------------------ several processes

PROGRAM = """
import sys, headrace as hr

def at(x):
    if x == {stop}:
        print("here", flush=True)
        sys.stdin.readline()
    return x

print(list(hr.Dataset.range(5).map(at).cache({folder!r}, key="k")), flush=True)
"""


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Starts a process that fills the cache and waits at one of its elements."""
    begun: list[subprocess.Popen[str]] = []

    def run(stop: int) -> subprocess.Popen[str]:
        text = textwrap.dedent(PROGRAM.format(folder=str(tmp_path), stop=stop))
        process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        begun.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        return process

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def test_while_one_process_fills_it_another_reads_through(tmp_path: Path, start: Callable[[int], Any]) -> None:
    process = start(3)
    dataset = hr.Dataset.range(5).cache(tmp_path, key="k")
    assert list(dataset) == [0, 1, 2, 3, 4]
    assert not (tmp_path / "k.elements").exists()
    assert process.communicate("\n", timeout=60)[0] == "[0, 1, 2, 3, 4]\n"
    assert (tmp_path / "k.elements").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
@pytest.mark.parametrize("stop", [0, 4])
def test_a_killed_process_leaves_no_cache_and_the_next_one_fills_it(
    tmp_path: Path, start: Callable[[int], Any], stop: int
) -> None:
    process = start(stop)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert any(name.endswith(".part") for name in left_in(tmp_path))
    assert list(hr.Dataset.range(5).cache(tmp_path, key="k")) == [0, 1, 2, 3, 4]
    assert left_in(tmp_path) == ["k.elements"]
