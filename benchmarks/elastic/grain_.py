"""Grain: slices of a dataset by rank, and its ElasticIterator, which is made for other numbers of ranks."""

from __future__ import annotations

from typing import Any

from elastic.asking import BATCH, NUMBERS, SOURCES, WEIGHTS, WINDOW, Open, Opening, kept


def _datasets() -> tuple[Any, Any]:
    import grain

    numbers = grain.MapDataset.source(range(NUMBERS)).shuffle(seed=0)
    sources = [grain.MapDataset.source(list(source)) for source in SOURCES]
    return numbers, grain.MapDataset.mix(sources, list(WEIGHTS)).filter(kept)


def load_slices() -> tuple[Opening, Opening]:
    from grain import experimental

    numbers, mixture = _datasets()

    def of_numbers(rank: int, ranks: int, state: Any) -> Open:
        return _opened(numbers[rank::ranks].to_iter_dataset().batch(BATCH // ranks), state)

    def of_mixture(rank: int, ranks: int, state: Any) -> Open:
        own = mixture[rank::ranks].to_iter_dataset()
        shuffled = experimental.WindowShuffleIterDataset(own, window_size=WINDOW // ranks, seed=0)
        return _opened(shuffled.batch(BATCH // ranks), state)

    return of_numbers, of_mixture


def load_elastic() -> tuple[Opening, Opening]:
    numbers, mixture = _datasets()
    return _elastic(numbers), _elastic(mixture)


def _elastic(dataset: Any) -> Opening:
    from grain.experimental import ElasticIterator
    from grain.sharding import ShardOptions

    def opening(rank: int, ranks: int, state: Any) -> Open:
        return _opened(ElasticIterator(dataset, BATCH, ShardOptions(shard_index=rank, shard_count=ranks)), state)

    return opening


def _opened(dataset: Any, state: Any) -> Open:
    batches = iter(dataset)
    if state is not None:
        batches.set_state(state)
    return Open(batches, batches.get_state)
