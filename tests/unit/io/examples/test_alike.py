"""Batches of messages that are written alike are parsed together, and mean what each of them means alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import InvalidArgumentError
from headrace.io.examples import alike
from headrace.io.examples.alike import parsed_alike

pytest.importorskip("google.protobuf")

COUNT = 90  # more than are parsed one by one


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    alike._recent.cache_clear()


def try_again(features: dict[str, Any]) -> None:
    """Has the next batch parsed together, though others could not be."""
    alike._recent(tuple(features)).trials.succeeded()


# What a feature holds in one message, by a random number generator and about how many values or bytes.
DRAWN: dict[str, Any] = {
    "small": lambda rng, size: rng.integers(0, 100, size),
    "wide": lambda rng, size: rng.integers(-(2**63), 2**63 - 1, size) >> int(rng.integers(0, 63)),
    "floats": lambda rng, size: rng.random(size).astype(np.float32),
    "bytes": lambda rng, size: rng.bytes(int(rng.integers(0, 9)) * size),
    "text": lambda rng, size: "ü" * int(rng.integers(0, 9)) * size,
}
DTYPES: dict[str, Any] = {"small": np.int64, "wide": np.int64, "floats": np.float32, "bytes": bytes, "text": str}

features_drawn = st.dictionaries(
    st.text(max_size=4),
    st.tuples(st.sampled_from(sorted(DRAWN)), st.sampled_from(["fixed", "varying", "sequence"]), st.integers(1, 40)),
    min_size=1,
    max_size=4,
)


def described(kind: str, form: str, size: int) -> Any:
    if form == "varying":
        return hr.io.VarLenFeature(DTYPES[kind])
    if form == "sequence":
        return hr.io.FixedLenSequenceFeature([1], DTYPES[kind], allow_missing=True)
    return hr.io.FixedLenFeature((1 if kind in ("bytes", "text") else size,), DTYPES[kind])


def written(rng: np.random.Generator, features: dict[str, tuple[str, str, int]]) -> bytes:
    values = {}
    for name, (kind, form, size) in features.items():
        is_varying = form != "fixed" and kind not in ("bytes", "text")
        values[name] = DRAWN[kind](rng, int(rng.integers(1, size + 1)) if is_varying else size)
    return hr.io.serialize_example(values)


def outcome(records: list[bytes], features: dict[str, Any]) -> Any:
    """What each message gives alone, or None where one of them is refused."""
    try:
        return [hr.io.parse_single_example(record, features) for record in records]
    except InvalidArgumentError:
        return None


def assert_same(batch: dict[str, Any], alone: list[dict[str, Any]], features: dict[str, Any]) -> None:
    for name, feature in features.items():
        column = batch[name]
        assert len(column) == len(alone)
        for row, one in zip(column, alone, strict=True):
            wanted = one[name]
            if not isinstance(wanted, np.ndarray):
                assert row == wanted
                continue
            if isinstance(feature, hr.io.FixedLenSequenceFeature):
                assert (row[len(wanted) :] == feature.padding).all()
                row = row[: len(wanted)]  # noqa: PLW2901 - the rest is padding
            assert (row.dtype, row.shape) == (wanted.dtype, wanted.shape)
            assert row.tolist() == wanted.tolist()


def damaged(record: bytes, rng: np.random.Generator) -> bytes:
    """The message with one thing wrong: a byte, its end, more after it, or its first features once more."""
    at = int(rng.integers(0, len(record)))
    flipped = bytearray(record)
    flipped[at] ^= 1 << int(rng.integers(0, 8))
    return [bytes(flipped), record[:at], record + record[:at], record + record][int(rng.integers(0, 4))]


@given(features_drawn, st.integers(0, 2**32), st.integers(0, 3))
def test_a_batch_is_what_its_messages_are_alone(
    drawn: dict[str, tuple[str, str, int]], seed: int, damages: int
) -> None:
    rng = np.random.default_rng(seed)
    records = [written(rng, drawn) for _ in range(COUNT)]
    for index in rng.integers(0, COUNT, damages):
        records[index] = damaged(records[index], rng)
    features = {name: described(*feature) for name, feature in drawn.items()}
    alone = outcome(records, features)
    if alone is None:
        with pytest.raises(InvalidArgumentError, match=r"^record \d+"):
            hr.io.parse_example(records, features)
    else:
        assert_same(hr.io.parse_example(records, features), alone, features)


@given(features_drawn, st.integers(0, 2**32), st.data())
def test_what_nobody_asks_for_may_be_damaged_too(
    drawn: dict[str, tuple[str, str, int]], seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    records = [written(rng, drawn) for _ in range(COUNT)]
    index = int(rng.integers(0, COUNT))
    records[index] = damaged(records[index], rng)
    name = data.draw(st.sampled_from(sorted(drawn)))
    features = {name: described(*drawn[name])}
    alone = outcome(records, features)
    if alone is None:
        with pytest.raises(InvalidArgumentError, match=rf"^record {index}\b"):
            hr.io.parse_example(records, features)
    else:
        assert_same(hr.io.parse_example(records, features), alone, features)


@given(features_drawn, st.integers(0, 2**32))
def test_messages_that_are_all_damaged_alike_are_what_each_is_alone(
    drawn: dict[str, tuple[str, str, int]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    record = written(rng, drawn)
    features = {name: described(*feature) for name, feature in drawn.items()}
    hr.io.parse_example([record] * COUNT, features)  # from which a layout is learned
    records = [damaged(record, rng)] * COUNT
    alone = outcome(records[:1], features)
    if alone is None:
        with pytest.raises(InvalidArgumentError, match=r"^record 0\b"):
            hr.io.parse_example(records, features)
    else:
        assert_same(hr.io.parse_example(records, features), alone * COUNT, features)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2**32)), min_size=1, max_size=4))
def test_numbers_of_as_many_bytes_each(widths: list[tuple[int, int]]) -> None:
    features = {"label": hr.io.FixedLenFeature((), np.int64)}
    for width, seed in widths:
        rng = np.random.default_rng(seed)
        numbers = rng.integers(128 ** (width - 1) if width > 1 else 0, 128**width - 1, COUNT, endpoint=True).tolist()
        records = [hr.io.serialize_example({"label": number}) for number in numbers]
        found = parsed_alike(records, features)
        assert found is not None
        assert found["label"].tolist() == numbers
        assert found["label"].dtype == np.int64


# Values that take as many bytes in each message, but for the last ones.
OF_ONE_FORM: dict[str, Any] = {
    "floats": (np.float32, lambda rng, size: rng.random(size).astype(np.float32)),
    "numbers": (np.int64, lambda rng, size: rng.integers(128, 128**2, size)),
    "small": (np.int64, lambda rng, size: rng.integers(0, 128, size)),
    "negative": (np.int64, lambda rng, size: rng.integers(-(2**63), 0, size)),
    "bytes": (bytes, lambda rng, size: [rng.bytes(size)]),
    "no bytes": (bytes, lambda _, __: [b""]),
    "a number": (np.int64, lambda rng, _: [int(rng.integers(0, 2**62)) >> int(rng.integers(0, 62))]),
    "few numbers": (np.int64, lambda rng, size: rng.integers(0, 300, size % 5)),
    "few bytes": (bytes, lambda rng, size: [rng.bytes(int(rng.integers(0, size + 1)))]),
}


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.tuples(st.sampled_from(sorted(OF_ONE_FORM)), st.sampled_from([1, 2, 7, 63, 64, 65])),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2**32),
    st.lists(st.sampled_from(["as it was", "as it was", "changed", "shorter"]), max_size=5),
    st.data(),
)
def test_batches_of_messages_of_one_form_are_what_each_is_alone(
    drawn: dict[str, tuple[str, int]], seed: int, batches: list[str], data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    asked = data.draw(st.sets(st.sampled_from(sorted(drawn)), min_size=1))
    features: dict[str, Any] = {name: hr.io.VarLenFeature(OF_ONE_FORM[drawn[name][0]][0]) for name in sorted(asked)}
    for batch in ["as it was", *batches]:
        values = ({name: OF_ONE_FORM[kind][1](rng, size) for name, (kind, size) in drawn.items()} for _ in range(COUNT))
        records = list(map(hr.io.serialize_example, values))
        odd = bytearray(records[COUNT // 2])
        if batch == "changed":
            odd[int(rng.integers(0, len(odd)))] ^= 1 << int(rng.integers(0, 8))
        records[COUNT // 2] = bytes(odd) if batch != "shorter" else bytes(odd[:-1])
        alone = outcome(records, features)
        try_again(features)
        if alone is None:
            with pytest.raises(InvalidArgumentError, match=rf"^record {COUNT // 2}\b"):
                hr.io.parse_example(records, features)
        else:
            found = hr.io.parse_example(records, features)
            assert_same(found, alone, features)
            assert all(column.values.flags.writeable for column in found.values())


FEATURES: dict[str, Any] = {
    "label": hr.io.FixedLenFeature((), np.int64, -1),
    "text": hr.io.FixedLenFeature((), str, "none"),
    "x": hr.io.VarLenFeature(np.float32),
}


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {"label": index * index, "text": "t" * index, "x": [index / 2] * (1 + index % 50)} for index in range(count)
    ]


def test_messages_that_differ_in_lengths_alone_are_parsed_together() -> None:
    records = [hr.io.serialize_example(row) for row in rows(300)]
    found = parsed_alike(records, FEATURES)
    assert found is not None
    assert_same(found, [hr.io.parse_single_example(record, FEATURES) for record in records], FEATURES)


def test_messages_of_a_few_kinds_are_parsed_together() -> None:
    whole = rows(200)
    for index, row in enumerate(whole):
        for name in [(), ("label",), ("text", "x")][index % 3]:
            del row[name]
    records = [hr.io.serialize_example(row) for row in whole]
    found = parsed_alike(records, FEATURES)
    assert found is not None
    assert_same(found, [hr.io.parse_single_example(record, FEATURES) for record in records], FEATURES)


def test_messages_of_many_kinds_are_parsed_one_by_one() -> None:
    records = [hr.io.serialize_example({"label": index, f"more{index % 9}": 1}) for index in range(200)]
    features = {"label": FEATURES["label"]}
    assert parsed_alike(records, features) is None
    assert hr.io.parse_example(records, features)["label"].tolist() == list(range(200))


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"text": "t", "x": [1.0]}, "record 77, feature 'label' is missing, and has no default_value"),
        ({"label": [1, 2], "text": "t", "x": [1.0]}, r"record 77, feature 'label' has 2 values, and its shape is \[\]"),
        ({"label": 0.5, "text": "t", "x": [1.0]}, "record 77, feature 'label' is of type float32, and not int64"),
        ({"label": 1, "text": b"\xff", "x": [1.0]}, "record 77, feature 'text' is not UTF-8"),
    ],
)
def test_the_one_message_that_does_not_fit_is_named(odd: dict[str, Any], message: str) -> None:
    whole = rows(100)
    whole[77] = odd
    records = [hr.io.serialize_example(row) for row in whole]
    features = FEATURES | {"label": hr.io.FixedLenFeature((), np.int64)}
    with pytest.raises(InvalidArgumentError, match=message):
        hr.io.parse_example(records, features)


def prefixed(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content


def entry(name: bytes, kind: int, payload: bytes) -> bytes:
    """A feature as it lies in a message; the kinds are 10 of bytes, 18 of floats and 26 of int64."""
    values = prefixed(kind, prefixed(10, payload))
    return prefixed(10, prefixed(10, name) + prefixed(18, values))


def message(*entries: bytes) -> bytes:
    return prefixed(10, b"".join(entries))


ASKED: dict[str, Any] = {
    "f": hr.io.VarLenFeature(np.float32),
    "i": hr.io.VarLenFeature(np.int64),
    "t": hr.io.VarLenFeature(bytes),
}
FLOATS, NUMBERS, TEXT = entry(b"f", 18, b"\0\0\0\0"), entry(b"i", 26, b"\x07"), entry(b"t", 10, b"text")


@pytest.mark.parametrize("asked", [("f",), ("i",), ("t",), ("f", "i", "t")], ids="+".join)
@pytest.mark.parametrize(
    "odd",
    [
        message(entry(b"f", 18, b"\0\0\0\0\0"), NUMBERS, TEXT),  # no whole number of floats
        message(FLOATS, entry(b"i", 26, b"\x07\x80"), TEXT),  # a number that does not end
        message(FLOATS, entry(b"i", 26, b"\x87\x80"), TEXT),  # one that goes on to its end
        message(FLOATS, entry(b"i", 26, b"\x07\x09"), TEXT),  # two numbers
        message(FLOATS, entry(b"i", 26, b"\x80" * 10 + b"\x01"), TEXT),  # one that is too long
        message(FLOATS, entry(b"i", 26, b"\xff" * 9 + b"\x7f"), TEXT),  # one of more than 64 bits
        message(FLOATS, entry(b"i", 26, b"\xff" * 9 + b"\x01"), TEXT),  # -1, as it should be
        message(FLOATS, entry(b"i", 26, b"\x87\x00"), TEXT),  # 7 in more bytes than it needs
        message(FLOATS, NUMBERS, TEXT, entry(b"t", 10, b"last")),  # the last one counts
        message(FLOATS, NUMBERS, TEXT, entry(b"i", 26, b"\x09")),
        message(FLOATS, NUMBERS),
        message(NUMBERS, FLOATS, TEXT),
        message(FLOATS, NUMBERS, TEXT) + message(entry(b"i", 26, b"\x09")),  # two messages are joined to one
        message(FLOATS, NUMBERS, TEXT) + b"\0",
        message(FLOATS, NUMBERS, TEXT[:-1]),
        message(FLOATS, NUMBERS, prefixed(10, prefixed(10, b"t") + prefixed(18, prefixed(10, b"")))),  # no value
        message(FLOATS, entry(b"i", 18, b"\0\0\0\0"), TEXT),  # of another type
    ],
    ids=itertools.count(),
)
def test_an_odd_message_among_others_is_what_it_is_alone(odd: bytes, asked: tuple[str, ...]) -> None:
    usual = message(FLOATS, NUMBERS, TEXT)
    features = {name: ASKED[name] for name in asked}
    assert parsed_alike([usual] * COUNT, features) is not None
    for records, index in (([usual] * 40 + [odd] + [usual] * 49, 40), ([odd] * COUNT, 0)):
        try_again(features)
        alone = outcome(records, features)
        if alone is None:
            with pytest.raises(InvalidArgumentError, match=rf"^record {index}\b"):
                hr.io.parse_example(records, features)
        else:
            assert_same(hr.io.parse_example(records, features), alone, features)


def numbered(rng: np.random.Generator, bits: int, pad: int) -> bytes:
    """A message with a number and a text of varying length, two numbers of ten bytes, and others of one length."""
    return hr.io.serialize_example(
        {
            "f": [0.5, float(rng.random())],
            "m": [-5, -(2**62)],
            "n": int(rng.integers(0, 2**bits)),
            "o": int(rng.integers(0, 2**bits)),
            "p": b"p" * pad,
            "t": b"t" * int(rng.integers(0, 9)),
        }
    )


OF_NUMBERS: dict[str, Any] = {
    "f": hr.io.FixedLenFeature([2], np.float32),
    "m": hr.io.FixedLenFeature([2], np.int64),
    "n": hr.io.FixedLenFeature((), np.int64),
    "o": hr.io.VarLenFeature(np.int64),
    "p": hr.io.FixedLenFeature((), bytes),
    "t": hr.io.VarLenFeature(bytes),
}


@pytest.mark.parametrize("pad", [0, 150])
@pytest.mark.parametrize("bits", [7, 20])
def test_one_byte_that_is_another_makes_of_a_message_what_it_is_alone(bits: int, pad: int) -> None:
    rng = np.random.default_rng(0)
    usual, few = ([numbered(rng, width, pad) for _ in range(COUNT)] for width in (20, bits))
    alone = [hr.io.parse_single_example(record, OF_NUMBERS) for record in few]
    for at, bit in itertools.product(range(len(few[40])), range(10)):
        if few[40][at : at + 1] == b"p":
            continue
        odd = bytearray(few[40])
        odd[at : at + 1] = [odd[at] ^ 1 << bit] if bit < 8 else b"" if bit < 9 else odd[at : at + 1] * 2
        try_again(OF_NUMBERS)
        hr.io.parse_example(usual, OF_NUMBERS)  # of which the form is learned
        records = [*few[:40], bytes(odd), *few[41:]]
        one = outcome([bytes(odd)], OF_NUMBERS)
        if one is None:
            with pytest.raises(InvalidArgumentError, match=r"^record 40\b"):
                hr.io.parse_example(records, OF_NUMBERS)
        else:
            assert_same(hr.io.parse_example(records, OF_NUMBERS), [*alone[:40], *one, *alone[41:]], OF_NUMBERS)


def test_a_length_of_two_bytes_that_is_written_as_one_is_none() -> None:
    def written_with(size: int, pad: bytes = b"p" * 110) -> bytes:
        content = entry(b"p", 10, pad) + entry(b"t", 10, b"t" * size)
        return bytes([10, len(content) & 0x7F | 0x80, len(content) >> 7]) + content

    features: dict[str, Any] = {"t": hr.io.FixedLenFeature((), bytes)}
    usual = [written_with(1 + size % 30) for size in range(COUNT)]
    hr.io.parse_example(usual, features)  # of which the form is learned
    for size in range(100, 125):  # of more the entry has a length of over 127
        odd = written_with(size)
        try_again(features)
        one = outcome([odd], features)
        records = [*usual[:40], odd, *usual[41:]]
        assert (one is None) == (len(prefixed(10, prefixed(10, prefixed(10, b"t" * size)))) + 3 > 127)
        if one is None:
            with pytest.raises(InvalidArgumentError, match=r"^record 40\b"):
                hr.io.parse_example(records, features)
        else:
            assert hr.io.parse_example(records, features)["t"][40] == one[0]["t"]


def test_a_message_that_says_to_be_shorter_by_what_its_length_cannot_say_is_damaged() -> None:
    features: dict[str, Any] = {"t": hr.io.FixedLenFeature((), bytes), "u": hr.io.FixedLenFeature((), bytes)}
    usual = [message(entry(b"t", 10, b"t" * (size % 9)), entry(b"u", 10, b"u" * (size % 7))) for size in range(COUNT)]
    hr.io.parse_example(usual, features)  # of which the form is learned
    content = entry(b"t", 10, b"t" * 60) + entry(b"u", 10, b"u" * 60)
    odd = bytes([10, len(content) - 128]) + content
    with pytest.raises(InvalidArgumentError, match=r"^record 40\b"):
        hr.io.parse_example([*usual[:40], odd, *usual[41:]], features)


def test_batches_that_cannot_be_parsed_together_are_tried_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [hr.io.serialize_example({"label": index, f"more{index % 9}": 1}) for index in range(COUNT)]
    alike_ones = [hr.io.serialize_example({"label": index}) for index in range(COUNT)]
    batches: list[int] = []
    tried: list[int] = []
    parts_of_messages = alike._parts

    def noted(*given: Any) -> Any:
        tried.append(len(batches))
        return parts_of_messages(*given)

    monkeypatch.setattr(alike, "_parts", noted)
    features = {"label": FEATURES["label"]}
    for _ in range(40):
        assert hr.io.parse_example(records, features)["label"].tolist() == list(range(COUNT))
        batches.append(1)
    assert tried == [0, 2, 5, 10, 19, 36]
    for _ in range(70):  # where they can be, all are from then on
        hr.io.parse_example(alike_ones, features)
        batches.append(1)
    assert tried[6:] == list(range(tried[6], 110))


def test_what_was_learned_of_other_messages_does_no_harm() -> None:
    one = [hr.io.serialize_example({"label": index, "a": 0}) for index in range(100)]
    other = [hr.io.serialize_example({"a": [0.5], "label": index, "z": "text"}) for index in range(100)]
    features = {"label": FEATURES["label"]}
    for records in (one, other, one + other, other + one):
        try_again(features)
        wanted = [int(hr.io.parse_single_example(record, features)["label"]) for record in records]
        assert hr.io.parse_example(records, features)["label"].tolist() == wanted


def test_what_is_parsed_is_the_callers_own() -> None:
    records = [hr.io.serialize_example(row) for row in rows(100)]
    parsed = hr.io.parse_example(records, FEATURES)
    arrays = [parsed["label"], parsed["text"], parsed["x"].values, parsed["x"].row_splits]
    assert all(array.flags.writeable for array in arrays)
    parsed["label"][:] = 0
    assert hr.io.parse_example(records, FEATURES)["label"][2] == 4
