"""Which of a job's processes this one is, as frameworks know it that were initialised."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import headrace as hr
from headrace.ranks import Rank


def torch_of(rank: int, ranks: int, *, is_initialized: bool = True) -> SimpleNamespace:
    return SimpleNamespace(is_initialized=lambda: is_initialized, get_rank=lambda: rank, get_world_size=lambda: ranks)


def jax_of(rank: int, ranks: int, *, client: object = "a client") -> SimpleNamespace:
    return SimpleNamespace(global_state=SimpleNamespace(client=client, process_id=rank, num_processes=ranks))


TOLD = {"RANK": "5", "WORLD_SIZE": "6", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}


def test_torch_distributed_knows_before_jax_and_jax_before_launchers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax._src.distributed", jax_of(2, 3))
    monkeypatch.setitem(sys.modules, "torch.distributed", torch_of(3, 4, is_initialized=False))
    assert hr.ranks.current(environ=TOLD) == Rank(rank=2, world_size=3, local_rank=1, local_world_size=2)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch_of(3, 4))
    assert hr.ranks.current(environ=TOLD) == Rank(rank=3, world_size=4, local_rank=1, local_world_size=2)
    assert hr.ranks.current(rank=0, world_size=1, environ=TOLD).world_size == 1


def test_frameworks_that_are_not_initialised_know_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax._src.distributed", jax_of(0, 1, client=None))
    monkeypatch.setitem(sys.modules, "torch.distributed", SimpleNamespace())  # a build without it
    assert hr.ranks.current(environ=TOLD).rank == 5
    assert hr.ranks.current(environ={}) == Rank()


def test_nothing_is_imported_to_ask() -> None:
    program = "import sys, headrace as hr; hr.ranks.current(); print(sorted({'torch', 'jax'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_state_of_jax_has_the_names_that_are_read() -> None:
    pytest.importorskip("jax")
    from jax._src import distributed

    assert {"client", "process_id", "num_processes"} <= set(dir(distributed.global_state))
