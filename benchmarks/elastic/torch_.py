"""torch's DataLoader as torchdata makes it stateful: a sampler of ranks for what has numbers, an IterableDataset for what has none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from elastic.asking import BATCH, NUMBERS, SOURCES, WEIGHTS, WINDOW, Open, Opening, kept


def load() -> tuple[Opening, Opening]:
    from torchdata.stateful_dataloader import StatefulDataLoader
    from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

    mixture_class = _mixture_class()

    def numbers(rank: int, ranks: int, state: Any) -> Open:
        data = range(NUMBERS)
        sampler = StatefulDistributedSampler(data, num_replicas=ranks, rank=rank, seed=0)
        return _opened(StatefulDataLoader(data, batch_size=BATCH // ranks, sampler=sampler, collate_fn=list), state)

    def mixture(rank: int, ranks: int, state: Any) -> Open:
        own = mixture_class(rank, ranks)
        return _opened(StatefulDataLoader(own, batch_size=BATCH // ranks, collate_fn=list), state)

    return numbers, mixture


def _opened(loader: Any, state: Any) -> Open:
    if state is not None:
        loader.load_state_dict(state)
    return Open(iter(loader), loader.state_dict)


def _mixture_class() -> Any:
    from torch.utils.data import IterableDataset

    class Mixture(IterableDataset):  # type: ignore[misc]  # torch is not read by mypy
        """What its documentation has one write: a rank's share of each source, with a place and a buffer that are saved."""

        def __init__(self, rank: int, ranks: int) -> None:
            self.sources = [list(source)[rank::ranks] for source in SOURCES]
            self.window = WINDOW // ranks
            self.rng = random.Random(0)
            self.read = [0] * len(SOURCES)
            self.buffer: list[int] = []

        def __iter__(self) -> Iterator[int]:
            while self._fill():
                yield self.buffer.pop(self.rng.randrange(len(self.buffer)))

        def _fill(self) -> int:
            while len(self.buffer) < self.window and (left := self._left()):
                source = self.rng.choices(left, [WEIGHTS[at] for at in left])[0]
                number = self.sources[source][self.read[source]]
                self.read[source] += 1
                self.buffer += [number] if kept(number) else []
            return len(self.buffer)

        def _left(self) -> list[int]:
            return [at for at, of in enumerate(self.sources) if self.read[at] < len(of)]

        def state_dict(self) -> dict[str, Any]:
            return {"rng": self.rng.getstate(), "read": list(self.read), "buffer": list(self.buffer)}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self.rng.setstate(state["rng"])
            self.read, self.buffer = list(state["read"]), list(state["buffer"])

    return Mixture
