"""The input of a job in PyTorch's distributed checkpoint, saved by four processes and loaded by other numbers of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.integration.processes import in_processes

import headrace as hr

pytest.importorskip("torch")
if not hasattr(os, "fork"):
    pytest.skip("the processes of this job are forks", allow_module_level=True)

STEPS = 8

# Four processes take three steps and save; two load, and take what is left; then three, of what two had saved at once.
JOB = """
    import itertools, json, multiprocessing, os
    import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
    import headrace as hr
    from tests.integration.test_torch_checkpoint import per_stream, whole

    def job(rank, ranks, steps, load, save):
        place = os.environ["PLACE"]
        dist.init_process_group("gloo", init_method=f"file://{place}/store-{ranks}", rank=rank, world_size=ranks)
        options = hr.Options(rank=rank, world_size=ranks, seed=1)
        feeds = {name: make().with_options(options).to_torch() for name, make in [("streams", per_stream), ("whole", whole)]}
        model = torch.nn.Linear(1, 1)
        state = {"model": model.state_dict(), **{name: hr.ShardedState(feed) for name, feed in feeds.items()}}
        if load:
            dcp.load(state, checkpoint_id=f"{place}/{load}")
        batches = {name: iter(feed) for name, feed in feeds.items()}
        told = {name: [batch.tolist() for batch in itertools.islice(batches[name], steps)] for name in feeds}
        with open(f"{place}/{ranks}-{rank}.json", "w") as file:
            json.dump(told, file)
        if save:
            dcp.save(state, checkpoint_id=f"{place}/{save}")
        for iterator in batches.values():
            iterator.close()
        dist.destroy_process_group()

    torch.set_num_threads(1)
    context = multiprocessing.get_context("fork")
    for ranks, *rest in [(4, 3, None, "first"), (2, 2, "first", "second"), (3, 100, "second", None)]:
        processes = [context.Process(target=job, args=(rank, ranks, *rest)) for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            assert process.exitcode == 0
"""


def per_stream() -> hr.Dataset:
    ds = hr.Dataset.range(240).filter(lambda x: x % 7 != 0).shuffle(24, seed=5)
    return ds.distributed_batch(12, steps=STEPS)


def whole() -> hr.Dataset:
    return hr.Dataset.range(240).shuffle(100, seed=5).distributed_batch(12, steps=STEPS)


def test_a_checkpoint_of_any_number_of_ranks_is_loaded_by_any_other(tmp_path: Path) -> None:
    in_processes(JOB, 1, {"PLACE": str(tmp_path)})
    for name, dataset in [("streams", per_stream()), ("whole", whole())]:
        found: list[list[int]] = []
        for ranks in (4, 2, 3):
            told = [json.loads((tmp_path / f"{ranks}-{rank}.json").read_text())[name] for rank in range(ranks)]
            found += ([row for rows in zip(*parts, strict=True) for row in rows] for parts in zip(*told, strict=True))
        assert found == [batch.tolist() for batch in dataset.with_options(hr.Options(seed=1))]
        assert len(found) == STEPS
