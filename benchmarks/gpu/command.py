"""Trains the documents' jobs on a GPU, their input in four forms, and prints how busy it was; then brings batches to it.

python benchmarks/gpu
python benchmarks/gpu --jobs alexnet --seconds 10
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from gpu.feeding import fed
from gpu.jobs import JOBS, Job
from gpu.training import moved, step_s, trained

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is asked for; returns the exit status."""
    names = [job.name for job in JOBS]
    parser = argparse.ArgumentParser(prog="gpu", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", nargs="*", choices=names, default=names, help="which of them (default: all)")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each form is trained on (default: 4)")
    parser.add_argument("--mebibytes", type=int, nargs="*", default=[1, 16, 64], help="in a batch that is fed")
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("gpu: PyTorch sees no GPU here", file=sys.stderr)
        return 1
    print(f"{torch.cuda.get_device_name()}, {os.cpu_count()} cores, PyTorch {torch.__version__}\n", flush=True)
    print("| job | a step alone | input | steps a second | GPU busy | nvidia-smi |")
    print("| --- | ---: | --- | ---: | ---: | ---: |", flush=True)
    for job in JOBS:
        if job.name in options.jobs:
            for line in _rows(job, options.seconds):
                print(line, flush=True)
    print(
        "\n| a batch | how | GB/s | a step beside it | the step alone |\n| ---: | --- | ---: | ---: | ---: |",
        flush=True,
    )
    for size in options.mebibytes:
        for one in fed(size):
            print(
                f"| {one.mebibytes} MiB | {one.how} | {one.copied_gb_per_s:.1f} | {one.beside_s * 1e3:.2f} ms | {one.computing_s * 1e3:.2f} ms |",
                flush=True,
            )
    return 0


def _rows(job: Job, seconds: float) -> Iterator[str]:
    training = job.training()
    batch = next(moved(job.naive()))
    alone_s = step_s(training, batch)
    naive, loader = job.naive(), job.loader()
    feeds: dict[str, Any] = {
        "as written first, `.cuda()`": lambda: moved(naive),
        "torch's `DataLoader`, a worker a core, pinned": lambda: moved(loader),
        '`AUTOTUNE`, `to_torch("cuda")`': _same(job.parallel().to_torch("cuda")),
        "… and `cache()`": _same(job.cached().to_torch("cuda")),
    }
    first = f"{job.name} | {alone_s * 1e3:.2f} ms"
    for words, epoch in feeds.items():
        found = trained(training, _epochs(epoch), alone_s, seconds)
        shown = "" if found.shown is None else f"{found.shown:.0%}"
        yield f"| {first} | {words} | {found.steps_per_s:,.0f} | {found.busy:.0%} | {shown} |"
        first = " | "


def _same(feed: Iterable[Any]) -> Any:
    return lambda: feed


def _epochs(epoch: Any) -> Iterator[Iterable[Any]]:
    return (epoch() for _ in itertools.count())
