from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import FailedPreconditionError, InvalidArgumentError

keys = st.from_regex(r"([a-z]{0,3}/){0,2}[a-zé]{1,4}", fullmatch=True).map(lambda key: key * 20)
extensions = st.from_regex(r"[a-z]{1,3}(\.[a-z]{1,3})?", fullmatch=True)
elements = st.tuples(keys, st.dictionaries(extensions, st.binary(max_size=1_100), min_size=1, max_size=3)).map(
    lambda parts: {"__key__": parts[0], **parts[1]}
)


def unlike_neighbours(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for number, one in enumerate(listed) if not number or one["__key__"] != listed[number - 1]["__key__"]]


@given(listed=st.lists(elements, max_size=5).map(unlike_neighbours))
def test_what_is_written_is_read_back_by_us_and_by_tarfile(
    tmp_path_factory: pytest.TempPathFactory, listed: list[dict[str, Any]]
) -> None:
    listed = unlike_neighbours(listed)
    path = tmp_path_factory.getbasetemp() / "written.tar"
    with hr.io.TarWriter(path) as writer:
        for element in listed:
            writer.write(element)
    assert list(hr.TarDataset(path)) == [{**element, "__url__": str(path)} for element in listed]
    with tarfile.open(path) as archive:
        files = [(one.name, one.mtime, one.mode, archive.extractfile(one).read()) for one in archive]  # type: ignore[union-attr]  # a file
    assert files == [
        (f"{element['__key__']}.{name}", 0, 0o644, content)
        for element in listed
        for name, content in element.items()
        if name != "__key__"
    ]


def test_gnu_tar_reads_what_is_written(tmp_path: Path) -> None:
    if shutil.which("tar") is None:
        pytest.skip("needs the program tar")
    path = tmp_path / "a.tar"
    long = "folder/" * 40 + "key"
    with hr.io.TarWriter(path) as writer:
        writer.write({"__key__": "0001", "txt": "é"})
        writer.write({"__key__": long, "bin": bytes(1_000)})
    listed = subprocess.run(["tar", "-tf", path], check=True, capture_output=True, text=True)
    assert listed.stdout.split() == ["0001.txt", f"{long}.bin"]
    assert not listed.stderr


def test_the_same_elements_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.tar", "b.tar"):
        with hr.io.TarWriter(tmp_path / name) as writer:
            writer.write({"__key__": "1", "a": b"x" * 600, "b": b""})
    content = (tmp_path / "a.tar").read_bytes()
    assert content == (tmp_path / "b.tar").read_bytes()
    assert len(content) % 10_240 == 0


def test_values_are_written_as_the_usual_handlers_read_them(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    element = {"txt": "é", "cls": 3, "index": np.int64(4), "json": {"a": [1, 2], "b": 0.5}, "bin": bytearray(b"x")}
    with hr.io.TarWriter(path) as writer:
        writer.write(
            {"__key__": "1", "__url__": "elsewhere.tar", **element, "f": 0.1, "g": np.float32(0.5), "yes": True}
        )
    (read,) = hr.TarDataset(path, handlers="auto")
    assert (read["txt"], read["cls"], read["index"], read["bin"]) == ("é", 3, 4, b"x")
    assert read["json"]["a"].tolist() == [1, 2]
    assert (read["f"], read["g"], read["yes"], read["__url__"]) == (b"0.1", b"0.5", b"1", str(path))
    (raw,) = hr.TarDataset(path)
    assert json.loads(raw["json"]) == {"a": [1, 2], "b": 0.5}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no key": ({"a": b""}, "needs a str under '__key__', and has None"),
    "a key of bytes": ({"__key__": b"1", "a": b""}, "needs a str"),
    "a key with a dot": ({"__key__": "1.5", "a": b""}, "would not be read back"),
    "an empty key": ({"__key__": "a/", "a": b""}, "would not be read back"),
    "capitals": ({"__key__": "1", "JPG": b""}, "would not be read back"),
    "a slash": ({"__key__": "1", "a/b": b""}, "would not be read back"),
    "a nul": ({"__key__": "1\0", "a": b""}, "would not be read back"),
    "nothing": ({"__key__": "1"}, "has no files"),
    "an object": ({"__key__": "1", "a": object()}, "1.a is of type object"),
    "an array": ({"__key__": "1", "a": np.zeros(3)}, "1.a is of type ndarray"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_would_not_be_read_back_is_refused_and_not_written(tmp_path: Path, case: str) -> None:
    element, said = REFUSED[case]
    path = tmp_path / "a.tar"
    with hr.io.TarWriter(path) as writer:
        with pytest.raises(InvalidArgumentError, match=said):
            writer.write(element)
        writer.write({"__key__": "good", "a": b"x"})
        with pytest.raises(InvalidArgumentError, match="twice in a row"):
            writer.write({"__key__": "good", "b": b"x"})
    assert [one["__key__"] for one in hr.TarDataset(path)] == ["good"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.tar"
    with pytest.raises(ZeroDivisionError), hr.io.TarWriter(path) as writer:
        writer.write({"__key__": "1", "a": b"x"})
        assert not path.exists()
        _ = 1 // 0
    assert list(path.parent.iterdir()) == []
    with hr.io.TarWriter(path) as writer:
        pass
    assert list(path.parent.iterdir()) == [path]
    assert list(hr.TarDataset(path)) == []
    writer.close()
    with pytest.raises(FailedPreconditionError, match="closed"):
        writer.write({"__key__": "1", "a": b"x"})
