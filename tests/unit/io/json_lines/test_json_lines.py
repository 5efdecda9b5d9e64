from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.io.compressing import COMPRESS
from tests.unit.io.json_lines.json_texts import texts
from tests.unit.io.reading import everything_of

import headrace as hr
from headrace.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from headrace.io.block_reader import Records
from headrace.io.json_lines.columns import columns_of_lines
from headrace.io.json_lines.fields import JsonFields
from headrace.io.json_lines.reader import JsonLinesParser, JsonLinesReader
from headrace.io.reader import RecordPosition
from headrace.io.text.reader import line_ends

Fields = dict[str, Any]

ENTRIES: dict[str, list[Any]] = {
    "a": [0, np.int64, np.int8(5), np.uint8, np.uint64(3), 0.5, np.float64, str, True],
    "b": [0.0, np.float64, np.float16(1), np.float64(-0.0), float("nan"), np.int16],
    "c": [False, bool, np.bool_],
    "s": ["", "none", str],
    "v": [
        np.zeros(2, np.float32),
        np.arange(2),
        hr.TensorSpec((None,), np.int32),
        hr.TensorSpec((2,), np.float64),
        hr.TensorSpec((None,), str),
        hr.TensorSpec((None, 2), np.int64),
        hr.TensorSpec((None,), bool),
        hr.TensorSpec((0,), np.int64),
    ],
    "other": [{"a": 0, "b": {"c": ""}}, {"a": np.int64}, str],
}
schemas = st.fixed_dictionaries({}, optional={key: st.sampled_from(forms) for key, forms in ENTRIES.items()}).filter(
    bool
)


def plain(value: Any) -> Any:
    """A value with which nothing but the same value of the same type is equal."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}, list(value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, [plain(item) for item in value.ravel().tolist()]
    if isinstance(value, np.generic):
        return value.dtype.str, value.tobytes()
    return type(value), repr(value)


def told(records: Records, fields: JsonFields | None) -> list[Any]:
    """What is known of some records, less the placeholders of bad ones."""
    columns = [records.rows] if records.rows is not None else records.arrays
    rows = [
        str(records.faults[index]) if index in records.faults else [plain(column[index]) for column in columns]
        for index in range(len(records))
    ]
    return [rows, records.ends.tolist(), list(records.lines), records.line_breaks, records.blank_bytes]


@given(body=texts, schema=schemas)
@example(b'{"v": []}\n', {"v": hr.TensorSpec((0,), np.int64)})
def test_the_fast_way_gives_what_the_careful_one_gives_or_nothing(body: bytes, schema: Fields) -> None:
    fields = JsonFields.of(schema)
    if body:
        fast, careful = JsonLinesParser(fields).parse(body, last=True), JsonLinesParser(fields).parse_carefully(body)
        assert [array.dtype for array in fast.arrays] == [array.dtype for array in careful.arrays]
        assert told(fast, fields) == told(careful, fields)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"b":0.5,"c":true,"s":"x","v":[1,2]}\n' * 9,
        '{"a": 1, "s": "\\ud83d\\ude00 é"}\r\n{"v": [3, 4], "zz": {"deep": [[[]]]}}\r\n',
        '{"a":-7,"b":7,"s":null}\n{}',
        '{"s":"Information on NaN and Infinity"}\n',
        '{"b":NaN,"other":[NaN]}\n{"b": NaN}\n',
        '{"v":[1,2],"w":' + str([[1, 2]] * 60) + "}\n",
    ],
)
def test_well_formed_lines_never_need_the_careful_way(text: str) -> None:
    fields = JsonFields.of({"a": 0, "b": 0.0, "c": False, "s": "", "v": np.zeros(2, np.float32)})
    body = text.encode()
    assert columns_of_lines(body, line_ends(body), fields) is not None


@given(body=texts, schema=st.none() | schemas, size=st.integers(1, 60), sizes=st.lists(st.integers(1, 3), max_size=9))
def test_every_record_is_delivered_once_whatever_the_buffer(
    tmp_path_factory: pytest.TempPathFactory, body: bytes, schema: Fields | None, size: int, sizes: list[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "records.jsonl"
    path.write_bytes(body)
    fields = None if schema is None else JsonFields.of(schema)

    def read(buffer_size: int | None, sizes: list[int]) -> list[Any]:
        steps = everything_of(JsonLinesReader(str(path), fields, buffer_size=buffer_size), sizes)
        return [
            step[1:] if isinstance(step[1], type) else (step[1], [plain(value) for _, value in step[2]])
            for step in steps
        ]

    assert read(size, sizes) == read(None, [])


def test_an_error_names_the_line_of_a_first_record_after_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"\n\n{}\n")
    with pytest.raises(InvalidArgumentError, match=r"records\.jsonl:3: field 'a' is missing"):
        JsonLinesReader(str(path), JsonFields.of({"a": np.int64})).read(1)


@given(body=texts, schema=st.none() | schemas)
def test_reading_goes_on_from_every_record(
    tmp_path_factory: pytest.TempPathFactory, body: bytes, schema: Fields | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "places.jsonl"
    path.write_bytes(body)
    fields = None if schema is None else JsonFields.of(schema)

    def read_from(position: RecordPosition | None) -> list[Any]:
        return everything_of(JsonLinesReader(str(path), fields, position=position), [1] * 200)

    whole = read_from(None)
    for index, (position, *_) in enumerate(whole):
        assert repr(read_from(RecordPosition.from_json(position.to_json()))) == repr(whole[index:])


@given(
    values=st.lists(
        st.dictionaries(
            st.text(max_size=3),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3),
                max_leaves=6,
            ),
            max_size=4,
        ),
        max_size=5,
    )
)
def test_an_object_is_what_json_makes_of_it(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "objects.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    assert [plain(element) for element in hr.JsonLinesDataset(path)] == [plain(value) for value in values]


def faults_of(tmp_path: Path, text: str, record_defaults: Fields | None = None) -> list[str]:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    fields = None if record_defaults is None else JsonFields.of(record_defaults)
    steps = everything_of(JsonLinesReader(str(path), fields))
    return [step[2].removeprefix(f"{path}:") for step in steps if isinstance(step[1], type)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1, "b" 2}', "no JSON, column 14: Expecting ':' delimiter"),
        ('  {"a": }', "no JSON, column 9: Expecting value"),
        ('{"a": 1} {"a": 2}', "no JSON, column 10: Extra data"),
        ("[1, 2]", "a record is a JSON object, and this is an array"),
        ("17", "a record is a JSON object, and this is a number"),
        ("null", "a record is a JSON object, and this is null"),
        ('"text"', "a record is a JSON object, and this is a string"),
        ("true", "a record is a JSON object, and this is a bool"),
        ('{"a": "\\ud800"}', r"text with half of a surrogate pair ('\ud800') has no form in UTF-8"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "column 206: nested more than 200 deep"),
        ('{"a": [[1], [2, 3]]}', "a list must be an array, but its items differ in shape: "),
    ],
)
def test_what_is_wrong_with_a_line_is_told_with_its_column(tmp_path: Path, line: str, message: str) -> None:
    (fault,) = faults_of(tmp_path, f'{{"good": 1}}\n\n{line}\n{{"good": 2}}\n')
    assert fault.startswith(f"3: {message}")


@pytest.mark.parametrize(
    ("record_defaults", "line", "message"),
    [
        ({"a": 0}, '{"a": "1"}', "field 'a': '1' is not a valid int32"),
        ({"a": 0}, '{"a": 1.0}', "field 'a': 1.0 is not a valid int32"),
        ({"a": 0}, '{"a": 2147483648}', "field 'a': 2147483648 is not a valid int32"),
        ({"a": 0}, '{"a": true}', "field 'a': True is not a valid int32"),
        ({"a": np.uint8}, '{"a": -1}', "field 'a': -1 is not a valid uint8"),
        ({"a": 0.0}, '{"a": 1e39}', "field 'a': 1e+39 is not a valid float32"),
        ({"a": 0.0}, '{"a": 1' + "0" * 400 + "}", "field 'a': 1000000"),
        ({"a": True}, '{"a": 1}', "field 'a': 1 is not a valid bool"),
        ({"a": ""}, '{"a": ["x"]}', "field 'a': ['x'] is not a valid str"),
        ({"a": np.int64}, "{}", "field 'a' is missing, or null; give a default in record_defaults if it may be"),
        ({"a": {"b": np.int64}}, '{"a": null}', "field 'a.b' is missing, or null"),
        ({"a": {"b": 0}}, '{"a": [1]}', "field 'a' is no object, but [1]"),
        ({"a": np.zeros(2)}, '{"a": [1]}', "field 'a': [1] is not a valid float64 array of shape (2,)"),
        (
            {"a": hr.TensorSpec((None, 2), str)},
            '{"a": [["x"]]}',
            "field 'a': ['x'] is not a valid str array of shape (any, 2)",
        ),
        (
            {"a": hr.TensorSpec((None,), np.int64)},
            '{"a": [1, null]}',
            "field 'a': [1, None] is not a valid int64 array",
        ),
    ],
)
def test_what_does_not_fit_a_field_is_told_with_its_name(
    tmp_path: Path, record_defaults: Fields, line: str, message: str
) -> None:
    (fault,) = faults_of(tmp_path, f"{line}\n", record_defaults)
    assert fault.startswith(f"1: {message}")


def test_a_bad_line_hides_no_good_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \xff}\nno JSON\n{"a": 4}')
    iterator = iter(hr.JsonLinesDataset(path, record_defaults={"a": np.int64}))
    assert next(iterator) == {"a": 1}
    with pytest.raises(InvalidArgumentError, match=r"JsonLinesDataset, .*a\.jsonl:2: not UTF-8"):
        next(iterator)
    with pytest.raises(InvalidArgumentError, match=r"a\.jsonl:3: no JSON, column 1: Expecting value"):
        next(iterator)
    assert list(iterator) == [{"a": 4}]
    assert list(hr.JsonLinesDataset(path, on_error="skip")) == [{"a": 1}, {"a": 4}]


def test_a_field_that_is_missing_or_null_is_its_default(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "inner": {"text": "x"}, "v": [1, 2], "n": [3]}\n{"inner": null, "v": null}\n')
    record_defaults = {"id": 7, "v": np.ones(2), "inner": {"text": "none"}, "n": np.array([0, 0, 0])}
    dataset = hr.JsonLinesDataset(path, record_defaults={**record_defaults, "n": hr.TensorSpec((None,), np.int64)})
    with pytest.raises(InvalidArgumentError, match=r"a\.jsonl:2: field 'n' is missing"):
        list(dataset)
    del record_defaults["n"]
    first, second = hr.JsonLinesDataset(path, record_defaults=record_defaults)
    assert list(second) == ["id", "v", "inner"], "in the order of record_defaults"
    assert (first["id"], first["v"].tolist(), first["inner"]) == (1, [1, 2], {"text": "x"})
    assert (second["id"], second["v"].tolist(), second["inner"]) == (7, [1, 1], {"text": "none"})
    assert second["id"].dtype == np.int32


def test_lists_of_any_length_are_arrays_that_can_be_padded(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": [1, 2, 3], "label": 0}\n{"tokens": [], "label": 1}\n')
    spec = hr.TensorSpec((None,), np.int32)
    dataset = hr.JsonLinesDataset(path, record_defaults={"tokens": spec, "label": np.int64})
    assert dataset.element_spec == {"tokens": spec, "label": hr.TensorSpec((), np.int64)}
    (batch,) = dataset.padded_batch(2)
    assert batch["tokens"].tolist() == [[1, 2, 3], [0, 0, 0]]
    assert batch["tokens"].dtype == np.int32
    assert batch["label"].tolist() == [0, 1]


def test_lists_are_arrays_without_fields_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"v": [[1, 2], [3, 4]], "s": ["a", "bc"], "e": []}\n')
    (element,) = hr.JsonLinesDataset(path)
    assert element["v"].tolist() == [[1, 2], [3, 4]]
    assert (element["s"].dtype, element["s"].tolist()) == (np.dtype(object), ["a", "bc"])
    assert element["e"].shape == (0,)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_files_follow_each_other_and_blank_lines_are_none(tmp_path: Path, n: int) -> None:
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path in paths:
        path.write_text("\n \t\r\n" + "".join(f'{{"a": {number}}}\n\n' for number in range(n)) + "  ")
    expected = [{"a": number} for number in range(n)] * 2
    assert list(hr.JsonLinesDataset(paths)) == expected
    assert list(hr.JsonLinesDataset(paths, record_defaults={"a": np.int64})) == expected
    both = list(hr.JsonLinesDataset(paths, num_parallel_reads=2))
    assert sorted(element["a"] for element in both) == sorted(element["a"] for element in expected)


def test_blank_lines_alone_are_not_held(tmp_path: Path) -> None:
    path = tmp_path / "blank.jsonl"
    path.write_text("\n" * 10_000 + '{"a": 1}\n')
    reader = JsonLinesReader(str(path), buffer_size=100, max_record_bytes=200)
    assert [step[1] for step in everything_of(reader)] == [10_001]


def test_a_line_beyond_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": "' + "x" * 100 + '"}\n{"a": 3}')
    for buffer_size in (1, 7, 64, 1000):
        told_steps = everything_of(JsonLinesReader(str(path), buffer_size=buffer_size, max_record_bytes=50))
        assert [step[1] for step in told_steps] == [1, ResourceExhaustedError, 3]


@pytest.mark.parametrize("kind", sorted(COMPRESS))
def test_files_are_compressed_as_is_usual(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(COMPRESS[kind](b'{"a": 1}\n{"a": 2}\n'))
    assert list(hr.JsonLinesDataset(path, kind.lower())) == [{"a": 1}, {"a": 2}]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataLossError, match="it was cut short"):
        list(hr.JsonLinesDataset(path, kind))


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(NotFoundError, match="no such file: absent"):
        list(hr.JsonLinesDataset("absent.jsonl"))


@pytest.mark.parametrize(
    "record_defaults",
    [
        {},
        [],
        {"a": None},
        {"a": {}},
        {1: 0},
        {"a": b"bytes"},
        {"a": np.zeros(2, "datetime64[s]")},
        {"a": hr.TensorSpec(None, int)},
        {"a": object},
        {"a": 1 << 70},
        {"a": [[1], [2, 3]]},
        {"a": np.longdouble},
    ],
)
def test_fields_that_json_does_not_have_are_refused_at_once(record_defaults: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="record_defaults"):
        hr.JsonLinesDataset("a.jsonl", record_defaults=record_defaults)


@pytest.mark.parametrize("argument", [{"compression_type": "RAR"}, {"buffer_size": -1}, {"on_error": "ignore"}])
def test_arguments_that_do_not_fit_are_refused_at_once(argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.JsonLinesDataset("a.jsonl", **argument)


def test_defaults_give_types_as_those_of_csv_do() -> None:
    spec = hr.JsonLinesDataset(
        "a.jsonl", record_defaults={"i": 0, "f": 0.0, "b": True, "s": "", "long": 1 << 40, "list": [1.5, 2.5]}
    ).element_spec
    assert {name: str(leaf) for name, leaf in spec.items()} == {
        "i": "TensorSpec(shape=(), dtype=int32)",
        "f": "TensorSpec(shape=(), dtype=float32)",
        "b": "TensorSpec(shape=(), dtype=bool)",
        "s": "TensorSpec(shape=(), dtype=str)",
        "long": "TensorSpec(shape=(), dtype=int64)",
        "list": "TensorSpec(shape=(2,), dtype=float64)",
    }
