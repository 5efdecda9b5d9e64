"""What one process of the job does: reads its part of each global batch, learns together with the others, saves, says so."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeAlias

import torch
from torch import distributed

import headrace as hr
from examples.elastic.documents import Files
from examples.elastic.model import Training
from examples.elastic.parent_watch import end_with_parent
from examples.elastic.pipeline import input_of, mix_of, row_hashes
from examples.elastic.saves import load, save

TOGETHER_S: Final = 60  # after so long without one of them the others give up


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a process is told: the same for all of a job, but for its rank."""

    rank: int
    world_size: int
    files: Files
    batch: int
    streams: int
    steps: int  # of the whole training
    seed: int
    until: int  # the step before which this job ends
    folder: Path  # of what the ranks of this job save, and of where they meet
    merged: Path | None  # where the job goes on from
    hold_at: int | None  # the step in the middle of which this rank waits: it is about to be killed


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A rank has loaded what it goes on from."""

    step: int
    load_s: float  # how long load_state_dict took


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A rank has its part of a global batch."""

    step: int
    rows: list[bytes]  # a hash of each
    mix: tuple[int, ...]  # bytes of each source


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A rank has learned from a batch, and saved that it has."""

    step: int
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """A rank is in the middle of a step, and stays there."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A rank could not go on."""

    reason: str


Message: TypeAlias = Began | Read | Saved | Holds | Failed


def work(task: Task, pipe: Connection) -> None:
    """The life of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the one that started them ends them
    end_with_parent()
    torch.set_num_threads(1)
    try:
        with _together(task):
            _train(task, pipe)
    except Exception as error:  # noqa: BLE001 - whatever it was, the job is told, and this process ends
        pipe.send(Failed(reason=f"{type(error).__name__}: {error}"))
        pipe.close()
        os._exit(1)  # not through the destructors of a group of which a member is gone: those wait for it


@contextlib.contextmanager
def _together(task: Task) -> Iterator[None]:
    # All processes are on this machine: they meet in a file, and talk over the loopback interface.
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    distributed.init_process_group(
        "gloo",
        init_method=(task.folder / "meeting").resolve().as_uri(),
        rank=task.rank,
        world_size=task.world_size,
        timeout=timedelta(seconds=TOGETHER_S),
    )
    yield
    distributed.barrier()  # or the first to end would be missed by those that still learn from the last batch
    distributed.destroy_process_group()


def _train(task: Task, pipe: Connection) -> None:
    training = Training(task.seed)
    dataset = input_of(task.files, batch=task.batch, streams=task.streams, steps=task.steps, seed=task.seed)
    with iter(dataset.with_options(hr.Options(seed=task.seed))) as batches:  # torch.distributed knows which rank it is
        first = _go_on(task, training, batches, pipe)
        for step in range(first, task.until):
            batch = next(batches)
            pipe.send(Read(step=step, rows=row_hashes(batch), mix=mix_of(batch)))
            loss = training.step(batch)
            if step == task.hold_at:
                pipe.send(Holds(step=step))
                threading.Event().wait()  # until it is killed, or the process that started it has gone
            save(task.folder, task.rank, batches.state_dict(), training.weights())
            pipe.send(Saved(step=step, loss=loss))


def _go_on(task: Task, training: Training, batches: Any, pipe: Connection) -> int:
    """Loads what an earlier job saved; returns the first step that is to be done."""
    if task.merged is None:
        pipe.send(Began(step=0, load_s=0))
        return 0
    state, weights = load(task.merged)
    began_s = perf_counter()
    batches.load_state_dict(state)
    load_s = perf_counter() - began_s
    training.load(weights)
    step: int = state["step"]
    pipe.send(Began(step=step, load_s=load_s))
    return step
