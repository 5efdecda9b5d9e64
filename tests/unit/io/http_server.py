"""A web server on loopback whose behaviour a test chooses: it is what the readers of files on the web are tested with."""

from __future__ import annotations

import gzip
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["WebServer", "serving"]


@dataclass
class WebServer:
    """What is served, and how.

    Attributes:
        address: what the files' addresses begin with.
        files: contents by name.
        knows_ranges: whether a request for a range is answered with that range; as many servers, it says nothing of it.
        says_no_ranges: whether it says that it knows none.
        says_sizes: whether it says how long a file is.
        compresses: whether it compresses a file on its way for who says that he can take it.
        drops_after: breaks the connection off behind so many bytes of an answer.
        status: answers every request with it.
        ranges: the first byte of every range that was asked for.
    """

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    knows_ranges: bool = True
    says_no_ranges: bool = False
    says_sizes: bool = True
    compresses: bool = False
    drops_after: int | None = None
    status: int | None = None
    ranges: list[int] = field(default_factory=list)

    def put(self, name: str, content: bytes) -> str:
        """Serves a file from now on; its address."""
        self.files[name] = content
        return f"{self.address}/{name}"


@contextmanager
def serving() -> Iterator[WebServer]:
    """A server as long as the block lasts."""
    served = WebServer()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"served": served}))
    served.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A reader may hang up in the middle of an answer; that is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    served: WebServer

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *args: object) -> None:
        """A test's output is its own."""

    def _answer(self, *, with_body: bool) -> None:
        served = self.served
        content = served.files.get(self.path.partition("?")[0].lstrip("/"))
        if served.status is not None or content is None:
            self.send_error(served.status or 404)
            return
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is not None:
            served.ranges.append(int(wanted[1]))
        if wanted is None or not served.knows_ranges:
            self._send(200, content, {}, with_body=with_body)
        elif int(wanted[1]) >= len(content):
            self.send_error(416)
        else:
            first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
            about = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
            self._send(206, content[first : last + 1], about, with_body=with_body)

    def _send(self, status: int, body: bytes, about: dict[str, str], *, with_body: bool) -> None:
        served = self.served
        if served.compresses and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, about = gzip.compress(body), {**about, "Content-Encoding": "gzip"}
        if served.says_sizes:
            about = {**about, "Content-Length": str(len(body))}
        if served.says_no_ranges:
            about = {**about, "Accept-Ranges": "none"}
        self.send_response(status)
        for name, value in {**about, "Last-Modified": "Sat, 01 Jan 2000 00:00:00 GMT", "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body if served.drops_after is None else body[: served.drops_after])
