"""Work *tokens*: texts become rows of numbers, by a function that is Python alone.

32,000 texts of 60 to 100 words, parted into the longest pieces that a vocabulary has, as WordPiece does it, cut or filled to 128 numbers, batches
of 64, in order. A text takes a few tenths of a millisecond in which nothing lets another thread in but the interpreter itself, so threads gain
nothing and processes all that they do not spend on what crosses. The limit is the same function in two processes that hand nothing over: what
the machine's two cores give beside one (``limit_one_core``), which is less than twice as much where they are threads of one.
"""

from __future__ import annotations

import mmap
import multiprocessing
import random
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError
from works.file_pipelines import grain_epoch, spdl_epoch, torch_epoch, torchdata_epoch

TEXTS: Final = 32_000
BATCH: Final = 64
LENGTH: Final = 128
SEED: Final = 0
LETTERS: Final = "etaoinshrdlucmfw"

Row: TypeAlias = npt.NDArray[np.int32]


def _vocabulary() -> dict[str, int]:
    rng = random.Random(SEED)
    pieces = {*LETTERS}
    while len(pieces) < 4_000:
        pieces.add("".join(rng.choices(LETTERS, k=rng.randint(2, 5))))
    return {piece: number for number, piece in enumerate(sorted(pieces), 1)}


VOCABULARY: Final = _vocabulary()
LONGEST: Final = max(map(len, VOCABULARY))


def tokenize(text: str) -> Row:
    """The numbers of the longest pieces, from left to right."""
    found: list[int] = []
    for word in text.split(" "):
        start = 0
        while start < len(word):
            stop = min(len(word), start + LONGEST)
            while word[start:stop] not in VOCABULARY:
                stop -= 1
            found.append(VOCABULARY[word[start:stop]])
            start = stop
    return np.array((found + [0] * LENGTH)[:LENGTH], np.int32)


def load(examples: int) -> list[str]:
    """The texts."""
    rng = random.Random(SEED + 1)
    return [
        " ".join("".join(rng.choices(LETTERS, k=rng.randint(2, 9))) for _ in range(rng.randint(60, 100)))
        for _ in range(examples)
    ]


def limit(texts: list[str]) -> Epoch:
    """The function in 2 processes made by fork, each with every other batch, that write their rows into memory of both."""
    fork = multiprocessing.get_context("fork")
    rows = np.frombuffer(mmap.mmap(-1, len(texts) * LENGTH * 4), np.int32).reshape(-1, LENGTH)

    def fill(first: int) -> None:
        for start in range(first, len(texts), 2 * BATCH):
            rows[start : start + BATCH] = [tokenize(text) for text in texts[start : start + BATCH]]

    def epoch() -> Iterator[Batch]:
        both = [fork.Process(target=fill, args=(first,)) for first in (0, BATCH)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        for start in range(0, len(texts), BATCH):
            yield rows[start : start + BATCH]

    return epoch


def limit_one_core(texts: list[str]) -> Epoch:
    """The function in one thread, and numpy.stack."""

    def epoch() -> Iterator[Batch]:
        for start in range(0, len(texts), BATCH):
            yield np.stack([tokenize(text) for text in texts[start : start + BATCH]])

    return epoch


def headrace_threads(texts: list[str]) -> Epoch:
    """from_tensor_slices, map with 2 parallel calls, batch, prefetch, in threads."""
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(texts).map(tokenize, num_parallel_calls=2).batch(BATCH).prefetch(2)
    return lambda: dataset


def headrace_process(texts: list[str]) -> Epoch:
    """The same with map(executor="process"): 2 processes."""
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(texts).map(tokenize, num_parallel_calls=2, executor="process")
    dataset = dataset.batch(BATCH).prefetch(2)
    return lambda: dataset


def headrace_autotune(texts: list[str]) -> Epoch:
    """The same with map(num_parallel_calls=AUTOTUNE, executor="process")."""
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(texts).map(tokenize, num_parallel_calls=hr.AUTOTUNE, executor="process")
    dataset = dataset.batch(BATCH).prefetch(2)
    return lambda: dataset


def headrace_subprocess(texts: list[str]) -> Epoch:
    """from_tensor_slices, map, batch, prefetch, with Options(executor="subprocess"): 1 process."""
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(texts).map(tokenize).batch(BATCH).prefetch(2)
    return lambda: dataset.with_options(hr.Options(executor="subprocess"))


def tfdata(texts: list[str]) -> Epoch:
    """from_tensor_slices, map(numpy_function), batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")

    def called(text: Any) -> Any:
        row = tf.numpy_function(lambda one: tokenize(one.decode()), [text], tf.int32, stateful=False)
        return tf.ensure_shape(row, (LENGTH,))

    dataset = tf.data.Dataset.from_tensor_slices(texts).map(called, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    return dataset.as_numpy_iterator  # type: ignore[no-any-return]  # tensorflow is imported by name


def torch_0(texts: list[str]) -> Epoch:
    """DataLoader over a map-style dataset, no workers."""
    return torch_epoch(texts, tokenize, BATCH, workers=0)


def torch_2(texts: list[str]) -> Epoch:
    """DataLoader over a map-style dataset, 2 persistent workers."""
    return torch_epoch(texts, tokenize, BATCH, workers=2)


def grain(texts: list[str]) -> Epoch:
    """MapDataset: source, batch; read by 2 threads."""
    return grain_epoch(texts, tokenize, BATCH)


def spdl(texts: list[str]) -> Epoch:
    """Pipeline: a source of texts, pipe(tokenize) in 2 threads, aggregate, pipe(stack); no hooks."""
    return spdl_epoch(texts, tokenize, BATCH)


def torchdata(texts: list[str]) -> Epoch:
    """Nodes: IterableWrapper, ParallelMapper with 2 threads, Batcher, Mapper, Prefetcher."""
    return torchdata_epoch(texts, tokenize, BATCH)


def _verify_order(texts: list[str], firsts: list[float]) -> None:
    if firsts != [float(tokenize(text)[0]) for text in texts[::BATCH]]:
        raise WrongResultError("the texts did not come in order")


WORK: Final[Work[list[str]]] = Work(
    name="tokens",
    title="32,000 texts of 60 to 100 words into 128 numbers each, by a function that is Python alone, batches of 64",
    full=TEXTS,
    probe=4 * BATCH,
    batch_size=BATCH,
    make=lambda folder: None,
    load=lambda folder, examples: load(examples),
    size=len,
    first=lambda batch: float(batch[0, 0]),
    total=lambda batch: float(np.asarray(batch).sum(dtype=np.int64)),
    expected_total=lambda texts: float(sum(int(tokenize(text).sum(dtype=np.int64)) for text in texts)),
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=limit_one_core, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=headrace_threads, library="headrace", module="headrace"),
        Candidate(prepare=headrace_process, library="headrace", module="headrace"),
        Candidate(prepare=headrace_autotune, library="headrace", module="headrace"),
        Candidate(prepare=headrace_subprocess, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
    ),
)
