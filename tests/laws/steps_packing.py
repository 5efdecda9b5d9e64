"""Random steps that pack sequences, for the tests of the laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import Named, text, total

# The components of sequences up to this number are equally long, those of others perhaps not.
_EVEN = 12


def _sequence(shape: str) -> Any:
    def sequence(*element: Any) -> Any:
        number = total(element)
        tokens = np.arange(number % 6)
        if shape == "dict":
            return {"x": tokens, "y": np.full((number % 4, 2), number, dtype=np.float32)}
        if shape == "pair":
            return tokens, -tokens
        if shape == "uneven later":
            return {"x": tokens, "y": -tokens[: 2 if number > _EVEN else None]}
        if shape == "unlike":
            return tokens if number % 3 else (tokens.astype(np.float32), number)
        return tokens

    return sequence


def _sequences(ds: Any, shape: str) -> Any:
    if shape == "batches":  # which come in columns
        return ds.map(lambda *element: total(element)).batch(3)
    return ds.map(_sequence(shape))


def packing() -> st.SearchStrategy[Named]:
    """Everything that packs sequences."""
    shapes = st.sampled_from(["array", "dict", "pair", "unlike", "uneven later", "batches"])
    strategies = st.sampled_from(["first_fit", "best_fit", "concat_then_split"])
    lengths = st.one_of(st.integers(1, 7), st.integers(8, 40))  # rows of few sequences, and of many
    return st.tuples(shapes, lengths, strategies, st.integers(1, 3), st.booleans()).map(
        lambda a: (
            text("pack", *a),
            lambda ds: _sequences(ds, a[0]).pack(a[1], a[2], open_rows=a[3], truncate=a[4], padding_value=-1),
        )
    )
