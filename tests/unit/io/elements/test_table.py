"""A table of contents that is not as it was written is said to be so, whatever is wrong with it."""

from __future__ import annotations

import copy
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import folder
from tests.unit.io.elements.hostile import elements_file, leaf, segment, table

import headrace as hr
from headrace.cli import main
from headrace.errors import DataLossError, HeadraceError
from headrace.io.elements.file import MAGIC, TAIL, ElementFile
from headrace.io.elements.writer import ElementWriter
from headrace.testing.restoring import same

ELEMENTS: list[Any] = [(n, {"b": "é" * n, "a": np.arange(n)}, np.float32(n)) for n in range(6)]


ODD: list[Any] = [11, -1, "x", None, [], {}, 1.5, True, 1 << 70]


def with_table(contents: Any) -> Path:
    return elements_file(folder() / "hostile.elements", contents)


BROKEN: dict[str, Any] = {
    "no table": [],
    "null": None,
    "a text": "x",
    "no keys": {},
    "meta is a list": {**table("*"), "meta": []},
    "segments is a number": {**table("*"), "segments": 7},
    "segments are numbers": {**table("*"), "segments": [7]},
    "an unknown compression": {**table("*"), "compression": "XZ"},
    "compressions": {**table("*"), "compression": ["GZIP"]},
    "origins are numbers": {**table("*"), "origins": [3]},
    "origins before the file": {**table("*"), "origins": [{"at": -1, "nbytes": 1, "crc32": 0, "count": 1}]},
    "not JSON": b"{",
    "no UTF-8": b'{"\xff": 1}',
    "deep": b"[" * 100_000,
    "a number of many digits": b'{"meta": ' + b"9" * 10_000 + b"}",
    **{
        f"{key} is {value!r:.20}": {**table("*"), "segments": [{**segment("*", [leaf()]), key: value}]}
        for key in ("count", "at", "nbytes", "crc32", "columns", "structure")
        for value in ODD
        if (key, value) not in [("crc32", 11), ("count", 11)]  # as many empty arrays as anybody likes
    },
    **{
        f"a column with {column!r:.60}": {**table("*"), "segments": [segment("*", [column])]}
        for column in [
            {},
            {"shape": [0]},
            {"shape": [1 << 62, 1 << 62, 0], "values": {"dtype": "<i8", "at": 0, "count": 0}},
            {"shape": [0] * 100, "values": {"dtype": "<i8", "at": 0, "count": 0}},
            {"shape": [-1], "values": {"dtype": "<i8", "at": 0, "count": 0}},
            {"shape": 3, "values": {"dtype": "<i8", "at": 0, "count": 0}},
            {"shape": [0], "values": {"dtype": "O", "at": 0, "count": 0}},
            {"shape": [0], "values": {"dtype": "V", "at": 0, "count": 0}},
            {"shape": [0], "values": {"dtype": "no dtype", "at": 0, "count": 0}},
            {"shape": [0], "values": {"dtype": {"names": ["a"], "formats": ["O"]}, "at": 0, "count": 0}},
            {"shape": [0], "values": {"dtype": "<i8", "at": -8, "count": 0}},
            {"shape": [1], "values": {"dtype": "<i8", "at": 0, "count": 1}},
            {"shape": [0], "values": {"dtype": "<i8", "at": 0, "count": -1}},
            {"shape": [0], "text": "pickle", "ends": {"dtype": "<i8", "at": 0, "count": 1}, "values": leaf()["values"]},
            {"axes": [None], "shapes": {"dtype": "<f8", "at": 0, "count": 0}, "values": leaf()["values"]},
            {"axes": [], "shapes": {"dtype": "<i8", "at": 0, "count": 3}, "values": leaf()["values"]},
            {"axes": ["x"], "shapes": {"dtype": "<i8", "at": 0, "count": 1}, "values": leaf()["values"]},
        ]
    },
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_a_broken_table_is_a_loss_of_data_that_names_the_file(case: str) -> None:
    place = with_table(BROKEN[case])
    with pytest.raises(DataLossError, match=r"hostile.elements"):
        file = ElementFile(place)
        file.rows(range(len(file)))


@pytest.mark.parametrize("case", sorted(BROKEN))
@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_cache_with_a_broken_table_is_named_checked_and_removed(
    case: str, executor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elements_file(tmp_path / "k.elements", BROKEN[case])
    ds = hr.Dataset.range(3).cache(tmp_path, key="k").with_options(hr.Options(executor=executor))
    with pytest.raises(DataLossError, match=r"k.elements.*remove it with: headrace cache clear"):
        list(ds)
    assert main(["cache", "ls", str(tmp_path)]) == 0
    assert main(["cache", "verify", str(tmp_path)]) in (0, 1)
    assert main(["cache", "clear", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("1 cache removed\n")
    assert list(ds) == [0, 1, 2]


@pytest.mark.parametrize(
    "meta",
    [{}, {"cache": []}, {"cache": {"key": 3}}, {"cache": {"key": "\x1b[2J", "plan": [], "epoch": [], "content": 1}}],
)
def test_what_says_whose_cache_it_is_may_be_anything(
    meta: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elements_file(tmp_path / "k.elements", table("*", meta=meta))
    with pytest.raises(HeadraceError, match="headrace cache clear"):
        list(hr.Dataset.range(3).cache(tmp_path, key="k"))
    assert main(["cache", "ls", str(tmp_path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_folders_and_links_to_nothing_are_no_caches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.elements").mkdir()
    (tmp_path / "link.elements").symlink_to(tmp_path / "nothing")
    for command in ("ls", "verify"):
        main(["cache", command, str(tmp_path)])
        out = capsys.readouterr().out
        assert "there is no such file" in out
        assert "folder.elements" not in out
    assert main(["cache", "clear", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["folder.elements"]


def _paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path] * bool(path) + [found for key, part in parts for found in _paths(part, (*path, key))]


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.sampled_from([0, 1, 2, 3, "*", "<i8", "|u1", "<f4"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tuple", "dict", "at"]), inner),
    max_leaves=4,
)


@given(st.sampled_from([None, "GZIP"]), st.data())
def test_a_table_that_was_changed_anywhere_gives_elements_or_a_loss_of_data(
    compression: str | None, data: st.DataObject
) -> None:
    place = folder() / "changed.elements"
    with ElementWriter(place, compression=compression) as writer:
        writer.add_origins([f"origin {number}" for number in range(len(ELEMENTS))])
        writer.add(ELEMENTS)
    content = place.read_bytes()
    length, _, _ = TAIL.unpack(content[-TAIL.size :])
    start = len(content) - TAIL.size - length
    contents = json.loads(content[start : start + length])
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(_paths(contents)))
        parent = contents
        for key in path[:-1]:
            parent = parent[key]
        if isinstance(parent, dict) and data.draw(st.booleans()):
            del parent[path[-1]]
        else:
            parent[path[-1]] = copy.deepcopy(data.draw(anything))
    text = json.dumps(contents).encode()
    place.write_bytes(content[:start] + text + TAIL.pack(len(text), zlib.crc32(text), MAGIC))
    try:
        file = ElementFile(place)
        file.verify()
        found = file.rows(range(min(len(file), 20)))
        _ = file.spec(), file.has_tuples, file.origin(0), file.arrays(range(min(len(file), 1)))
    except HeadraceError:
        return
    assert len(found) == min(len(file), 20)


def test_the_bytes_of_texts_and_shapes_are_compared_with_what_is_said_of_them() -> None:
    for changed in (
        {"ends": [0, 9, 3]},
        {"ends": [1, 2, 3]},
        {"ends": [0, 1, 2]},
        {"shapes": [[-1], [4]]},
        {"shapes": [[1], [1]]},
        {"shapes": [[1 << 62], [3]]},
    ):
        ((kind, numbers),) = changed.items()
        values = np.frombuffer(b"abc", np.uint8)
        data = np.array(numbers, np.int64).tobytes() + values.tobytes()
        size = len(data) - 3
        where = {"dtype": "<i8", "at": 0, "count": size // 8}
        text = {"shape": [], "text": "bytes", "ends": where}
        column = {**(text if kind == "ends" else {"axes": [None], "shapes": where})}
        column["values"] = {"dtype": "|u1", "at": size, "count": 3}
        at = len(MAGIC)
        entry = segment("*", [column], count=2, at=at, nbytes=len(data), crc32=zlib.crc32(data))
        contents = json.dumps({**table("*"), "segments": [entry]}).encode()
        place = folder() / "hostile.elements"
        place.write_bytes(MAGIC + data + contents + TAIL.pack(len(contents), zlib.crc32(contents), MAGIC))
        with pytest.raises(DataLossError, match=r"hostile.elements: the elements at byte 20"):
            ElementFile(place).rows(range(2))


def test_elements_that_were_written_pass() -> None:
    for compression in (None, "GZIP"):
        place = folder() / "good.elements"
        with ElementWriter(place, compression=compression) as writer:
            writer.add(ELEMENTS)
        file = ElementFile(place)
        file.verify()
        assert same(file.rows(range(len(ELEMENTS))), ELEMENTS)
