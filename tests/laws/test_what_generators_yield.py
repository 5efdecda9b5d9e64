"""Laws 1 and 8 for what generators yield: the same elements whatever loop takes them, however the generator goes on with their memory.

A generator yields one kind of element, and here and there another one: as an array that it fills again, a view of it, one that
is read-only, of another shape or dtype, of no dtype or no axes, of a class of its own, or nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.kinds_of_elements import ARRAYS, WHOLES, Own
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, history, resumed, ways

import headrace as hr
from headrace.physical.loop_policy import LoopPolicy
from headrace.semantics.signed import Signed

F32, I64 = hr.TensorSpec((3,), np.float32), hr.TensorSpec((), np.int64)
SIGNATURES: dict[str, Any] = {
    "none": None,
    "pair": (F32, I64),
    "pair of any shapes": (hr.TensorSpec(None, np.float32), hr.TensorSpec(None, np.int64)),
    "pair of unknown sizes": (hr.TensorSpec((None,), np.float32), hr.TensorSpec((), np.int32)),
    "pair of doubles": (hr.TensorSpec((3,), np.float64), hr.TensorSpec((), np.float32)),
    "pair of texts": (hr.TensorSpec(None, str), hr.TensorSpec((), np.int64)),
    "pair of objects": (hr.TensorSpec((3,), object), hr.TensorSpec((), object)),
    "dict": {"x": F32, "y": I64},
    "other dict": {"y": I64, "x": F32},
    "alone": F32,
    "alone of any shape": hr.TensorSpec(None, np.float32),
    "alone of ints": hr.TensorSpec(None, np.int64),
    "alone of texts": hr.TensorSpec(None, str),
    "deep": ({"x": F32, "y": I64}, (I64, F32)),
}
# Where an element of a signature mostly fits, the others are seen.
FITTING = {
    "dict": ["dict", "its dict"],
    "other dict": ["its dict", "other order"],
    "deep": ["deep", "deep in its dict"],
    **{name: ["alone"] for name in SIGNATURES if name.startswith("alone")},
}
# Who reads them; those that put arrays together take them joined.
READERS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "none": lambda ds: ds,
    "none at all": lambda ds: ds,
    "batch": lambda ds: ds.batch(4),
    "pack": lambda ds: ds.pack(10, open_rows=2),
    "pack, cut": lambda ds: ds.pack(3, truncate=True),
    "pack and split": lambda ds: ds.pack(7, "concat_then_split"),
    "unbatch": lambda ds: ds.unbatch(),
}


@st.composite
def generators(draw: st.DrawFn) -> tuple[str, Callable[[], hr.Dataset]]:
    signature = draw(st.sampled_from(sorted(SIGNATURES)))
    wholes = st.sampled_from(sorted(WHOLES))
    fitting = FITTING.get(signature, sorted(WHOLES) if signature == "none" else ["pair"])
    usual = draw(st.sampled_from(fitting)), draw(st.sampled_from(sorted(ARRAYS)))
    length = draw(st.sampled_from([0, 3, 12, 50]))
    odd = draw(st.dictionaries(st.integers(0, 50), st.tuples(wholes, st.sampled_from(sorted(ARRAYS))), max_size=8))
    failing = draw(st.sampled_from([None, None, None, 2, 40]))
    has_arrays = signature == "none" or signature.startswith("alone")  # as far as the plan knows
    reader = draw(st.sampled_from(sorted(READERS) if has_arrays else ["none", "batch"]))

    def build() -> hr.Dataset:
        def generate() -> Iterator[Any]:
            own = Own()
            for n in range(length):
                if n == failing:
                    raise ValueError("failing")
                whole, array = odd.get(n, usual)
                yield WHOLES[whole](own, ARRAYS[array](own, n), n)

        dataset = hr.Dataset.from_generator(generate, output_signature=SIGNATURES[signature])
        return READERS[reader](dataset)

    return f"{length} × {usual}, but {odd}; failing: {failing}, signature: {signature}, reader: {reader}", build


def yielding(signature: str, whole: str, array: str, reader: str = "none") -> hr.Dataset:
    def generate() -> Iterator[Any]:
        own = Own()
        for n in range(20):
            yield WHOLES[whole](own, ARRAYS[array](own, n), n)

    return READERS[reader](hr.Dataset.from_generator(generate, output_signature=SIGNATURES[signature]))


@pytest.mark.parametrize("array", sorted(ARRAYS))
@pytest.mark.parametrize("signature", sorted(SIGNATURES))
def test_each_kind_is_taken_as_it_was_yielded(signature: str, array: str) -> None:
    for whole in sorted(WHOLES) if signature == "none" else FITTING.get(signature, ["pair"]):
        expected = elements_of(yielding(signature, whole, array), REFERENCE)
        for policy in (LoopPolicy(probed=1), LoopPolicy(probed=3, rows_a_look=2)):
            way = Way(hr.Options(seed=7), (5, 7), loops=policy)
            assert_same(expected, elements_of(yielding(signature, whole, array), way))


@pytest.mark.parametrize("reader", [name for name in sorted(READERS) if "none" not in name])
@pytest.mark.parametrize("whole", ["alone", "twice", "twice in a dict", "twice, then less"])
def test_each_kind_is_put_together_as_it_was_yielded(whole: str, reader: str) -> None:
    for array in sorted(ARRAYS):
        for signature in ("none", "alone of any shape") if whole == "alone" else ("none",):
            way = Way(hr.Options(seed=7), (5, 7), loops=LoopPolicy(probed=2))
            expected = elements_of(yielding(signature, whole, array, reader), REFERENCE)
            assert_same(expected, elements_of(yielding(signature, whole, array, reader), way))


@pytest.mark.parametrize("array", sorted(ARRAYS))
@pytest.mark.parametrize("signature", sorted(SIGNATURES))
def test_each_kind_is_batched_as_it_was_yielded(signature: str, array: str) -> None:
    for whole in ["pair", "alone", "dict"] if signature == "none" else FITTING.get(signature, ["pair"]):
        batches = yielding(signature, whole, array).batch(4)
        expected = elements_of(batches, REFERENCE)
        for policy in (LoopPolicy(probed=1), LoopPolicy(probed=3, rows_a_look=2)):
            assert_same(expected, elements_of(batches, Way(hr.Options(seed=7), (1, 2, 9), loops=policy)))


@pytest.mark.parametrize("usual", ["the same", "new", "of ints", "a number", "text"])
@pytest.mark.parametrize("odd", sorted(ARRAYS))
def test_one_of_another_kind_is_given_or_batched_in_its_place(usual: str, odd: str) -> None:
    def generate() -> Iterator[Any]:
        own = Own()
        for n in range(60):
            array = odd if n in (21, 40, 43) else usual
            yield WHOLES["longer" if n == 50 else "pair"](own, ARRAYS[array](own, n), n)

    for signature in [None, hr.TensorSpec(None, np.float32), hr.TensorSpec(None, np.int64), hr.TensorSpec(None, str)]:
        specs = None if signature is None else (signature, I64)
        singles = hr.Dataset.from_generator(generate, output_signature=specs)
        way = Way(hr.Options(seed=7), (1, 2, 3), loops=LoopPolicy(probed=1))
        assert_same(elements_of(singles, REFERENCE), elements_of(singles, way))
        batches = singles.batch(4)
        elements, states = history(batches, REFERENCE, limit=60)
        assert_same(elements, elements_of(batches, way))
        assert_same(elements[7:], resumed(batches, states[7], way, limit=60))


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.bool_, np.float32, np.int32])
@pytest.mark.parametrize("signature", [None, "int64", "float64", bool, "int32"])
def test_scalars_of_numpys_come_as_they_do_one_by_one_beside_arrays_that_are_held(kind: Any, signature: Any) -> None:
    held = np.ones(3, np.float32)

    def generate() -> Iterator[Any]:
        for n in range(2_000):
            yield held, kind(n % 2)

    specs = None if signature is None else (F32, hr.TensorSpec((), signature))
    singles = hr.Dataset.from_generator(generate, output_signature=specs).take(1_500)
    way = Way(hr.Options(seed=7), (1, 100, 300))
    for dataset in (singles, singles.batch(4)):
        assert_same(elements_of(dataset, REFERENCE, limit=2_000), elements_of(dataset, way, limit=2_000))


@given(generators(), ways())
def test_what_is_taken_is_what_was_yielded(generator: tuple[str, Callable[[], hr.Dataset]], way: Way) -> None:
    _, build = generator
    assert_same(elements_of(build(), REFERENCE), elements_of(build(), way))


@given(generators(), ways(), st.data())
def test_it_goes_on_from_any_element(
    generator: tuple[str, Callable[[], hr.Dataset]], way: Way, data: st.DataObject
) -> None:
    _, build = generator
    elements, states = history(build(), way, limit=60)
    at = data.draw(st.integers(0, len(elements)))
    assert_same(elements[at:], resumed(build(), states[at], way, limit=60))


def test_arrays_that_fit_their_signature_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    rows = Signed.rows

    def counted(self: Signed, raw: list[Any]) -> Any:
        looked_at.append(len(raw))
        return rows(self, raw)

    monkeypatch.setattr(Signed, "rows", counted)
    memory = np.ones(8, np.float32)
    signature = hr.TensorSpec((8,), np.float32), I64
    dataset = hr.Dataset.from_generator(lambda: ((memory, n) for n in range(5_000)), output_signature=signature)
    given_ones = [array for array, _ in dataset]
    assert len(given_ones) == 5_000
    assert not any(np.shares_memory(one, other) for one, other in itertools.pairwise([memory, *given_ones]))
    assert all(array.flags.writeable for array in given_ones)
    assert sum(looked_at) < 500  # of which the form was learned


def test_however_many_do_not_fit_the_others_come() -> None:
    signature = hr.TensorSpec((), np.int64)
    dataset = hr.Dataset.from_generator(
        lambda: (n if n % 2 else "odd" for n in range(6_000)), output_signature=signature
    )
    assert list(dataset.ignore_errors()) == list(range(1, 6_000, 2))


class Uncopied(np.ndarray):
    """An array that somebody holds, and that cannot be copied."""

    def copy(self, *_: Any) -> Any:
        raise OSError("no copy")


def test_what_comes_after_one_that_does_not_fit_and_one_that_cannot_be_copied_is_given() -> None:
    held = np.zeros(3, np.float32).view(Uncopied)

    def generate() -> Iterator[Any]:
        for n in range(60):
            yield "odd" if n == 40 else held if n == 42 else np.full(3, n, np.float32)

    dataset = hr.Dataset.from_generator(generate, output_signature=F32)
    way = Way(hr.Options(seed=7), (10,), loops=LoopPolicy(probed=1))
    expected = elements_of(dataset, REFERENCE)
    assert len(expected) == 60
    assert_same(expected, elements_of(dataset, way))
