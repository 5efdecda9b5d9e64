"""How each library reads the numbers with two workers, as its documentation has it done, in order, at its safest setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from faults.function import COUNT, DEADLINE_S

Function = Callable[[Any], int]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A library.

    Attributes:
        name: in the table.
        package: what must be installed.
        opened: opens the numbers, to which a function was applied; with a deadline where it has one.
    """

    name: str
    package: str
    opened: Callable[[Function], Iterator[Any]]


def _headrace(executor: str) -> Callable[[Function], Iterator[Any]]:
    def opened(function: Function) -> Iterator[Any]:
        import headrace as hr

        dataset = hr.Dataset.range(COUNT).map(function, num_parallel_calls=2)
        return iter(dataset.with_options(hr.Options(executor=executor, timeout_s=DEADLINE_S)))

    return opened


def _torch(function: Function) -> Iterator[Any]:
    from torch.utils.data import DataLoader

    return iter(DataLoader(_Numbers(function), batch_size=None, num_workers=2, timeout=DEADLINE_S))


class _Numbers:
    def __init__(self, function: Function) -> None:
        self._function = function

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, number: int) -> int:
        return self._function(number)


def _grain(function: Function) -> Iterator[Any]:
    import grain

    dataset = grain.MapDataset.source(range(COUNT)).map(function).to_iter_dataset()
    return iter(dataset.mp_prefetch(grain.multiprocessing.MultiprocessingOptions(num_workers=2)))


def _spdl(function: Function) -> Iterator[Any]:
    from spdl.pipeline import PipelineBuilder

    builder = PipelineBuilder().add_source(range(COUNT))
    builder.pipe(function, executor=ProcessPoolExecutor(2), concurrency=2, output_order="input").add_sink(2)
    pipeline = builder.build(num_threads=1, max_failures=0)
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


def _nodes(function: Function) -> Iterator[Any]:
    from torchdata.nodes import IterableWrapper, Loader, ParallelMapper

    return iter(Loader(ParallelMapper(IterableWrapper(range(COUNT)), function, num_workers=2, method="process")))


CONTESTANTS: dict[str, Contestant] = {
    "process": Contestant('headrace, executor="process"', "headrace", _headrace("process")),
    "subprocess": Contestant('headrace, executor="subprocess"', "headrace", _headrace("subprocess")),
    "torch": Contestant("torch DataLoader", "torch", _torch),
    "grain": Contestant("Grain", "grain", _grain),
    "spdl": Contestant("SPDL", "spdl", _spdl),
    "nodes": Contestant("torchdata.nodes", "torchdata", _nodes),
}
