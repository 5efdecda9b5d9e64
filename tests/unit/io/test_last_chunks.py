"""A reader that calls a chunk its last one gives nothing after it, not even an error."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.io.text.reader import LineReader

lines = st.lists(st.sampled_from([b"", b"a", b"\xff", b"long" * 9]), max_size=6)


@given(lines, st.booleans(), st.integers(1, 40), st.integers(1, 40), st.integers(1, 3))
def test_nothing_comes_after_it_and_it_is_told_where_all_was_read_at_once(
    found: list[bytes], is_ended: bool, buffer_size: int, longest: int, most: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.txt")
        path.write_bytes(b"\n".join(found) + (b"\n" if is_ended else b""))
        reader = LineReader(str(path), buffer_size=buffer_size, max_record_bytes=longest)
        has_ended = False
        while True:
            try:
                chunk = reader.read(most)
            except HeadraceError:
                assert not has_ended
                continue
            assert chunk is None or not has_ended
            if chunk is None:
                break
            has_ended = chunk.is_last


def test_a_small_file_is_known_to_be_read_with_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\nc\n")
    reader = LineReader(str(path))
    assert [chunk.is_last for chunk in (reader.read(2), reader.read(2)) if chunk is not None] == [False, True]
    reader.close()
