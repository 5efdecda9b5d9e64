"""Hugging Face datasets: iterable datasets, split by node; they are shuffled in a window, numbers too."""

from __future__ import annotations

from typing import Any

from elastic.asking import BATCH, NUMBERS, SOURCES, WEIGHTS, WINDOW, Open, Opening, kept


def load() -> tuple[Opening, Opening]:
    from datasets import IterableDataset, interleave_datasets
    from datasets.distributed import split_dataset_by_node

    def source(numbers: Any) -> Any:
        # 24 shards: each of 8 and of 6 ranks has its own.
        def shards(parts: list[Any]) -> Any:
            for part in parts:
                yield from ({"number": number} for number in part)

        return IterableDataset.from_generator(shards, gen_kwargs={"parts": [list(numbers)[at::24] for at in range(24)]})

    def numbers(rank: int, ranks: int, state: Any) -> Open:
        return opened(source(range(NUMBERS)).shuffle(seed=0, buffer_size=WINDOW // ranks), rank, ranks, state)

    def mixture(rank: int, ranks: int, state: Any) -> Open:
        mixed = interleave_datasets(
            [source(of) for of in SOURCES],
            probabilities=list(WEIGHTS),
            seed=0,
            stopping_strategy="all_exhausted_without_replacement",
        )
        kept_only = mixed.filter(lambda element: kept(element["number"]))
        return opened(kept_only.shuffle(seed=0, buffer_size=WINDOW // ranks), rank, ranks, state)

    def opened(dataset: Any, rank: int, ranks: int, state: Any) -> Open:
        own = split_dataset_by_node(dataset, rank=rank, world_size=ranks).batch(BATCH // ranks)
        if state is not None:
            own.load_state_dict(state)
        return Open((batch["number"] for batch in own), own.state_dict)

    return numbers, mixture
