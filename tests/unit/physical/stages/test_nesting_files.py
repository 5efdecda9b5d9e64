"""Datasets of small files: each is known to be read to its end with its last record, and they are taken together."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import Failing
from tests.laws.running import REFERENCE, Way, assert_same, history, resumed

import headrace as hr
from headrace.physical.stages.nesting_turns import TurnsBlock

WAYS = [Way(hr.Options(seed=3), block_sizes=(size,)) for size in (1000, 3, 1)]
LIMIT = 60


def _not_seven(line: str) -> tuple[str, int]:
    if line == "7":
        raise Failing("seven")
    return line, len(line)


INSIDE: dict[str, Callable[[str], hr.Dataset]] = {
    "lines": hr.TextLineDataset,
    "lines, a few bytes at a time": lambda path: hr.TextLineDataset(path, buffer_size=3),
    "two files": lambda path: hr.TextLineDataset([path, path]),
    "map": lambda path: hr.TextLineDataset(path).map(_not_seven),
    "batch": lambda path: hr.TextLineDataset(path).batch(2),
    "filter": lambda path: hr.TextLineDataset(path).filter(lambda line: line != "0"),
    "ignored": lambda path: hr.TextLineDataset(path).ignore_errors(),
    "numbers": lambda path: hr.CsvDataset(path, [0]),
    "records": lambda path: hr.FixedLengthRecordDataset(path, 2),
}

# A line that is no text, and no number either, is in some of them; and a last one without its end.
lines = st.lists(st.sampled_from([b"0", b"7", b"33", b"\xff"]), max_size=7)
contents = st.lists(st.tuples(lines, st.booleans()), max_size=6)


def written(contents: list[tuple[list[bytes], bool]], folder: Path) -> list[str]:
    paths = []
    for number, (found, is_ended) in enumerate(contents):
        path = folder / f"{number}.txt"
        path.write_bytes(b"\n".join(found) + (b"\n" if is_ended else b""))
        paths.append(str(path))
    return [*paths, str(folder / "missing")] if len(paths) == 3 else paths


@given(
    contents,
    st.sampled_from(sorted(INSIDE)),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([None, 2]),
    st.sampled_from(WAYS),
)
def test_elements_failures_and_states_are_those_of_the_reference(
    contents: list[tuple[list[bytes], bool]], inside: str, cycle: int, block: int, calls: int | None, way: Way
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(contents, Path(folder))

        def build() -> hr.Dataset:
            return hr.Dataset.from_tensor_slices(paths or [""]).interleave(
                INSIDE[inside], cycle_length=cycle, block_length=block, num_parallel_calls=calls if cycle > 1 else None
            )

        expected, _ = history(build(), REFERENCE, limit=LIMIT)
        found, states = history(build(), way, limit=LIMIT)
        assert_same(expected, found)
        for count, state in list(enumerate(states))[::4]:
            assert_same(expected[count:], resumed(build(), state, REFERENCE if count % 2 else way, limit=LIMIT - count))


@pytest.mark.parametrize("inside", ["lines", "numbers", "records"])
@pytest.mark.parametrize("cycle", [1, 8])
def test_many_are_taken_in_one_block(inside: str, cycle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = written([([b"0", b"1", b"2"], True)] * 200, tmp_path)
    taken: list[int] = []
    block = TurnsBlock.block

    def counted(self: TurnsBlock, count: int) -> Any:
        taken.append(count)
        return block(self, count)

    monkeypatch.setattr(TurnsBlock, "block", counted)
    ds = hr.Dataset.from_tensor_slices(paths).interleave(INSIDE[inside], cycle_length=cycle)
    elements = history(ds, Way(hr.Options(), block_sizes=(1000,)), limit=1000)[0]
    assert sum(taken) == len(elements)
