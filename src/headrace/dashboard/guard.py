"""Who gets anything from the page: a browser on this machine that knows the address, token and all; and nobody else.

Pages of other sites cannot know the token. They could have the browser ask this server by a name of theirs that leads to
127.0.0.1, so a request must name the server as one on this machine. Nothing is changed by any request, and nothing is read from one but its path.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

__all__ = ["HEADERS", "Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_SENT: Final = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Lets through what may be answered.

    Args:
        app: answers it, by the path behind the token.
        token: what the path must begin with.
    """

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_SENT]
            await send(message)

        status, path = self._judged(scope)
        if status:
            await send_guarded({"type": "http.response.start", "status": status, "headers": []})
            await send_guarded({"type": "http.response.body", "body": b""})
            return
        await self._app({**scope, "path": path, "raw_path": path.encode(), "root_path": ""}, receive, send_guarded)

    def _judged(self, scope: Scope) -> tuple[int, str]:
        """Returns the status of a refusal, or 0, and the path behind the token."""
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or _without_port(hosts[0]) not in _NAMES:
            return 421, ""  # misdirected: it was sent to another server's name
        if scope["method"] not in ("GET", "HEAD"):
            return 405, ""
        path: str = scope["path"]
        parts = path.split("/", 2)
        if len(parts) < 3 or parts[0] or not hmac.compare_digest(parts[1].encode(), self._token):
            return 404, ""
        return 0, f"/{parts[2]}"


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
