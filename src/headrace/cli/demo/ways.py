"""The ways to feed the same training, as data: to add one is to add an entry to ``WAYS``.

A way turns a job into batches. Every way delivers each row ``epochs`` times, in batches that run on over the end of an
epoch, so all take the same number of steps. ``sequential`` and ``parallel`` are the same pipeline with and without
threads: by the first law of the design their batches are the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import numpy as np
from numpy.typing import NDArray

import headrace as hr
from headrace.cli.demo.csv_folder import CsvFolder
from headrace.cli.demo.feeding import BatchMaker, fed_batches, queued_batches
from headrace.cli.demo.naive import naive_batches
from headrace.cli.demo.stages import StageFigures, figures_of
from headrace.frozen import frozen

__all__ = ["SAME_LOSSES", "WAYS", "Batch", "Feed", "Job", "Way", "judged", "pipeline"]

Batch = tuple[NDArray[np.float32], NDArray[np.float32]]

# So many files are read in turn: enough to mix them, few enough to hold open.
CYCLE_LENGTH = 4
# So many rows are taken from a file at a time: reading on is cheaper than changing the file.
BLOCK_LENGTH = 16
# So many batches of rows are mixed, beside the order of the files: a buffer that holds the whole of an epoch would be
# filled again at the start of each, while the model waits.
SHUFFLED_BATCHES = 10


@frozen(kw_only=True)
class Job:
    """What is to be trained on.

    Attributes:
        folder: the files.
        epochs: how many times each row comes.
        batch_size: rows in a batch; the last may be smaller.
        seed: of the order of the rows.
        workers: threads of the parallel way; None leaves it to headrace.
    """

    folder: CsvFolder
    epochs: int = 2
    batch_size: int = 23
    seed: int = 0
    workers: int | None = None

    @property
    def steps(self) -> int:
        """How many batches there are."""
        return -(-self.folder.rows * self.epochs // self.batch_size)


@frozen
class Feed:
    """The batches of one run, with what there is to tell about where they come from.

    Attributes:
        batches: features (n × features) and labels (n × 1).
        stages: the figures of the pipeline's stages so far; none where there is no pipeline.
        plan: the pipeline as ``explain`` prints it, or nothing.
    """

    batches: Iterator[Batch]
    stages: Callable[[], tuple[StageFigures, ...]] = tuple
    plan: str = ""


@frozen(kw_only=True)
class Way:
    """One way to feed a training.

    Attributes:
        name: a word.
        meaning: half a sentence.
        feed: opens the way for a job; leaving the context ends all that it started.
    """

    name: str
    meaning: str
    feed: Callable[[Job], AbstractContextManager[Feed]]


def pipeline(job: Job, *, parallel: bool) -> hr.Dataset:
    """Returns the pipeline of the demo: rows of all files, mixed, shuffled, repeated and batched.

    Args:
        job: what to train on.
        parallel: whether files are parsed side by side and batches made ahead; they are the same.
    """
    calls = hr.AUTOTUNE if parallel else None
    # All columns but the last as one array: a thousand separate ones cost Python work each.
    columns = [np.zeros(job.folder.features, np.float32), np.float32(0)]

    def rows_of(path: str) -> hr.CsvDataset:
        return hr.CsvDataset(path, columns)

    def as_column(features: NDArray[np.float32], labels: NDArray[np.float32]) -> Batch:
        return features, labels[:, np.newaxis]

    batches = (
        hr.Dataset.list_files(job.folder.pattern, seed=job.seed)
        .interleave(rows_of, cycle_length=CYCLE_LENGTH, block_length=BLOCK_LENGTH, num_parallel_calls=calls)
        .shuffle(SHUFFLED_BATCHES * job.batch_size, seed=job.seed)
        .repeat(job.epochs)
        .batch(job.batch_size)
        .map(as_column)
    )
    if not parallel:
        return batches
    return batches.prefetch(hr.AUTOTUNE).with_options(hr.Options(num_workers=job.workers))


@contextmanager
def _naive(job: Job) -> Iterator[Feed]:
    yield Feed(naive_batches(job.folder, epochs=job.epochs, batch_size=job.batch_size))


def _maker(job: Job) -> BatchMaker:
    return BatchMaker(job.folder, epochs=job.epochs, batch_size=job.batch_size)


@contextmanager
def _feed(job: Job) -> Iterator[Feed]:
    yield Feed(fed_batches(_maker(job)))


@contextmanager
def _queue(job: Job) -> Iterator[Feed]:
    with queued_batches(_maker(job)) as batches:
        yield Feed(batches)


@contextmanager
def _sequential(job: Job) -> Iterator[Feed]:
    with _running(pipeline(job, parallel=False)) as feed:
        yield feed


@contextmanager
def _parallel(job: Job) -> Iterator[Feed]:
    with _running(pipeline(job, parallel=True)) as feed:
        yield feed


@contextmanager
def _running(dataset: hr.Dataset) -> Iterator[Feed]:
    with iter(dataset) as iterator:
        yield Feed(iterator, lambda: figures_of(iterator.stats()), dataset.explain())


WAYS: tuple[Way, ...] = (
    Way(name="naive", meaning="rows read and parsed by csv and float inside the loop", feed=_naive),
    Way(name="feed", meaning="one batch made by vectorised parsing, then fed, in the training thread", feed=_feed),
    Way(name="queue", meaning="the same batches, made ahead by 2 runner threads in a queue of capacity 5", feed=_queue),
    Way(name="sequential", meaning="a Dataset, one batch after the other", feed=_sequential),
    Way(name="parallel", meaning="the same Dataset with parallel parsing and prefetch", feed=_parallel),
)

# These train on the same batches in the same order, so their losses must be equal to the last bit.
SAME_LOSSES = ("sequential", "parallel")


def judged(way: str, job: Job, step: Callable[[Batch], object], seconds: float) -> str:
    """Returns why steps wait in a way that has a pipeline, in a sentence; nothing for the others.

    Args:
        way: its name.
        job: what is trained on.
        step: what learns from a batch.
        seconds: how long to look.
    """
    if way not in SAME_LOSSES:
        return ""
    return pipeline(job, parallel=way == "parallel").profile(step, seconds=seconds).verdict.text
