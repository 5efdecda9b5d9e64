"""What holds for a reader of any format: memory is bounded by the buffer, and the libraries that parse load late."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headrace.io.block_reader import BlockReader
from headrace.io.csv.reader import CsvReader
from headrace.io.csv.record_format import CsvFormat
from headrace.io.text.reader import LineReader

READERS: dict[str, Callable[[str], BlockReader]] = {
    "lines": lambda path: LineReader(path, buffer_size=1 << 16),
    "compressed lines": lambda path: LineReader(path, "GZIP", 1 << 16),
    "numbers": lambda path: CsvReader(path, CsvFormat([0.0, 0.0]), buffer_size=1 << 16),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_file_is_never_held_whole(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "long.csv"
    content = b"1.25,2.5\n" * 1_000_000
    path.write_bytes(gzip.compress(content, 1) if "compressed" in kind else content)
    reader = READERS[kind](str(path))
    records = 0
    tracemalloc.start()
    while (chunk := reader.read(1_000)) is not None:
        records += len(chunk)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert records == 1_000_000
    # A buffer of 64 KiB, what is made of its 7,000 short records, and room to spare: not 9 MB.
    assert peak_bytes < 4_000_000


def test_a_record_much_longer_than_the_buffer_is_one_record(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    values = np.arange(50_000, dtype=np.float32)
    path.write_text("\n".join([",".join(map(str, values.tolist()))] * 2))
    reader = CsvReader(str(path), CsvFormat([0.0] * len(values)), buffer_size=100)
    chunk = reader.read(10)
    reader.close()
    assert chunk is not None
    assert chunk.matrix is not None
    assert (chunk.matrix == values).all()


def test_the_libraries_that_parse_are_imported_by_the_first_read_only() -> None:
    modules = "headrace.io, headrace.io.csv.reader, headrace.io.text.reader"
    code = f"import sys, {modules}; print([name for name in ('pyarrow', 'fsspec') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"
