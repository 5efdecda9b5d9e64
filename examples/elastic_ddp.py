"""DistributedDataParallel on four processes, one of which is killed; the job goes on with two, on the very batches.

    python examples/elastic_ddp.py

It needs PyTorch. Each rank saves where its input stands, beside the model, every few steps. The rank that is killed has not saved the last
of these, so the job goes on from the one before. Behind each step stands the hash of its global batch, as one process reads it that is
never stopped, and as the two runs of the job had it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

GLOBAL_BATCH = 24
FEATURES = 4
SAVE_EVERY = 3


def make_files(folder: Path, count: int = 12) -> None:
    """Writes CSV files of unequal length: a label and four numbers that tell it."""
    rng = np.random.default_rng(0)
    for number in range(count):
        features = rng.normal(size=(40 + 5 * number, FEATURES))
        rows = np.column_stack([features.sum(1) > 0, features])
        np.savetxt(folder / f"rows-{number:02}.csv", rows, fmt="%.4f", delimiter=",")


def pipeline(folder: Path) -> hr.Dataset:
    """Returns the batches of one rank. Nothing here says which rank it is, nor of how many."""

    def parse(line: str) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.array(line.split(","), np.float32)
        return numbers[1:], numbers[:1]

    files = hr.Dataset.list_files(str(folder / "*.csv"), seed=1)
    rows = files.interleave(hr.TextLineDataset, cycle_length=4).map(parse).filter(lambda x, y: bool(abs(x.sum()) > 0.1))
    # 12 streams: 12, 6, 4, 3, 2 ranks or one. No operation crosses streams, so none of them knows how many ranks there are.
    return rows.shuffle(96).repeat().distributed_batch(GLOBAL_BATCH, num_streams=12).with_options(hr.Options(seed=7))


def train(rank: int, ranks: int, folder: Path, run: Path, steps: int, dies_in_step: int | None) -> None:
    """Trains as one rank of the job, from the newest checkpoint on; a process of its own."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    # What torchrun and other launchers set.
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{run}/store-{ranks}", rank=rank, world_size=ranks)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    batches = pipeline(folder).to_torch()
    step = load(run, model, optimizer, batches)
    parallel = DistributedDataParallel(model)
    for features, labels in batches:
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(parallel(features), labels).backward()
        optimizer.step()
        step += 1
        tell(run, step, features.numpy())
        if rank == ranks - 1 and step == dies_in_step:
            os.kill(os.getpid(), signal.SIGKILL)
        if step % SAVE_EVERY == 0:
            save(run, step, rank, {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, batches)
        if step == steps:
            break
    dist.barrier()
    dist.destroy_process_group()


def save(run: Path, step: int, rank: int, trained: dict[str, Any], batches: Any) -> None:
    """Saves the part of a rank, each file whole or not at all: written beside, then renamed."""
    import torch

    # With the number of ranks, so that files of a job of another number are not taken for parts of this checkpoint.
    folder = run / f"step-{step:06}-of-{os.environ['WORLD_SIZE']}"
    folder.mkdir(exist_ok=True)
    if rank == 0:
        torch.save(trained, folder / "model.part")
        (folder / "model.part").replace(folder / "model.pt")
    (folder / f"{rank}.part").write_text(json.dumps(batches.state_dict()))
    (folder / f"{rank}.part").replace(folder / f"input-{rank}.json")


def load(run: Path, model: Any, optimizer: Any, batches: Any) -> int:
    """Loads the newest checkpoint to which all ranks came, and returns its step; it does not matter how many ranks they were."""
    import torch

    for folder in sorted(run.glob("step-*"), reverse=True):
        states = [json.loads(path.read_text()) for path in folder.glob("input-*.json")]
        try:
            merged = hr.merge_states(states)
            trained = torch.load(folder / "model.pt")
        except (hr.errors.InvalidArgumentError, FileNotFoundError):
            continue  # a rank died before it had saved: its streams are missing
        model.load_state_dict(trained["model"])
        optimizer.load_state_dict(trained["optimizer"])
        batches.load_state_dict(merged)
        return int(folder.name.split("-")[1])
    return 0


def tell(run: Path, step: int, rows: np.ndarray) -> None:
    """Writes the hash of a global batch: rank r of N has its rows ``[r::N]``."""
    import torch.distributed as dist

    parts: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(parts, rows)
    if dist.get_rank() == 0:
        with (run / "hashes.txt").open("a") as hashes:
            hashes.write(f"{step} {dist.get_world_size()} {hash_of(np.stack(parts, axis=1).reshape(-1, FEATURES))}\n")
    dist.barrier()


def hash_of(batch: np.ndarray) -> str:
    """Returns what only the same rows in the same order have."""
    return hashlib.sha256(batch.tobytes()).hexdigest()[:12]


def start(ranks: int, folder: Path, run: Path, steps: int, dies_in_step: int | None = None) -> None:
    """Runs the job on so many processes until it ends, or until one of them dies, which ends the others."""
    import torch.multiprocessing as mp

    multiprocessing.set_forkserver_preload(["torch.nn.parallel", "headrace"])  # imported once, and not by each rank
    try:
        mp.start_processes(train, (ranks, folder, run, steps, dies_in_step), nprocs=ranks, start_method="forkserver")
    except (mp.ProcessExitedException, mp.ProcessRaisedException):  # the killed one's, or of one that waited for it
        if dies_in_step is None:
            raise
        print(f"a rank of {ranks} was killed in step {dies_in_step}")


def hashes_of(run: Path) -> dict[int, list[tuple[str, str]]]:
    """Returns by step what each run of the job told: the hash and the number of ranks."""
    told: dict[int, list[tuple[str, str]]] = {}
    for line in (run / "hashes.txt").read_text().splitlines():
        step, ranks, digest = line.split()
        told.setdefault(int(step), []).append((digest, ranks))
    return told


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill a job of four ranks, and go on with two.")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--dies-in-step", type=int, default=9)
    args = parser.parse_args(argv)

    with tempfile.TemporaryDirectory() as place:
        folder, run = Path(place, "rows"), Path(place, "run")
        folder.mkdir()
        run.mkdir()
        make_files(folder)
        expected = [hash_of(features) for features, _ in pipeline(folder).take(args.steps)]
        start(4, folder, run, args.steps, args.dies_in_step)
        start(2, folder, run, args.steps)
        found = hashes_of(run)
    for step, digest in enumerate(expected, 1):
        print(f"step {step:2}: {digest}; {', '.join(f'{told} on {ranks}' for told, ranks in found[step])}")
    same = all(told == digest for step, digest in enumerate(expected, 1) for told, _ in found[step])
    print(f"{len(expected)} global batches, {'all the same' if same else 'NOT the same'}")


if __name__ == "__main__":
    main()
