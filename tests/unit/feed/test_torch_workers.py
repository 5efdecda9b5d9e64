"""Feeds and datasets in the workers of PyTorch's DataLoader."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import logging
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import FailedPreconditionError

torch = pytest.importorskip("torch")
from torch.utils.data import IterableDataset  # noqa: E402 - once it is known to be there
from torch.utils.data._utils import worker as torchs_worker  # noqa: E402


@contextlib.contextmanager
def in_worker(dataset: object, number: int, count: int, seed: int = 7) -> Iterator[None]:
    """As in that worker of a DataLoader of the dataset."""
    info = torchs_worker.WorkerInfo(id=number, num_workers=count, seed=seed + number, dataset=dataset)
    torchs_worker._worker_info = info
    try:
        yield
    finally:
        torchs_worker._worker_info = None


def one_shuffled(length: int) -> hr.Dataset:
    return hr.Dataset.range(length).shuffle(4, seed=1).map(lambda x: x * 2).batch(2)


PLANS: dict[str, Callable[[int], hr.Dataset]] = {
    "a range": hr.Dataset.range,
    "a seeded shuffle, a map and batches": one_shuffled,
    "a filter": lambda length: hr.Dataset.range(length).filter(lambda x: x % 3 != 1),
    "datasets of functions": lambda length: hr.Dataset.range(length).flat_map(
        lambda x: hr.Dataset.range(x % 3).shuffle(3)
    ),
    "shuffles without a seed": lambda length: hr.Dataset.range(length).shuffle(100).repeat(2).shuffle(3),
    "a generator": lambda length: hr.Dataset.from_generator(lambda: iter(range(length))),
    "a prefetch": lambda length: hr.Dataset.range(length).map(lambda x: x + 1, num_parallel_calls=2).prefetch(2),
    "numbers dealt to ranks": lambda length: hr.Dataset.range(length).distributed_batch(2),
    "streams dealt to ranks": lambda length: (
        hr.Dataset.range(length + 2).filter(lambda x: x % 3 != 2).distributed_batch(2)
    ),
    "a seed of the whole": lambda length: hr.Dataset.range(length).shuffle(9).with_options(hr.Options(seed=3)),
}


def numbers(elements: Any) -> list[Any]:
    return [torch.as_tensor(element).tolist() for element in elements]


def in_turns(parts: list[list[Any]]) -> list[Any]:
    """As the DataLoader takes from its workers."""
    nothing = object()
    return [x for turn in itertools.zip_longest(*parts, fillvalue=nothing) for x in turn if x is not nothing]


@given(plan=st.sampled_from(sorted(PLANS)), length=st.integers(0, 12), count=st.integers(1, 4), taken=st.integers(0, 6))
def test_the_workers_together_give_every_element_once_in_order_and_go_on_from_their_states(
    plan: str, length: int, count: int, taken: int
) -> None:
    feed = PLANS[plan](length).to_torch()
    with in_worker(feed, 0, 1):
        whole = numbers(feed)
    if "without a seed" not in plan and "functions" not in plan:
        assert whole == numbers(PLANS[plan](length))
    parts = []
    for number in range(count):
        worker = PLANS[plan](length).to_torch()
        with in_worker(worker, number, count):
            iterator = iter(worker)
            first = numbers(itertools.islice(iterator, taken))
            state = json.loads(json.dumps(worker.state_dict()))
            rest = numbers(iterator)
            worker.load_state_dict(state)
            assert state["ended"] or numbers(worker) == rest
            parts.append(first + rest)
    assert in_turns(parts) == whole


def in_a_process_of_its_own(program: str) -> None:
    """Runs a program: torch's workers are forks, and the tests' process may hold threads of other libraries."""
    whole = "import headrace as hr\nfrom torch.utils.data import DataLoader\n" + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", whole], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_dataloader_of_a_feed_gives_its_elements(workers: int) -> None:
    in_a_process_of_its_own(
        f"""
        def dataset():
            return hr.Dataset.range(11).shuffle(4, seed=1).map(lambda x: x * 2).batch(2)

        expected = [batch.tolist() for batch in dataset()]
        loader = DataLoader(dataset().to_torch(), batch_size=None, num_workers={workers})
        assert [batch.tolist() for batch in loader] == expected
        assert len(loader) == len(expected)
        """
    )


def test_workers_that_stay_see_every_epoch_of_a_shuffle() -> None:
    in_a_process_of_its_own(
        """
        dataset = hr.Dataset.range(20).shuffle(20, seed=1)
        loader = DataLoader(dataset.to_torch(), batch_size=None, num_workers=2, persistent_workers=True)
        epochs = [[int(number) for number in loader] for _ in range(3)]
        plain = hr.Dataset.range(20).shuffle(20, seed=1)
        assert epochs == [list(plain) for _ in range(3)]
        assert len(set(map(tuple, epochs))) == 3
        """
    )


def test_a_state_that_no_worker_can_take_up_is_refused() -> None:
    feed = hr.Dataset.range(6).to_torch()
    next(iter(feed))
    other = hr.Dataset.range(6).to_torch()
    other.load_state_dict(feed.state_dict())
    for there in (other, pickle.loads(pickle.dumps(other))):
        with in_worker(there, 1, 2), pytest.raises(FailedPreconditionError, match="loaded outside the DataLoader"):
            iter(there)
    assert numbers(other) == [1, 2, 3, 4, 5]


def test_a_state_that_was_only_asked_for_does_no_harm() -> None:
    feed = hr.Dataset.range(5).to_torch()
    feed.state_dict()
    for there in (feed, pickle.loads(pickle.dumps(feed))):
        with in_worker(there, 1, 2):
            assert numbers(there) == [1, 3]


class Wrapped(IterableDataset[Any]):  # type: ignore[misc] # mypy does not read PyTorch
    """As users write them."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        return iter(self.inner)


class OneFileEach(IterableDataset[Any]):  # type: ignore[misc] # as above
    def __iter__(self) -> Iterator[Any]:
        return iter(hr.Dataset.range(3))


class ByNumber:
    def __init__(self) -> None:
        self.inner = hr.Dataset.range(3)

    def __getitem__(self, number: int) -> Any:
        return list(self.inner)[number]


@pytest.mark.parametrize("fed", [False, True])
def test_a_dataset_within_another_is_told_once_that_each_worker_reads_all_of_it(
    fed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = hr.Dataset.range(3)
    inner = dataset.to_torch() if fed else dataset
    wrapped = Wrapped(inner)
    with in_worker(wrapped, 0, 2):
        assert numbers(wrapped) == numbers(wrapped) == [0, 1, 2]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "each of 2 workers of a DataLoader reads all of range" in caplog.text


def test_it_is_told_of_each_dataset_also_of_one_that_lies_where_another_lay(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        wrapped = Wrapped(hr.Dataset.range(3))
        with in_worker(wrapped, 0, 2):
            assert numbers(wrapped) == [0, 1, 2]
        del wrapped
        gc.collect()
    assert len(caplog.records) == 20


@pytest.mark.parametrize(
    ("dataset", "workers"),
    [
        (Wrapped(hr.Dataset.range(4).shard(2, 0)), 2),
        (Wrapped(hr.Dataset.range(4)), 1),
        (OneFileEach(), 2),
        (ByNumber(), 2),
    ],
    ids=["a shard", "one worker", "made in the worker", "by number"],
)
def test_nothing_is_told_where_each_element_may_come_once(
    dataset: Any, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    with in_worker(dataset, 0, workers):
        assert dataset[0] == 0 if isinstance(dataset, ByNumber) else numbers(dataset)
    assert not caplog.records


def test_what_asks_a_feed_for_its_dataset_is_told_how_to_go_on() -> None:
    feed = hr.Dataset.range(3).to_torch()
    assert not hasattr(feed, "dataset")
    with pytest.raises(AttributeError, match=r"load_state_dict.*register_for_checkpointing"):
        feed.dataset  # noqa: B018 - as Accelerate's skip_first_batches does
