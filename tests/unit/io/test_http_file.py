from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.io.http_server import WebServer, serving

from headrace.errors import DataLossError, FailedPreconditionError, MissingExtraError, NotFoundError
from headrace.io import read_file
from headrace.io.compression import open_stream
from headrace.io.files import open_at, version_of

# More than fsspec reads at once, and ahead: 5 MiB, and the two of a reader's buffer.
LONG = b"".join(b"%07d\n" % number for number in range(1_500_000))


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as served:
        yield served


def read_all(path: str, offset: int = 0, size: int = 1 << 21) -> bytes:
    stream = open_stream(path, offset=offset)
    try:
        return b"".join(iter(lambda: stream.read(size), b""))
    finally:
        stream.close()


def test_a_file_is_read_by_ranges_from_its_offset_on(server: WebServer) -> None:
    path = server.put("long.txt", LONG)
    assert read_all(path) == LONG
    assert server.ranges[0] == 0
    assert len(server.ranges) > 1
    server.ranges.clear()
    assert read_all(path, 11_000_000) == LONG[11_000_000:]
    assert server.ranges == [11_000_000], "what stands before the offset is not asked for"


@pytest.mark.parametrize("says_no_ranges", [True, False])
@pytest.mark.parametrize("offset", [0, 3, 9_000_000])
def test_a_server_without_ranges_is_read_in_order(server: WebServer, says_no_ranges: bool, offset: int) -> None:
    server.knows_ranges, server.says_no_ranges = False, says_no_ranges
    path = server.put("long.txt", LONG)
    assert read_all(path, offset) == LONG[offset:]


@pytest.mark.parametrize("offset", [0, 3, 9_000_000])
def test_a_server_that_does_not_say_how_long_a_file_is_is_read_to_the_end(server: WebServer, offset: int) -> None:
    server.says_sizes = False
    path = server.put("long.txt", LONG)
    assert read_all(path, offset) == LONG[offset:]


def test_no_server_is_invited_to_compress(server: WebServer) -> None:
    server.compresses = True
    path = server.put("a.txt", b"0123456789" * 100)
    assert read_all(path, 995) == b"56789"


def test_a_file_is_read_whole(server: WebServer) -> None:
    assert read_file(server.put("a.txt", b"all of it")) == b"all of it"
    assert read_file(server.put("long.txt", LONG)) == LONG
    assert read_file(server.put("empty.txt", b"")) == b""


def test_headers_that_fsspec_was_told_of_are_sent(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    server.compresses = True
    monkeypatch.setitem(fsspec.config.conf, "http", {"headers": {"Accept-Encoding": "gzip"}})
    assert read_all(server.put("a.txt", b"0123456789")) == b"0123456789"


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (404, NotFoundError, "^no such file: http://"),
        (410, NotFoundError, "^no such file: http://"),
        (401, FailedPreconditionError, "no permission to read http://.*: the server answers 401"),
        (403, FailedPreconditionError, "no permission to read http://.*: the server answers 403"),
        (503, DataLossError, r"cannot be read: ClientResponseError\(.*503"),
    ],
)
def test_what_the_server_answers_is_told_apart(
    server: WebServer, status: int, error: type[Exception], message: str
) -> None:
    path = server.put("a.txt", b"content")
    server.status = status
    with pytest.raises(error, match=message):
        read_all(path)


def test_a_server_that_is_not_there_is_not_a_file_that_is_not_there() -> None:
    with serving() as served:
        path = served.put("a.txt", b"content")
    with pytest.raises(DataLossError, match=r"cannot be read: Client.*Error\("):
        read_all(path)


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_connection_that_breaks_is_no_end(server: WebServer, knows_ranges: bool) -> None:
    server.knows_ranges, server.says_no_ranges = knows_ranges, not knows_ranges
    path = server.put("a.txt", b"0123456789" * 1000)
    server.drops_after = 5_000
    with pytest.raises(DataLossError, match=r"a\.txt"):
        read_all(path, size=100)


def test_a_file_that_became_shorter_is_told(server: WebServer) -> None:
    path = server.put("long.txt", LONG)
    stream = open_stream(path)
    assert stream.read(1000) == LONG[:1000]
    server.put("long.txt", LONG[:1000])
    with pytest.raises(DataLossError, match="had 12000000 bytes when it was opened, and ends at byte"):
        while stream.read(1 << 21):
            pass
    stream.close()


@pytest.mark.parametrize("way", ["ranges", "in order", "no sizes"])
def test_going_on_behind_the_end_is_told(server: WebServer, way: str) -> None:
    server.says_no_ranges, server.says_sizes = way == "in order", way != "no sizes"
    path = server.put("a.txt", b"12")
    with pytest.raises(
        DataLossError, match=r"a.txt has 2 bytes, and reading is to go on at byte 3: the file has changed"
    ):
        open_at(path, 3)


def test_a_version_is_what_the_server_says(server: WebServer) -> None:
    assert version_of(server.put("a.txt", b"12")) == (2, "Sat, 01 Jan 2000 00:00:00 GMT")


def test_without_aiohttp_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.registry import _registry

    for name in ("http", "https"):
        monkeypatch.delitem(_registry, name, raising=False)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingExtraError, match=r"needs aiohttp: pip install 'headrace\[http\]'"):
        read_file("http://127.0.0.1/a.txt")


def test_files_in_memory_are_each_read_at_their_own_place() -> None:
    import fsspec

    with fsspec.open("memory://headrace-http/a.txt", "wb") as file:
        file.write(b"0123456789")
    one, other = open_at("memory://headrace-http/a.txt", 2), open_at("memory://headrace-http/a.txt")
    told: list[Any] = [one.read(3), other.read(3), one.read(), other.read()]
    assert told == [b"234", b"012", b"56789", b"3456789"]
