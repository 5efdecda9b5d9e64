"""Steps that deal elements to ranks, of which a plan here has one: then they are as a batch is, for every law."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.elements import Named, text

import headrace as hr


def dealing() -> st.SearchStrategy[Named]:
    """Global batches of few streams; what would mean the whole dataset behind one of them refuses to be built."""
    return st.tuples(
        st.sampled_from([1, 2, 3]),
        st.sampled_from([1, 2]),
        st.sampled_from(["drop", "pad", "uneven"]),
        st.sampled_from([None, 2]),
    ).map(lambda a: (text("distributed_batch", *a), lambda ds: dealt(ds, *a)))


def dealt(dataset: hr.Dataset, streams: int, each: int, end: str, steps: int | None) -> hr.Dataset:
    return dataset.distributed_batch(streams * each, num_streams=streams, end=end, steps=steps)
