from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.io.tar.tar_files import archive_of, member

import headrace as hr
from headrace.errors import DataError, DataLossError, InvalidArgumentError, NotFoundError
from headrace.testing import check_every_restore_point

EXECUTORS = pytest.mark.parametrize("executor", ["thread", "inline"])


def shard(path: Path, count: int, start: int = 0) -> Path:
    with hr.io.TarWriter(path) as writer:
        for number in range(start, start + count):
            writer.write({"__key__": f"{number:04}", "cls": number, "txt": f"text {number}"})
    return path


def classes(dataset: hr.Dataset, executor: str = "thread") -> list[Any]:
    return [element["cls"] for element in dataset.with_options(hr.Options(executor=executor))]


@EXECUTORS
def test_shards_are_read_one_after_the_other(tmp_path: Path, executor: str) -> None:
    paths = [shard(tmp_path / "a.tar", 3), shard(tmp_path / "b.tar", 0), shard(tmp_path / "c.tar", 2, start=3)]
    dataset = hr.TarDataset(paths, {"cls": int})
    assert classes(dataset, executor) == [0, 1, 2, 3, 4]
    assert list(hr.TarDataset(paths[0]))[1] == {
        "__key__": "0001",
        "__url__": str(paths[0]),
        "cls": b"1",
        "txt": b"text 1",
    }


@EXECUTORS
def test_shards_may_be_read_beside_each_other_and_named_by_a_dataset(tmp_path: Path, executor: str) -> None:
    paths = [shard(tmp_path / f"{number}.tar", 4, start=10 * number) for number in range(3)]
    inside = [1, 0, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
    for named in (paths, hr.Dataset.list_files(tmp_path / "*.tar", shuffle=False)):
        assert sorted(classes(hr.TarDataset(named, {"cls": int}, num_parallel_reads=2), executor)) == sorted(inside)
        assert classes(hr.TarDataset(named, {"cls": int}), executor) == sorted(inside)


def test_elements_may_be_unlike(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member("1.a", b"x"), member("2.b", b"y"), member("2.c", b"z"), member("3.a", b"w")]))
    names = [sorted(element) for element in hr.TarDataset(path)]
    assert names == [["__key__", "__url__", *rest] for rest in (["a"], ["b", "c"], ["a"])]
    with pytest.raises(InvalidArgumentError):
        list(hr.TarDataset(path).batch(2))
    (batch,) = hr.TarDataset(path).filter(lambda element: "a" in element).batch(2)
    assert batch["a"].tolist() == [b"x", b"w"]


@EXECUTORS
def test_any_element_is_resumed(tmp_path: Path, executor: str) -> None:
    listed = [member("1.a", b"1"), member("2.a"), member("2.a"), *(member(f"{n}.a", b"%d" % n) for n in range(3, 8))]
    good, cut = tmp_path / "good.tar", tmp_path / "cut.tar"
    good.write_bytes(archive_of(listed))
    cut.write_bytes(archive_of(listed)[:3_600])
    for on_error in ("raise", "skip"):
        for options in ({}, {"num_parallel_reads": 2}, {"random_access": True}):
            dataset = hr.TarDataset(
                [good, cut, tmp_path / "absent.tar", good], {"a": int}, on_error=on_error, **options
            )
            check_every_restore_point(dataset, executors=(executor,))


# ----------------------------------------------------------------------------------------- handlers


@EXECUTORS
@pytest.mark.parametrize("options", [{}, {"num_parallel_reads": 2}, {"random_access": True}])
def test_a_handler_that_fails_names_shard_key_and_extension(
    tmp_path: Path, executor: str, options: dict[str, Any]
) -> None:
    path = shard(tmp_path / "a.tar", 3)

    def picky(data: bytes) -> int:
        if data == b"1":
            raise ValueError("one is not allowed")
        return int(data)

    dataset = hr.TarDataset(path, {"cls": picky}, name="shards", **options)
    with iter(dataset.with_options(hr.Options(executor=executor))) as iterator:
        assert next(iterator)["cls"] == 0
        with pytest.raises(DataError) as caught:
            next(iterator)
        assert next(iterator)["cls"] == 2
    text = str(caught.value)
    assert text.startswith("TarDataset 'shards', ")
    assert f"{path}, key '0001': 'cls' by picky (test_tar.py:" in text
    assert "ValueError: one is not allowed" in text
    assert "ValueError" in repr(caught.value.__cause__)
    skipped = hr.TarDataset(path, {"cls": picky}, on_error="skip", **options)
    assert classes(skipped, executor) == [0, 2]
    with pytest.raises(DataError, match="max_failures is 0"):
        list(skipped.with_options(hr.Options(max_failures=0)))


def test_an_error_of_ours_in_a_handler_keeps_its_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member("1.jpg", b"no image")]))
    with pytest.raises(InvalidArgumentError, match=r"a\.tar, key '1': 'jpg' by _jpeg"):
        list(hr.TarDataset(path, "auto"))


class CodedError(DataError):
    def __init__(self, code: int, *, line: int) -> None:
        super().__init__(f"code {code}")
        self.line = line


def test_an_error_of_a_users_class_in_a_handler_keeps_what_it_carries(tmp_path: Path) -> None:
    def fails(content: bytes) -> None:
        raise CodedError(7, line=3)

    with pytest.raises(CodedError, match=r"a\.tar, key '0000': 'cls' by .*: code 7") as caught:
        list(hr.TarDataset(shard(tmp_path / "a.tar", 1), {"cls": fails}))
    assert caught.value.line == 3


def test_the_handler_of_the_longest_extension_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([member(f"1.{name}", b"x") for name in ("png", "seg.png", "left.seg.png", "other")]))
    (element,) = hr.TarDataset(path, {"png": lambda _: "png", "seg.png": lambda _: "seg.png", "__key__": len})
    assert {name: element[name] for name in ("png", "seg.png", "left.seg.png", "other", "__key__")} == {
        "png": "png",
        "seg.png": "seg.png",
        "left.seg.png": "seg.png",
        "other": b"x",
        "__key__": "1",
    }


def test_auto_knows_the_usual_files(tmp_path: Path) -> None:
    path, array = tmp_path / "a.tar", io.BytesIO()
    np.save(array, np.arange(3, dtype=np.int16))
    pixels = np.full((8, 8, 3), 200, np.uint8)
    import simplejpeg

    samples = np.zeros((5, 1), np.float32)
    contents = {
        "txt": "é".encode(),
        "cls": b"7",
        "json": json.dumps({"x": [1, 2]}).encode(),
        "npy": array.getvalue(),
        "jpg": simplejpeg.encode_jpeg(pixels),
        "wav": hr.audio.encode_wav(samples, 8_000),
        "bin": b"\0",
    }
    path.write_bytes(archive_of([member(f"1.{name}", content) for name, content in contents.items()]))
    (element,) = hr.TarDataset(path, handlers="auto")
    assert (element["txt"], element["cls"], element["bin"]) == ("é", 7, b"\0")
    assert element["json"]["x"].tolist() == [1, 2]
    assert element["npy"].tolist() == [0, 1, 2]
    assert element["jpg"].shape == (8, 8, 3)
    assert (element["wav"][0].shape, element["wav"][1]) == ((5, 1), 8_000)


def test_pickles_are_never_read(tmp_path: Path) -> None:
    path, array = tmp_path / "a.tar", io.BytesIO()
    np.save(array, np.array([object()]), allow_pickle=True)
    path.write_bytes(archive_of([member("1.npy", array.getvalue())]))
    with pytest.raises(InvalidArgumentError, match="only a pickle could"):
        list(hr.TarDataset(path, "auto"))


@pytest.mark.parametrize("handlers", ["everything", {".jpg": int}, {"JPG": int}, {"": int}, {"a/b": int}])
def test_handlers_that_no_extension_has_are_refused(handlers: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="handlers"):
        hr.TarDataset("a.tar", handlers)


def test_a_handler_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="that of 'cls' is of type int"):
        hr.TarDataset("a.tar", {"cls": 3})  # type: ignore[dict-item]  # that is the point


# ----------------------------------------------------------------------------------- by number


def test_random_access_shuffles_all_elements_and_reads_only_what_is_asked_for(tmp_path: Path) -> None:
    paths = [shard(tmp_path / "a.tar", 30), shard(tmp_path / "b.tar", 20, start=30)]
    dataset = hr.TarDataset(paths, {"cls": int}, random_access=True)
    assert len(dataset) == 50
    assert classes(dataset) == list(range(50))
    shuffled = classes(dataset.shuffle(50, seed=1))
    assert sorted(shuffled) == list(range(50))
    assert shuffled != list(range(50))
    assert classes(dataset.shard(7, 3)) == list(range(3, 50, 7))


def test_random_access_needs_names_and_plain_shards(tmp_path: Path) -> None:
    path = shard(tmp_path / "a.tar", 1)
    with pytest.raises(InvalidArgumentError, match="not a dataset of names"):
        hr.TarDataset(hr.Dataset.from_tensors(str(path)), random_access=True)
    with pytest.raises(InvalidArgumentError, match="GZIP"):
        hr.TarDataset(path, compression_type="GZIP", random_access=True)
    with pytest.raises(NotFoundError):
        list(hr.TarDataset(tmp_path / "absent.tar", random_access=True))


# ------------------------------------------------------------------------------------ skipping


def test_what_cannot_be_read_is_left_out_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = shard(tmp_path / "good.tar", 2)
    cut = tmp_path / "cut.tar"
    cut.write_bytes(good.read_bytes()[:2_600])
    files = [cut, tmp_path / "absent.tar", good]
    with caplog.at_level(logging.WARNING, logger="headrace"):
        assert [one["cls"] for one in hr.TarDataset(files, on_error="skip")] == [b"0", b"0", b"1"]
    assert "cut.tar:2: the archive ends at byte 2600" in caplog.text
    assert "absent.tar" in caplog.text
    told = []
    with iter(hr.TarDataset(files)) as iterator:
        for _ in range(5):
            try:
                told.append(next(iterator)["cls"])
            except (DataLossError, NotFoundError) as error:
                told.append(type(error))
    assert told == [b"0", DataLossError, NotFoundError, b"0", b"1"]


def test_a_fingerprint_follows_shards_and_handlers(tmp_path: Path) -> None:
    path = shard(tmp_path / "a.tar", 2)
    for access in (False, True):

        def fingerprint(handler: Any, access: bool = access) -> str:
            return hr.fingerprint(hr.TarDataset(path, {"cls": handler}, random_access=access))

        before = fingerprint(int)
        assert fingerprint(int) == before
        assert fingerprint(len) != before
        shard(path, 3)
        assert fingerprint(int) != before
        shard(path, 2)
