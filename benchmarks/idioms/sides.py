"""The sides of a case: what each is called, which process runs it, and how its epoch begins.

headrace runs each program five times: as it is written, the same once more, and with what every guide says to add. What the
second differs from the first is the noise of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final, TypeAlias
from unittest import mock

from idioms.case import SAME, Case, Data

PLAIN: Final = "plain"
OURS: Final = "headrace"
TFDATA: Final = "tfdata"
TORCH: Final = "torch"
# headrace's program a second time, and with one thing added.
AGAIN: Final = "headrace.again"
PREFETCH_1: Final = "headrace.prefetch(1)"
PREFETCH_2: Final = "headrace.prefetch(2)"
AUTOTUNED: Final = "headrace.AUTOTUNE"
VARIANTS: Final = (PREFETCH_1, PREFETCH_2, AUTOTUNED)
PEERS: Final = (TFDATA, TORCH)
# What is only compared with headrace's program.
BESIDE_OURS: Final = (AGAIN, *VARIANTS)
SIDES: Final = (PLAIN, OURS, *BESIDE_OURS, *PEERS)

Epoch: TypeAlias = Callable[[], Iterable[Any]]


class NotThereError(Exception):
    """The side has no such program, or what would be added does not apply."""


def process_of(side: str) -> str:
    """Which process runs a side: one for each library, so that none disturbs another."""
    return side.partition(".")[0]


def epoch_of(side: str, case: Case, data: Data) -> Epoch:
    """Build a side's program; what is returned begins an epoch."""
    if side == PLAIN:
        return lambda: case.plain(data)
    if side == TORCH:
        if case.torch is None:
            raise NotThereError
        return _started(case.torch(import_module("torch"), data))
    if side == TFDATA:
        return _started(_of_tfdata(case, data))
    return _started(_of_headrace(side, case, data))


def _started(program: Any) -> Epoch:
    return program if callable(program) else lambda: program


def _of_tfdata(case: Case, data: Data) -> Any:
    if case.tfdata is None:
        raise NotThereError
    tf = import_module("tensorflow")
    if case.tfdata is not SAME:
        return case.tfdata(tf, data)  # type: ignore[operator]  # what is not the mark is a program
    return case.ours(tfdata_words(tf), data)


def tfdata_words(tf: Any) -> SimpleNamespace:
    """What headrace has at its top, where TensorFlow has it."""
    readers = ("FixedLengthRecordDataset", "TextLineDataset", "TFRecordDataset")
    return SimpleNamespace(
        Dataset=tf.data.Dataset,
        AUTOTUNE=tf.data.AUTOTUNE,
        TensorSpec=tf.TensorSpec,
        CsvDataset=tf.data.experimental.CsvDataset,
        **{name: getattr(tf.data, name) for name in readers},
    )


def _of_headrace(side: str, case: Case, data: Data) -> Any:
    hr = import_module("headrace")
    if side in {OURS, AGAIN}:
        return case.ours(hr, data)
    if side == AUTOTUNED:
        with _everything_parallel(hr) as asked:
            program = case.ours(hr, data)
        if not asked:
            raise NotThereError
        return program
    program = case.ours(hr, data)
    if not isinstance(program, hr.Dataset):
        raise NotThereError
    return program.prefetch(1 if side == PREFETCH_1 else 2)


@contextmanager
def _everything_parallel(hr: Any) -> Iterator[list[str]]:
    """Has operations that take `num_parallel_calls` and were given none take AUTOTUNE; tells which there were."""
    asked: list[str] = []

    def parallel(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def called(dataset: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("num_parallel_calls") is None:
                asked.append(name)
                kwargs["num_parallel_calls"] = hr.AUTOTUNE
            return method(dataset, *args, **kwargs)

        return called

    with ExitStack() as patches:
        for name in ("map", "random_map", "interleave", "batch"):
            changed = parallel(name, getattr(hr.Dataset, name))
            patches.enter_context(mock.patch.object(hr.Dataset, name, changed))
        yield asked
