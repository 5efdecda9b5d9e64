"""Batches of messages that lack features, or have them in any order, mean what each of them means alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.examples.test_alike import assert_same, damaged, outcome

import headrace as hr
from headrace.errors import InvalidArgumentError
from headrace.io.examples import alike

pytest.importorskip("google.protobuf")

COUNT = 80  # more than are parsed one by one

# By what a feature holds: its values in one message, by a random number generator, and what is asked for.
KINDS: dict[str, tuple[Any, Any]] = {
    "a number": (
        lambda rng: int(rng.integers(0, 2**62)) >> int(rng.integers(0, 62)),
        hr.io.FixedLenFeature((), np.int64, -1),
    ),
    "a negative number": (lambda rng: -int(rng.integers(1, 2**62)), hr.io.FixedLenFeature((), np.int64, 7)),
    "a float": (lambda rng: float(rng.random()), hr.io.FixedLenFeature((), np.float32, 0.5)),
    "two floats": (lambda rng: rng.random(2).astype(np.float32), hr.io.FixedLenFeature([2], np.float32, [0.5, 1.5])),
    "two numbers": (lambda rng: rng.integers(0, 300, 2), hr.io.FixedLenFeature([2], np.int64, [1, 2])),
    "bytes": (lambda rng: rng.bytes(8), hr.io.FixedLenFeature((), bytes, b"none")),
    "text": (lambda rng: "ü" * int(rng.integers(0, 90)), hr.io.FixedLenFeature((), str, "none")),
    "numbers": (lambda rng: rng.integers(0, 300, int(rng.integers(1, 99))), hr.io.VarLenFeature(np.int64)),
    "floats": (lambda rng: rng.random(int(rng.integers(1, 5))).astype(np.float32), hr.io.VarLenFeature(np.float32)),
    "padded": (
        lambda rng: rng.integers(0, 99, int(rng.integers(1, 4))),
        hr.io.FixedLenSequenceFeature([1], np.int64, allow_missing=True),
    ),
}


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    alike._recent.cache_clear()


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 0x7F | 0x80]) + varint(number >> 7)


def message(entries: list[bytes]) -> bytes:
    inside = b"".join(entries)
    return b"\n" + varint(len(inside)) + inside


def entry(name: str, value: Any) -> bytes:
    """A feature as it lies in a message."""
    whole = hr.io.serialize_example({name: value})
    return whole[1 + len(varint(len(whole) - 2)) :] if len(whole) < 130 else whole[3:]


def written(rng: np.random.Generator, kinds: dict[str, str], present: float) -> bytes:
    """A message that has each feature by chance, in any order."""
    entries = [entry(name, KINDS[kind][0](rng)) for name, kind in kinds.items() if rng.random() < present]
    return message([entries[index] for index in rng.permutation(len(entries))])


def parsed_as_alone(records: list[bytes], features: dict[str, Any]) -> None:
    alike._recent.cache_clear()
    alone = outcome(records, features)
    if alone is None:
        with pytest.raises(InvalidArgumentError, match=r"^record \d+"):
            hr.io.parse_example(records, features)
    else:
        assert_same(hr.io.parse_example(records, features), alone, features)


kinds_drawn = st.dictionaries(st.text(max_size=9), st.sampled_from(sorted(KINDS)), min_size=8, max_size=11)


@given(kinds_drawn, st.integers(0, 2**32), st.sampled_from([0.05, 0.5, 0.9, 1.0]), st.integers(0, 2), st.integers(0, 2))
def test_a_batch_is_what_its_messages_are_alone(
    kinds: dict[str, str], seed: int, present: float, damages: int, unasked: int
) -> None:
    rng = np.random.default_rng(seed)
    records = [written(rng, kinds, present) for _ in range(COUNT)]
    for index in rng.integers(0, COUNT, damages):
        records[index] = damaged(records[index] or b"\n", rng)
    asked = dict(list(kinds.items())[min(unasked, len(kinds) - 8) :])
    parsed_as_alone(records, {name: KINDS[kind][1] for name, kind in asked.items()})


NAMES = {f"n{number}": kind for number, kind in enumerate(sorted(KINDS))}
FEATURES = {name: KINDS[kind][1] for name, kind in NAMES.items()}


def usual() -> list[bytes]:
    rng = np.random.default_rng(1)
    return [written(rng, NAMES, 0.8) for _ in range(COUNT)]


def test_messages_in_any_order_are_parsed_together() -> None:
    records = usual()
    assert alike.parsed_alike(records, FEATURES) is not None
    parsed_as_alone(records, FEATURES)


@pytest.mark.parametrize("seed", range(3))
def test_one_byte_that_is_another_makes_of_a_message_what_it_is_alone(seed: int) -> None:
    records, rng = usual(), np.random.default_rng(seed)
    whole = message(
        [entry(name, KINDS[kind][0](rng)) for name, kind in NAMES.items() if kind not in ("text", "numbers")]
    )
    alone = outcome(records, FEATURES)
    assert alone is not None
    for at in range(len(whole)):
        odd = bytearray(whole)
        odd[at : at + 1] = [bytes([odd[at] ^ 1 << int(rng.integers(0, 8))]), b"", odd[at : at + 1] * 2][seed]
        alike._recent.cache_clear()
        one = outcome([bytes(odd)], FEATURES)
        batch = [*records[:40], bytes(odd), *records[41:]]
        if one is None:
            with pytest.raises(InvalidArgumentError, match=r"^record 40\b"):
                hr.io.parse_example(batch, FEATURES)
        else:
            found = hr.io.parse_example(batch, FEATURES)
            assert_same(found, [*alone[:40], *one, *alone[41:]], FEATURES)


@pytest.mark.parametrize(
    "odd",
    {
        "nothing": b"",
        "no feature": message([]),
        "a feature twice": message([entry("n5", 1), entry("n2", 1), entry("n5", [3, 4])]),
        "another twice": message([entry("z", 1), entry("n2", 2), entry("z", 3)]),
        "another, of two kinds": message([entry("z", 1), entry("n2", 2), entry("z", 0.5)]),
        "a name of no text": message([entry("z", 1).replace(b"z", b"\xff")]),
        "a long name": message([entry("z" * 130, 1), entry("n2", 2)]),
        "no name": message([entry("", 1), entry("n2", 2)]),
        "a name with a zero": message([entry("n2\0", 1), entry("n2", 2)]),
        "two values": message([entry("n3", [b"one", b"two"])]),
        "no value": message([hr.io.serialize_example({"n3": []})[2:]]),
        "another kind": message([entry("n2", 0.5)]),
        "an entry that ends behind its message": message([entry("n2", 1), entry("n3", b"12345678")[:-1]]),
        "a list that is a group": message([entry("z", 5).replace(b"\x1a", b"\x1b")]),
        "a number that does not end": message([entry("z", 5)[:-1] + b"\x85"]),
        "two messages": message([entry("n2", 1)]) + message([entry("n1", 2)]),
    }.items(),
    ids=lambda one: one[0],
)
def test_an_odd_message_among_others_is_what_it_is_alone(odd: tuple[str, bytes]) -> None:
    records = usual()
    parsed_as_alone([*records[:40], odd[1], *records[41:]], FEATURES)


def test_what_no_message_has_is_its_default_and_what_has_none_is_missed() -> None:
    records = usual()
    more: dict[str, Any] = {
        "more": hr.io.FixedLenFeature([3], np.int64, [1, 2, 3]),
        "rest": hr.io.VarLenFeature(np.float32),
    }
    assert alike.parsed_alike(records, FEATURES | more) is not None
    parsed_as_alone(records, FEATURES | more)
    with pytest.raises(InvalidArgumentError, match="record 0, feature 'more' is missing, and has no default_value"):
        hr.io.parse_example(records, FEATURES | {"more": hr.io.FixedLenFeature((), np.int64)})


def test_what_is_parsed_is_the_callers_own() -> None:
    parsed = hr.io.parse_example(usual(), FEATURES)
    arrays = [getattr(column, "values", column) for column in parsed.values()]
    assert all(array.flags.writeable for array in arrays)
    assert not any(np.shares_memory(one, other) for one in arrays for other in arrays if one is not other)
