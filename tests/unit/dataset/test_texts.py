"""Texts of a fixed length and arrays with an empty axis, in every operation."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.testing.restoring import check_every_restore_point, same

data = hr.Dataset

FIXED: dict[str, np.ndarray] = {
    "str": np.array(["a", "bcd"]),
    "bytes": np.array([b"a", b"bcd"]),
    "StringDType": np.array(["a", "bcd"], np.dtypes.StringDType()),
}


def objects(*values: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array if shape is None else array.reshape(shape)


def ragged(texts: np.ndarray) -> hr.Dataset:
    """Zero to two of the texts, in arrays of their own lengths."""
    return data.range(3).map(lambda n: np.array(texts[:n].tolist(), texts.dtype if n < 1 else None))


OPERATIONS: dict[str, Callable[[np.ndarray], hr.Dataset]] = {
    "from_tensors": data.from_tensors,
    "from_tensor_slices": lambda texts: data.from_tensor_slices(texts.reshape(1, 2)),
    "map": lambda texts: data.range(1).map(lambda _: texts),
    "source": lambda texts: data.source([texts]),
    "generator": lambda texts: data.from_generator(lambda: iter([texts])),
    "batch": lambda texts: data.from_tensors(texts).batch(1).map(lambda batch: batch[0]),
    "batch of scalars": lambda texts: data.range(2).map(lambda n: texts[n]).batch(2),
    "batch of several lengths": lambda texts: (
        data.range(2).map(lambda n: np.array(texts[n : n + 1].tolist())).batch(2).map(np.ravel)
    ),
    "padded_batch": lambda texts: data.from_tensors(texts).padded_batch(1, padding_values="?").unbatch(),
    "ragged_batch": lambda texts: ragged(texts).skip(1).ragged_batch(1).skip(1).map(lambda rows: rows.values),
    "unbatch": lambda texts: data.from_tensors(texts).unbatch().batch(2),
    "rebatch": lambda texts: data.from_tensors(texts).rebatch(1).rebatch(2),
    "window": lambda texts: data.from_tensors(texts).window(1).flat_map(lambda window: window),
    "concatenate": lambda texts: data.from_tensors(texts).concatenate(data.from_tensors(texts[:1])).take(1),
    "group_by_window": lambda texts: data.from_tensors(texts).group_by_window(
        lambda _: 0, lambda _, group: group.batch(1).unbatch(), window_size=1
    ),
    "shuffle": lambda texts: data.from_tensors(texts).shuffle(2),
    "cache": lambda texts: data.from_tensors(texts).cache(),
    "scan": lambda texts: data.range(1).scan(texts, lambda state, _: (state, state)),
}


@pytest.mark.parametrize("kind", sorted(FIXED))
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_texts_of_a_fixed_length_are_texts_like_others(operation: str, kind: str) -> None:
    dataset = OPERATIONS[operation](FIXED[kind])
    (came,) = dataset
    assert same(came, objects(*FIXED[kind].tolist()))
    check_every_restore_point(dataset, executors=("thread", "inline"))


@pytest.mark.parametrize("kind", sorted(FIXED))
def test_texts_of_a_fixed_length_are_the_same_from_a_cache_and_a_save(kind: str, tmp_path: pathlib.Path) -> None:
    dataset = ragged(FIXED[kind])
    expected = list(dataset)
    cached = dataset.cache(tmp_path / "cache")
    dataset.save(tmp_path / "saved")
    for again in (cached, cached, data.load(tmp_path / "saved")):
        assert all(map(same, again, expected))


@pytest.mark.parametrize("given", ["?", b"?"], ids=repr)
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("kind", sorted(FIXED))
def test_a_padding_value_takes_the_kind_of_its_texts(kind: str, fixed: bool, given: Any) -> None:
    texts = FIXED[kind] if fixed else FIXED[kind].astype(object)
    dataset = data.range(1, 3).map(lambda n: texts[:n]).padded_batch(2, padding_values=given)
    filler = b"?" if kind == "bytes" else "?"
    a, bcd = FIXED[kind].tolist()
    (came,) = dataset
    assert same(came, objects(a, filler, a, bcd, shape=(2, 2)))


@pytest.mark.parametrize("text", ["ab", b"ab", ""], ids=repr)
def test_a_text_in_an_array_without_axes_is_that_text(text: Any, tmp_path: pathlib.Path) -> None:
    dataset = data.range(2).map(lambda _: {"a": np.array(text)})
    for again in (dataset, dataset.cache(tmp_path), dataset.cache(tmp_path)):
        assert all(same(element, {"a": text}) for element in again)


def test_an_array_of_characters_is_one_of_texts_and_a_padding_value_that_is_no_text_is_refused() -> None:
    (came,) = data.from_tensors(np.char.array(["a", "b"]))
    assert type(came) is np.ndarray
    assert same(came, objects("a", "b"))
    with pytest.raises(hr.errors.HeadraceError, match="no text in UTF-8"):
        list(data.range(1, 3).map(lambda n: np.array(["x"] * n)).padded_batch(2, padding_values=b"\xff"))


def test_a_nul_at_the_end_of_bytes_stays_beside_bytes_of_a_fixed_length() -> None:
    elements = [np.array([b"ab"]), [b"c\0"], objects(b"\0")]
    (batch,) = data.range(3).map(lambda n: {"a": elements[n]}).batch(3)
    assert batch["a"].tolist() == [[b"ab"], [b"c\0"], [b"\0"]]


@pytest.mark.parametrize("dtype", ["<U3", "S3", object, np.float32, "M8[s]", bool], ids=str)
@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 3), (2, 3, 0), (2, 0), (0,)])
def test_an_axis_may_be_empty(shape: tuple[int, ...], dtype: Any, tmp_path: pathlib.Path) -> None:
    whole = np.zeros(shape, dtype)
    kept = np.dtype(object) if whole.dtype.kind in "US" else whole.dtype
    slices = data.from_tensor_slices(whole)
    spec = hr.TensorSpec(shape[1:], dtype)
    assert slices.element_spec == spec
    assert data.from_tensors(whole).element_spec == hr.TensorSpec(shape, dtype)
    rows = list(slices)
    assert [getattr(row, "shape", ()) for row in rows] == [shape[1:]] * shape[0]
    assert all(row.dtype == kept for row in rows if isinstance(row, np.ndarray))
    batched = list(slices.batch(2))
    assert [(batch.shape, batch.dtype) for batch in batched] == ([(shape, kept)] if shape[0] else [])
    if 0 in shape[1:]:
        slices.save(tmp_path)
        assert all(map(same, data.load(tmp_path), rows))
        longer = tuple(size + 1 for size in shape[1:])
        (padded,) = slices.padded_batch(2, padded_shapes=list(longer))
        assert (padded.shape, padded.dtype) == ((2, *longer), kept)
    check_every_restore_point(slices, executors=("thread", "inline"))
