"""Steps that keep elements on disk, each time in a folder that was not there before."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st
from tests.laws.elements import Named, folder, total

import headrace as hr

_numbers = itertools.count()


def _cached(dataset: hr.Dataset) -> hr.Dataset:
    return dataset.cache(folder() / f"cache {next(_numbers)}")


def saved(count: int) -> hr.Dataset:
    """Elements that were written to two files, and are read from there."""
    place = folder() / f"saved {count}"
    if not (place / "metadata.json").exists():
        hr.Dataset.range(count).map(lambda x: (x, str(x))).save(place, shard_func=lambda x, _: x % 2)
    return hr.Dataset.load(place)


def storing() -> st.SearchStrategy[Named]:
    """Caches on disk; what has no bytes is kept from them, as their own tests see to it."""
    return st.sampled_from(
        [
            ("cache(folder).repeat(2)", lambda ds: _cached(ds.map(_storable)).repeat(2)),
            ("cache(folder)", lambda ds: _cached(ds.map(_storable))),
        ]
    )


def _storable(*element: object) -> object:
    parts = [total(part) % 1000 for part in element]  # an int beyond 64 bits has no bytes
    return sum(parts), parts if len(element) < 4 else str(parts)
