from __future__ import annotations

import itertools
import sys
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import InvalidArgumentError, MissingExtraError
from headrace.io.examples.message import example_class

pytest.importorskip("google.protobuf")

INT = hr.io.FixedLenFeature((), np.int64)
int64s = st.integers(-(2**63), 2**63 - 1)
values = st.one_of(
    st.lists(int64s, min_size=1, max_size=70).map(lambda numbers: np.array(numbers, np.int64)),
    st.lists(st.floats(width=32), min_size=1, max_size=70).map(lambda numbers: np.array(numbers, np.float32)),
    st.lists(st.binary(max_size=5), min_size=1, max_size=5),
    st.lists(st.text(max_size=5), min_size=1, max_size=5),
)


def dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, np.ndarray) else type(value[0])


def same(one: Any, other: Any) -> bool:
    if isinstance(other, np.ndarray):
        return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())
    return list(one) == list(other)


@given(st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=4))
def test_what_is_serialized_is_parsed(features: dict[str, Any]) -> None:
    record = hr.io.serialize_example(features)
    varying = {name: hr.io.VarLenFeature(dtype_of(value)) for name, value in features.items()}
    fixed = {name: hr.io.FixedLenFeature([len(value)], dtype_of(value)) for name, value in features.items()}
    for description in (varying, fixed):
        parsed = hr.io.parse_single_example(record, description)
        assert all(same(parsed[name], value) for name, value in features.items())
    batch = hr.io.parse_example([record, record], fixed)
    ragged = hr.io.parse_example([record, record], varying)
    for name, value in features.items():
        assert all(same(row, value) for row in batch[name])
        assert all(same(row, value) for row in ragged[name])


def test_the_same_features_are_the_same_bytes() -> None:
    one = hr.io.serialize_example({"b": 1, "a": [True, False], "c": "text"})
    assert one == hr.io.serialize_example({"c": b"text", "a": np.array([1, 0]), "b": np.int8(1)})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "neither numbers, bytes nor str: None"),
        (2**63, "feature 'x': "),
        (np.datetime64("2020-01-01"), "feature 'x': neither numbers, bytes nor str"),
        ([b"a", None], "feature 'x': neither numbers, bytes nor str: None"),
        ([[1], [2, 3]], "feature 'x': "),
    ],
)
def test_what_no_feature_holds_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        hr.io.serialize_example({"x": value})


def test_an_empty_list_is_a_feature_without_values() -> None:
    record = hr.io.serialize_example({"x": [], "y": np.zeros(0, np.int64)})
    assert hr.io.parse_single_example(record, {"x": hr.io.VarLenFeature(bytes)})["x"].tolist() == []
    assert hr.io.parse_single_example(record, {"y": hr.io.VarLenFeature(np.int64)})["y"].dtype == np.int64
    with pytest.raises(InvalidArgumentError, match="feature 'y' is of type int64, and not float32"):
        hr.io.parse_single_example(record, {"y": hr.io.VarLenFeature(np.float32)})


def test_single_values_are_elements_as_everywhere() -> None:
    record = hr.io.serialize_example({"i": 1, "f": 0.5, "b": b"x", "t": "ü"})
    features = {
        name: hr.io.FixedLenFeature((), dtype)
        for name, dtype in {"i": np.int64, "f": np.float32, "b": bytes, "t": str}.items()
    }
    parsed = hr.io.parse_single_example(record, features)
    assert parsed == {"i": 1, "f": np.float32(0.5), "b": b"x", "t": "ü"}
    assert [type(value) for value in parsed.values()] == [int, np.float32, bytes, str]
    assert hr.io.parse_example(record, features) == parsed
    batch = hr.io.parse_example(np.array([record], object), features)
    assert [column.dtype for column in batch.values()] == [np.int64, np.float32, object, object]
    assert batch["t"].tolist() == ["ü"]


def test_defaults_stand_for_what_is_missing() -> None:
    features = {
        "i": hr.io.FixedLenFeature([2], np.int64, [1, 2]),
        "t": hr.io.FixedLenFeature((), str, "none"),
        "b": hr.io.FixedLenFeature([1, 2], bytes, [["a", b"b\0"]]),
        "s": hr.io.FixedLenSequenceFeature((), str, allow_missing=True, default_value="-"),
    }
    full = hr.io.serialize_example({"i": [3, 4], "t": "some", "b": ["c", "d"], "s": ["x", "y"]})
    parsed = hr.io.parse_example([b"", full], features)
    assert parsed["i"].tolist() == [[1, 2], [3, 4]]
    assert parsed["t"].tolist() == ["none", "some"]
    assert parsed["b"].tolist() == [[[b"a", b"b\0"]], [[b"c", b"d"]]]
    assert parsed["s"].tolist() == [["-", "-"], ["x", "y"]]
    alone = hr.io.parse_single_example(b"", features)
    assert alone["t"] == "none"
    alone["i"][0] = 9  # the caller's own
    assert hr.io.parse_single_example(b"", features)["i"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"", "record 1, feature 'x' is missing, and has no default_value"),
        (hr.io.serialize_example({"x": [1, 2]}), r"record 1, feature 'x' has 2 values, and its shape is \[\]"),
        (hr.io.serialize_example({"x": 0.5}), "record 1, feature 'x' is of type float32, and not int64"),
        (b"garbage", "record 1: its 7 bytes are no tf.train.Example, or a damaged one"),
        ("text", "record 1 is bytes, and not str"),
        (None, "record 1 is bytes, and not NoneType"),
    ],
)
def test_an_error_names_the_record_and_the_feature(record: Any, message: str) -> None:
    good = hr.io.serialize_example({"x": 1})
    with pytest.raises(InvalidArgumentError, match=message):
        hr.io.parse_example([good, record], {"x": INT})
    named = message.replace("record 1", "record 1 'second'")
    with pytest.raises(InvalidArgumentError, match=named):
        hr.io.parse_example([good, record], {"x": INT}, ["first", "second"])
    with pytest.raises(InvalidArgumentError, match=r"^the record|^a record is bytes"):
        hr.io.parse_single_example(record, {"x": INT})


def test_text_that_is_not_utf8_is_an_error() -> None:
    record = hr.io.serialize_example({"x": b"\xff"})
    with pytest.raises(InvalidArgumentError, match=r"record 0, feature 'x' is not UTF-8 .*; read it as bytes"):
        hr.io.parse_example([record], {"x": hr.io.VarLenFeature(str)})


def test_what_comes_twice_is_joined_and_the_last_kind_counts() -> None:
    message = example_class()()
    message.features.feature["x"].int64_list.value.extend([1, 2])
    twice = message.SerializeToString()
    assert hr.io.parse_single_example(twice + twice, {"x": hr.io.VarLenFeature(np.int64)})["x"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hr.io.FixedLenFeature([None], np.int64), "known in full"),
        (lambda: hr.io.FixedLenFeature([-1], np.int64), "has a size below 0"),
        (lambda: hr.io.FixedLenFeature(None, np.int64), r"needs a shape, \(\) for one value; VarLenFeature"),
        (lambda: hr.io.FixedLenFeature((), np.int32), "np.float32, np.int64, bytes or str"),
        (lambda: hr.io.FixedLenFeature((), object), "np.float32, np.int64, bytes or str"),
        (lambda: hr.io.VarLenFeature("no dtype"), "np.float32, np.int64, bytes or str"),
        (lambda: hr.io.FixedLenFeature([2], np.int64, 7), "has 1 values"),
        (lambda: hr.io.FixedLenFeature((), np.int64, 0.5), "is not of type int64"),
        (lambda: hr.io.FixedLenFeature((), bytes, 7), "neither bytes nor str"),
        (lambda: hr.io.FixedLenSequenceFeature([0], np.int64, allow_missing=True), "nothing to be counted"),
        (lambda: hr.io.parse_example([], {}), "at least one"),
        (lambda: hr.io.parse_example([], {"x": cast(Any, np.int64)}), "feature 'x' is described by"),
        (lambda: hr.io.parse_example(7, {"x": INT}), "an array or a list of bytes"),
        (lambda: hr.io.parse_example(np.array([[b"a"]], object), {"x": INT}), "one axis of bytes"),
        (
            lambda: hr.io.parse_example(np.array([b"a"]), {"x": INT}),
            r"one axis of bytes.*drops the NUL bytes.*dtype=object",
        ),
        (lambda: hr.io.parse_example([b""], {"x": INT}, []), "1 records have 0 example_names"),
        (
            lambda: hr.io.parse_example([], {"x": hr.io.FixedLenSequenceFeature((), np.int64)}),
            "needs allow_missing=True",
        ),
    ],
    ids=itertools.count(),
)
def test_arguments_that_do_not_fit_are_refused(call: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        call()


def test_an_empty_batch_has_the_types_of_a_full_one() -> None:
    features = {
        "i": hr.io.FixedLenFeature([2], np.int64),
        "b": hr.io.VarLenFeature(bytes),
        "f": hr.io.FixedLenSequenceFeature([3], np.float32, allow_missing=True),
    }
    parsed = hr.io.parse_example([], features)
    assert (parsed["i"].shape, parsed["i"].dtype) == ((0, 2), np.int64)
    assert parsed["b"].values.dtype == object
    assert len(parsed["b"]) == 0
    assert (parsed["f"].shape, parsed["f"].dtype) == ((0, 0, 3), np.float32)


@given(st.binary(max_size=40), st.integers(0, 200), st.integers(0, 255))
def test_no_bytes_do_more_than_be_refused(noise: bytes, at: int, flipped: int) -> None:
    whole = bytearray(hr.io.serialize_example({"x": [1, 2, 3], "y": [0.5] * 9, "z": ["a", "bc"], "ö": 1}))
    whole[at % len(whole)] ^= flipped
    features: dict[str, Any] = {
        "x": hr.io.VarLenFeature(np.int64),
        "y": hr.io.FixedLenSequenceFeature([3], np.float32, allow_missing=True),
        "z": hr.io.FixedLenFeature([2], bytes, ["", ""]),
    }
    for record in (noise, bytes(whole), bytes(whole)[: at % len(whole)], bytes(whole) + noise):
        try:
            parsed = hr.io.parse_example([record], features)
        except InvalidArgumentError as error:
            refused = str(error)
            assert "record 0" in refused
            continue
        assert parsed["z"].shape == (1, 2)
        assert parsed["x"].values.dtype == np.int64


def test_a_missing_library_is_an_error_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    example_class.cache_clear()
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[tfrecord\]'"):
        hr.io.parse_single_example(b"", {"x": INT})


@given(st.lists(st.integers(0, 2**16 - 1), max_size=9))
def test_raw_bytes_are_numbers_again(numbers: list[int]) -> None:
    array = np.array(numbers, np.uint16)
    assert hr.io.decode_raw(array.astype("<u2").tobytes(), np.uint16).tolist() == numbers
    swapped = hr.io.decode_raw([array.astype(">u2").tobytes()], np.uint16, little_endian=False)
    assert swapped.tolist() == [numbers]
    assert swapped.dtype == np.uint16


def test_decoded_numbers_are_the_callers_own() -> None:
    decoded = hr.io.decode_raw(b"abcd", np.uint8)
    decoded[0] = 0
    assert decoded.flags.owndata
    nested = hr.io.decode_raw(np.array([[b"ab"], [b"cd"]], object), np.uint8)
    assert nested.shape == (2, 1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((b"abc", np.int16), "3 bytes are no multiple of 2, the size of int16"),
        (([b"ab", b"abcd"], np.int16), "element 1 has 4, and those before it 2"),
        (("text", np.int16), "takes bytes, or an array or a list of them, and not str"),
        (([b"a", "b"], np.uint8), "and not str"),
        ((np.array([b"a", 7], object), np.uint8), "takes bytes, and not int"),
        (([b"a", [b"b"]], np.uint8), "differ in shape"),
        ((b"ab", object), "gives numbers, and not object"),
        ((b"ab", np.int16, True, 3), "fixed_length is a positive multiple of the 2 bytes of int16, and not 3"),
        ((b"ab", np.int16, True, 0), "fixed_length is a positive multiple"),
    ],
)
def test_raw_bytes_that_are_no_numbers_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        hr.io.decode_raw(*arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.array([b"ab", b"c"]), r"array of dtype \|S2: it drops the NUL bytes at the end of each.*dtype=object"),
        (np.array(["ab"]), "array of dtype <U2: make it one of bytes, with dtype=object"),
        (np.array([1]), "array of dtype int64: make it one of bytes"),
    ],
)
def test_an_array_that_is_none_of_bytes_is_told_what_to_be(given: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        hr.io.decode_raw(given, np.uint8)
