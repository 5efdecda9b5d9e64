"""The page in a browser: on a telephone and on a screen, light and dark, nothing overlaps, sticks out or is refused."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import pytest

LIMIT_S = 60.0
CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# What is seen of the page: what sticks out of its place, which texts lie on each other, and what the flow looks like.
LOOK: Final = """
(() => {
  const box = (one) => one.getBoundingClientRect();
  const apart = (a, b) => a.right <= b.left + 0.5 || b.right <= a.left + 0.5 || a.bottom <= b.top + 0.5 || b.bottom <= a.top + 0.5;
  const texts = [...document.querySelectorAll("h1, h2, h3, header p, .verdict, .summary, .name, .figure, .notes li, #legend li")]
    .filter((one) => one.textContent && box(one).width);
  const overlapping = [];
  texts.forEach((one, number) => texts.slice(number + 1).forEach((other) => {
    if (!apart(box(one), box(other))) overlapping.push([one.textContent, other.textContent]);
  }));
  const out = texts.filter((one) => box(one).left < 0 || box(one).right > WIDTH + 0.5 || one.scrollWidth > one.clientWidth + 1);
  const background = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
  return {
    ready: document.body.dataset.ready === "yes",
    wider: document.documentElement.scrollWidth > WIDTH,
    overlapping, out: out.map((one) => one.textContent),
    lit: [...document.querySelectorAll(".stage.lit .name")].map((one) => one.firstChild.textContent),
    rows: document.querySelectorAll(".stage").length,
    widths: [...document.querySelectorAll("article:first-child .flow > svg path")].map((one) => Number(one.getAttribute("stroke-width"))),
    side_by_side: box(document.querySelectorAll("article")[1]).left > box(document.querySelectorAll("article")[0]).right,
    brightness: background.reduce((sum, value) => sum + value) / 765,
    curves: document.querySelectorAll("#legend li").length,
    chart: box(document.querySelector("#chart canvas")).width,
    images: document.querySelectorAll("main img").length,
    text: document.body.innerText,
  };
})()
"""


READY: Final = """
new Promise((done) => {
  const look = () => (document.body?.dataset.ready === "yes" ? done() : requestAnimationFrame(look));
  look();
})
"""


class Tab:
    """A tab of a browser, as its DevTools protocol says what can be done with it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self.complaints: list[Any] = []

    async def call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        await self._connection.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = await self._connection.receive_json(timeout=LIMIT_S)
            if message.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.complaints.append(message["params"])
            if message.get("id") == number:
                assert "result" in message, message
                return message["result"]

    async def look(self, width: int) -> dict[str, Any]:
        """Waits until the page shows what runs, and returns what is seen of it."""
        await self.call("Runtime.evaluate", expression=READY, awaitPromise=True)
        seen = await self.call("Runtime.evaluate", expression=LOOK.replace("WIDTH", str(width)), returnByValue=True)
        value: dict[str, Any] = seen["result"]["value"]
        return value


@contextlib.contextmanager
def browser() -> Iterator[str]:
    """Starts a browser, and yields where its DevTools are."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        program = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        process = subprocess.Popen(
            [*program, f"--user-data-dir={folder}", "about:blank"], stderr=subprocess.PIPE, text=True
        )
        try:
            assert process.stderr is not None
            said = (re.search(r"DevTools listening on ws://([^/]+)/", line) for line in process.stderr)
            yield f"http://{next(filter(None, said))[1]}"
        finally:
            process.terminate()
            process.communicate(timeout=LIMIT_S)


@contextlib.asynccontextmanager
async def tab_of(devtools: str) -> AsyncIterator[Tab]:
    import aiohttp

    async with aiohttp.ClientSession() as session:
        async with session.get(f"{devtools}/json") as reply:
            targets = await reply.json()
        address = next(one["webSocketDebuggerUrl"] for one in targets if one["type"] == "page")
        async with session.ws_connect(address, max_msg_size=0) as connection:
            yield Tab(connection)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install -y chromium")
def test_the_page_is_in_order_on_a_telephone_and_on_a_screen_light_and_dark(page: str, processes: list[Any]) -> None:
    pytest.importorskip("aiohttp", reason="pip install aiohttp")
    stages = processes[0]["runs"][0]["stats"]["stages"]

    async def looked_at(devtools: str) -> tuple[dict[tuple[int, str], dict[str, Any]], list[Any]]:
        seen = {}
        async with tab_of(devtools) as tab:
            for domain in ("Page", "Runtime", "Log"):
                await tab.call(f"{domain}.enable")
            for width, scheme in itertools.product((375, 1440), ("light", "dark")):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
                await tab.call("Emulation.setDeviceMetricsOverride", **size)
                feature = {"name": "prefers-color-scheme", "value": scheme}
                await tab.call("Emulation.setEmulatedMedia", features=[feature])
                await tab.call("Page.navigate", url=page)
                seen[width, scheme] = await tab.look(width)
            return seen, tab.complaints

    with browser() as devtools:
        everything, complaints = asyncio.run(looked_at(devtools))
    assert complaints == []
    for (width, scheme), seen in everything.items():
        assert seen["ready"]
        assert not seen["wider"]
        assert seen["overlapping"] == []
        assert seen["out"] == []
        assert seen["lit"] == ["map 'decode_a_picture_with_a_long_name'"]  # of rank 0; steps of rank 1 are slower
        assert seen["rows"] == 2 * (len(stages) + 1)
        thickness = [
            13 * (len(stages) - number) / len(stages) for number in range(len(stages))
        ]  # of their rates the root
        assert sorted(seen["widths"], reverse=True) == pytest.approx(thickness, abs=0.01)
        assert seen["side_by_side"] == (width > 1_000)
        assert (seen["brightness"] > 0.5) == (scheme == "light")
        assert seen["curves"] == 4  # two ranks and two GPUs
        assert width / 2 < seen["chart"] < width
        assert "truncated JPEG <img src=x onerror=alert(1)>" in seen["text"]  # as text
        assert seen["images"] == 0
        assert "it does not answer" in seen["text"]
        assert "has held element 7" in seen["text"]
