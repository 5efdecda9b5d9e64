"""What the guide of ranks gives for other libraries does what it says."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.integration.processes import in_processes
from tests.pages.page import File, steps_of

import headrace as hr

GUIDE = Path(__file__).parents[2] / "docs/guide/ranks.md"


def rows(told: list[list[Any]]) -> list[list[int]]:
    """Returns the global batches of what each rank told."""
    return [[row for rows in zip(*parts, strict=True) for row in rows] for parts in zip(*told, strict=True)]


def numbers() -> hr.Dataset:
    ds = hr.Dataset.range(500).filter(lambda x: x % 7 != 0).shuffle(24, seed=5)
    return ds.distributed_batch(12, steps=6)


@pytest.fixture(name="environ")
def _environ(tmp_path: Path) -> dict[str, str]:
    """Has the files of the guide beside the programs."""
    for step in steps_of(GUIDE.read_text(encoding="utf-8")):
        if isinstance(step, File):
            (tmp_path / step.name).write_text(step.text, encoding="utf-8")
    return {"PLACE": str(tmp_path)}


GATHERED = """
    import itertools, json, multiprocessing, os, sys
    import torch.distributed as dist
    import headrace as hr
    from tests.integration.test_guide_of_ranks import numbers

    place = os.environ["PLACE"]
    sys.path.insert(0, place)
    from gathered import Gathered

    def job(rank, ranks):
        dist.init_process_group("gloo", init_method=f"file://{place}/store-{ranks}", rank=rank, world_size=ranks)
        loader = Gathered(numbers().with_options(hr.Options(rank=rank, world_size=ranks, seed=1)).to_torch())
        saved = f"{place}/saved.json"
        if os.path.exists(saved):
            with open(saved) as file:
                loader.load_state_dict(json.load(file))
        batches = iter(loader)
        told = [batch.tolist() for batch in itertools.islice(batches, 2 if ranks == 4 else 100)]
        with open(f"{place}/{ranks}-{rank}.json", "w") as file:
            json.dump(told, file)
        state = loader.state_dict()
        batches.close()
        if rank == 0:  # as trainers do
            with open(saved, "w") as file:
                json.dump(state, file)
        dist.barrier()
        dist.destroy_process_group()

    context = multiprocessing.get_context("fork")
    for ranks in (4, 2):
        processes = [context.Process(target=job, args=(rank, ranks)) for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            assert process.exitcode == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes of this job are forks")
def test_what_rank_0_saves_of_a_gathered_loader_is_loaded_by_any_number_of_ranks(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    pytest.importorskip("torch")
    in_processes(GATHERED, 1, environ)
    found = []
    for ranks in (4, 2):
        found += rows([json.loads((tmp_path / f"{ranks}-{rank}.json").read_text()) for rank in range(ranks)])
    assert found == [batch.tolist() for batch in numbers().with_options(hr.Options(seed=1))]
    assert len(found) == 6


ORBAX = """
    import itertools, os, sys
    import jax
    if os.environ["WORLD_SIZE"] != "1":
        jax.distributed.initialize(os.environ["COORDINATOR"], int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
    import orbax.checkpoint as ocp
    import headrace as hr
    from tests.integration.test_guide_of_ranks import numbers

    sys.path.insert(0, os.environ["PLACE"])
    from orbax_streams import Streams

    loader = numbers().with_options(hr.Options(rank=jax.process_index(), world_size=jax.process_count(), seed=1)).to_jax()
    args = ocp.args.Composite(input=Streams(hr.ShardedState(loader)))
    with ocp.CheckpointManager(os.environ["PLACE"] + "/saved") as manager:
        if manager.latest_step() is not None:
            manager.restore(manager.latest_step(), args=args)
        batches = iter(loader)
        print("told", [batch.tolist() for batch in itertools.islice(batches, 2 if jax.process_count() > 1 else 100)])
        manager.save(2 if manager.latest_step() is None else 6, args=args)
    batches.close()
"""


def test_an_item_of_orbax_that_two_processes_saved_is_restored_by_one(environ: dict[str, str]) -> None:
    pytest.importorskip("orbax.checkpoint", reason="pip install orbax-checkpoint")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        environ["COORDINATOR"] = f"127.0.0.1:{free.getsockname()[1]}"
    found = []
    for ranks in (2, 1):
        found += rows([batches for (batches,) in in_processes(ORBAX, ranks, environ)])
    assert found == [batch.tolist() for batch in numbers().with_options(hr.Options(seed=1))]
    assert len(found) == 6
