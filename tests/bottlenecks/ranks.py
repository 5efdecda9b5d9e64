"""Two processes that step together, of which one has slow data: what each of them is told."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tests.bottlenecks.measuring import Measured
from tests.integration.processes import in_processes

import headrace as hr

__all__ = ["measured_ranks", "verdict_of_rank"]

RANKS: Final = 2


def measured_ranks(number: int, seconds: float) -> Measured:
    """Returns what all ranks say of which each waits for the one that is slow."""
    late, slow_s = number % RANKS, [2e-3, 5e-3][number // RANKS % 2]
    with tempfile.TemporaryDirectory() as folder:
        program = (
            "from tests.bottlenecks.ranks import verdict_of_rank\n"
            f"print('told', verdict_of_rank({str(Path(folder) / 'store')!r}, {late}, {slow_s}, {seconds}))"
        )
        told = [verdict for (verdict,) in in_processes(program, RANKS)]
    is_right = all(cause == "rank" and f"rank {late}," in text and "fetch" in stage for cause, stage, text in told)
    cause, stage, text = told[1 - late]
    return Measured("rank", cause, stage, is_right, None, None, f"{text} [late={late} slow_s={slow_s}]")


def verdict_of_rank(store: str, late: int, slow_s: float, seconds: float) -> list[Any]:
    """Returns what this rank is told, in a process of its own."""
    import torch
    import torch.distributed as dist

    rank = hr.ranks.current().rank
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)

    def fetch(x: Any) -> Any:
        time.sleep(slow_s if rank == late else slow_s / 20)
        return x

    def step(_: Any) -> None:
        time.sleep(4 * slow_s)
        dist.all_reduce(torch.ones(1))

    ds = hr.Dataset.range(200_000).distributed_batch(RANKS * 16, num_streams=RANKS).unbatch().map(fetch).batch(16)
    verdict = ds.prefetch(2).profile(step, seconds=seconds, group=True).verdict
    dist.destroy_process_group()
    return [verdict.cause, verdict.stage, verdict.text]
