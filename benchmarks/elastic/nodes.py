"""torchdata.nodes: a sampler of ranks for the numbers, a weighted sampler over sources; it has no filter and no shuffle in a window."""

from __future__ import annotations

from typing import Any

from elastic.asking import BATCH, NUMBERS, SOURCES, WEIGHTS, Open, Opening


def load() -> tuple[Opening, Opening]:
    from torchdata.nodes import Batcher, IterableWrapper, Loader, MultiNodeWeightedSampler, SamplerWrapper
    from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

    def numbers(rank: int, ranks: int, state: Any) -> Open:
        sampler = StatefulDistributedSampler(range(NUMBERS), num_replicas=ranks, rank=rank, seed=0)
        return opened(Batcher(SamplerWrapper(sampler), BATCH // ranks), state)

    def mixture(rank: int, ranks: int, state: Any) -> Open:
        sources = {str(at): IterableWrapper(list(source)[rank::ranks]) for at, source in enumerate(SOURCES)}
        weights = {str(at): weight for at, weight in enumerate(WEIGHTS)}
        mixed = MultiNodeWeightedSampler(
            sources, weights, stop_criteria="ALL_DATASETS_EXHAUSTED", rank=rank, world_size=ranks, seed=0
        )
        return opened(Batcher(mixed, BATCH // ranks, drop_last=False), state)

    def opened(node: Any, state: Any) -> Open:
        loader = Loader(node)
        if state is not None:
            loader.load_state_dict(state)
        return Open(iter(loader), loader.state_dict)

    return numbers, mixture
