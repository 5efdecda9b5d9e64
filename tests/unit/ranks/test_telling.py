"""What the ranks of a job tell each other."""

from __future__ import annotations

import sys
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

import headrace as hr
from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.ranks import telling


class Group:
    """A group of processes."""


class Torch:
    """``torch.distributed`` of a job in which rank 0 drew a number; it counts what is told."""

    def __init__(self, ranks: int, number: int) -> None:
        self.group = SimpleNamespace(WORLD=Group())
        self.ranks, self.number, self.told = ranks, number, 0

    def is_initialized(self) -> bool:
        return True

    def get_rank(self) -> int:
        return 1

    ProcessGroup = Group

    def get_world_size(self, group: Group | None = None) -> int:
        return self.ranks

    def broadcast_object_list(self, objects: list[Any], src: int) -> None:
        assert src == 0
        self.told += 1
        objects[0] = self.number


@pytest.fixture
def tensors() -> object:
    """PyTorch itself, imported before anything stands in for a part of it."""
    return pytest.importorskip("torch")


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    module = Torch(4, 17)
    monkeypatch.setitem(sys.modules, "torch.distributed", module)
    monkeypatch.setattr(telling, "_told", [])
    return module


def orders(plan: hr.Dataset, epochs: int = 1, *, rank: int = 1, ranks: int = 4) -> list[list[int]]:
    dealt = plan.distributed_batch(4).with_options(hr.Options(rank=rank, world_size=ranks))
    return [[int(x) for batch in dealt for x in batch] for _ in range(epochs)]


def test_the_number_of_rank_0_is_told_once_in_a_process(torch: Torch) -> None:
    first, second = (orders(hr.Dataset.range(40).shuffle(40)) for _ in range(2))
    assert first == second
    assert torch.told == 1


def test_a_new_group_is_told_a_new_number(torch: Torch) -> None:
    first = orders(hr.Dataset.range(40).shuffle(40))
    torch.group.WORLD, torch.number = Group(), 18
    assert first != orders(hr.Dataset.range(40).shuffle(40))
    assert torch.told == 2


def test_an_unseeded_shuffle_has_a_new_order_each_epoch_unless_it_is_not_to(torch: Torch) -> None:
    first, second = orders(hr.Dataset.range(40).shuffle(40), 2)
    assert first != second
    first, second = orders(hr.Dataset.range(40).shuffle(40, reshuffle_each_iteration=False), 2)
    assert first == second
    assert torch.told == 1


def test_nothing_is_told_where_nothing_needs_it(torch: Torch) -> None:
    orders(hr.Dataset.range(40).shuffle(40, seed=3))
    orders(hr.Dataset.range(40).shuffle(40).with_options(hr.Options(seed=3)))
    orders(hr.Dataset.range(40).shuffle(40), rank=0, ranks=1)
    assert torch.told == 0


def test_a_framework_that_knows_of_fewer_ranks_tells_nothing(torch: Torch) -> None:
    torch.ranks = 2
    with pytest.raises(InvalidArgumentError, match="no seed"):
        orders(hr.Dataset.range(40).shuffle(40))
    assert torch.told == 0


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_the_error_of_a_missing_seed_names_its_operation_and_comes_first(executor: str) -> None:
    plan = hr.Dataset.range(40).shuffle(40, seed=1).map(abs).shuffle(9, name="second").filter(bool)
    options = hr.Options(rank=0, world_size=2, executor=executor)
    iterator = iter(plan.distributed_batch(4, steps=2).with_options(options))
    with pytest.raises(InvalidArgumentError, match=r"^shuffle 'second': .* has no seed"):
        next(iterator)
    assert next(iterator, None) is None


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_a_state_has_the_seeds_that_no_rank_was_given(torch: Torch, executor: str) -> None:
    # Of a plan of its own, as in a process.
    def begun(rank: int, ranks: int, executor: str = "thread") -> hr.DatasetIterator:
        options = hr.Options(rank=rank, world_size=ranks, executor=executor)
        return iter(hr.Dataset.range(40).shuffle(40).distributed_batch(4, num_streams=4).with_options(options))

    states, rest = [], []
    for rank in range(4):
        iterator = begun(rank, 4)
        next(iterator)
        states.append(iterator.state_dict())
        rest.append([int(x) for batch in iterator for x in batch])
    alone = begun(0, 1, executor)
    alone.load_state_dict(hr.merge_states(states))
    assert [int(x) for batch in alone for x in batch] == [x for parts in zip(*rest, strict=True) for x in parts]
    assert torch.told == 1


def test_a_group_of_torchs_is_there_no_longer_than_torch_has_it(tensors: object, torch: Torch) -> None:
    group = Group()
    plan = hr.Dataset.range(40).filter(bool).distributed_batch(4, group=group)
    dataset = plan.with_options(hr.Options(rank=0, world_size=4))
    iterator = iter(dataset)
    group_there = weakref.ref(group)
    del group
    assert group_there() is None
    with pytest.raises(FailedPreconditionError, match=r"group= was destroyed.*before destroy_process_group"):
        next(iterator)
    with pytest.raises(FailedPreconditionError, match=r"distributed_batch.*group= was destroyed"):
        iter(dataset)


def test_jax_tells_where_it_is_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    from jax.experimental import multihost_utils

    told = list[Any]()

    def broadcast(own: Any) -> Any:
        told.append(own)
        return own * 0 + 1  # what rank 0 drew

    state = SimpleNamespace(client="a client", process_id=1, num_processes=4)
    monkeypatch.setitem(sys.modules, "jax._src.distributed", SimpleNamespace(global_state=state))
    monkeypatch.setattr(multihost_utils, "broadcast_one_to_all", broadcast)
    monkeypatch.setattr(telling, "_told", [])
    assert telling.shared_entropy(4) == telling.shared_entropy(4) == int.from_bytes(b"\x01" * 7, "little")
    assert len(told) == 1
