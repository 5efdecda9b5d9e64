"""The server of the page: what it gives, and to whom it gives nothing."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import sys
import types
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from headrace.cli import main
from headrace.dashboard import server as module
from headrace.dashboard.gpus import Gpus
from headrace.dashboard.guard import HEADERS, Guard
from headrace.dashboard.looking import Looker, _mark_curves
from headrace.dashboard.server import Server, made_token
from headrace.errors import MissingExtraError

LIMIT_S = 30.0
PAGE = Path(module.__file__).parent / "page"


def answer(
    url: str, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=LIMIT_S)
    try:
        connection.request(method, path, headers=headers or {})
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def test_the_page_and_all_that_it_needs_are_given_to_who_knows_the_address(page: str) -> None:
    path = urlsplit(page).path
    status, headers, html = answer(page, path)
    assert status == 200
    assert headers.items() >= HEADERS.items()
    needed = re.findall(r'(?:src|href)="([^"]+)"', html.decode())
    assert len(needed) >= 6
    for name in needed:
        status, headers, body = answer(page, path + name)
        assert (status, bool(body)) == (200, True)
        assert headers["content-type"].split(";")[0] in ("text/css", "text/javascript", "image/svg+xml")
        assert headers.items() >= HEADERS.items()


@pytest.mark.parametrize(
    "path",
    ["/", "", "/the-token", "/the-toke/", "/the-token2/", "/events", "/page.js", "//the-token/", "/%74he-token2/"],
)
def test_who_does_not_know_the_token_gets_nothing(path: str, page: str) -> None:
    status, headers, body = answer(page, path)
    assert (status, body) == (404, b"")
    assert headers.items() >= HEADERS.items()


@pytest.mark.parametrize("path", ["nowhere", "../server.py", "%2e%2e/server.py", "..%2fserver.py", "page.js/", "/"])
def test_nothing_but_the_page_is_behind_the_token(path: str, page: str) -> None:
    assert answer(page, f"/the-token/{path}")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.", ""])
def test_a_request_to_another_name_is_refused(host: str, page: str) -> None:
    assert answer(page, "/the-token/", headers={"Host": host})[0::2] == (421, b"")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:9", "[::1]:9"])
def test_a_tunnel_may_end_at_any_port_of_the_browsers_machine(host: str, page: str) -> None:
    assert answer(page, "/the-token/", headers={"Host": host})[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_sent(method: str, page: str) -> None:
    assert answer(page, "/the-token/", method)[0] == 405


def test_what_runs_is_told_again_and_again_behind_what_was_seen(page: str, processes: list[dict[str, Any]]) -> None:
    connection = http.client.HTTPConnection(urlsplit(page).netloc, timeout=LIMIT_S)
    connection.request("GET", "/the-token/events")
    reply = connection.getresponse()
    assert reply.getheader("content-type", "").startswith("text/event-stream")
    events: list[tuple[str, Any]] = []
    while len(events) < 3:
        kind, data, blank = (reply.readline().decode() for _ in range(3))
        events.append((kind.removeprefix("event: ").strip(), json.loads(data.removeprefix("data: "))))
        assert not blank.strip()
    connection.close()
    assert [kind for kind, _ in events] == ["history", "now", "now"]
    told = events[1][1]
    assert told["processes"] == processes
    assert told["gpus"] == [0.5, None]
    assert sorted(told["waits"].values()) == [0.01, 0.6]
    assert events[2][1]["at_s"] > told["at_s"]


def test_it_listens_on_the_loopback_device_alone(page: str) -> None:
    assert urlsplit(page).hostname == "127.0.0.1"
    others = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for other in {str(one) for one in others if not str(one).startswith("127.")}:
        with socket.socket() as one:
            one.settimeout(LIMIT_S)
            assert one.connect_ex((other, urlsplit(page).port))


def test_a_look_that_fails_is_told_and_the_next_one_is_taken() -> None:
    looks = []

    def look() -> list[dict[str, Any]]:
        looks.append(1)
        if len(looks) == 1:
            raise OSError("no folder")
        return [{"pid": 1, "runs": [{"number": 2, "waits": 0.5}, {"number": 3, "error": "KeyError"}]}]

    async def two_events() -> list[str]:
        looker = Looker(look, list, interval_s=0)
        task = asyncio.create_task(looker.run())
        events = looker.events()
        found = [await anext(events) for _ in range(3)]
        await events.aclose()  # type: ignore[attr-defined] # a generator's
        task.cancel()
        return found

    _, first, second = asyncio.run(two_events())
    assert '"error": "no folder"' in first
    assert '"waits": {"1::1": 0.5}' in second


def test_epochs_of_a_dataset_are_one_curve_and_two_that_run_together_are_two() -> None:
    train, other = {"name": "range → batch"}, {"name": "range → prefetch"}
    epochs = [[train | {"number": number}, other | {"number": 9}, train | {"number": number + 20}] for number in (1, 2)]
    for runs in epochs:
        _mark_curves([{"pid": 7, "runs": runs}])
    first, second = ([run["curve"] for run in runs] for runs in epochs)
    assert first == second
    assert len(set(first)) == 3


def test_a_websocket_is_refused() -> None:
    sent = []

    async def app(*_: Any) -> None:
        pytest.fail("it was let through")

    async def receive() -> dict[str, Any]:
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Guard(app, "token")({"type": "websocket", "path": "/token/"}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_tokens_differ_and_are_long() -> None:
    assert made_token() != made_token()
    assert len(made_token()) >= 32


def test_a_missing_extra_is_told_with_its_install_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'headrace[dashboard]'")):
        Server(Looker(list, list), token="x")
    assert main(["dashboard"]) == 1
    assert "pip install 'headrace[dashboard]'" in capsys.readouterr().err


def test_nothing_is_fetched_from_elsewhere_and_nothing_stands_in_the_page_itself() -> None:
    ours = [path for path in PAGE.iterdir() if path.is_file()]
    assert len(ours) >= 6
    for path in ours:
        addresses = re.findall(r"https?://[^\s\"']+", path.read_text(encoding="utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, path
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|style=|\son\w+=|<script>", html)
    script = "".join(path.read_text(encoding="utf-8") for path in ours if path.suffix == ".js")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)


def test_what_is_vendored_has_its_licence_and_version() -> None:
    assert "Permission is hereby granted" in (PAGE / "uplot/LICENSE").read_text(encoding="utf-8")
    assert re.match(
        r"/\*! \S+uPlot \(v1\.\d+\.\d+\) \*/", (PAGE / "uplot/uPlot.iife.min.js").read_text(encoding="utf-8")
    )


class Nvml(types.ModuleType):
    """NVIDIA's library of a machine with two GPUs, one of which tells nothing."""

    def __init__(self) -> None:
        super().__init__("pynvml")

    def nvmlInit(self) -> None:  # noqa: N802 - its name
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 - as above
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802 - as above
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:  # noqa: N802 - as above
        if handle:
            raise RuntimeError("not supported")
        return types.SimpleNamespace(gpu=37)


def test_each_gpu_is_told_and_none_where_there_is_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Nvml())
    assert Gpus()() == [0.37, None]
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert Gpus()() == []
