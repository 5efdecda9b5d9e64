"""The server of the page, on this machine's loopback device alone."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from headrace.dashboard.guard import Guard
from headrace.dashboard.looking import Looker
from headrace.errors import MissingExtraError

__all__ = ["Server", "made_token"]

_PAGE: Final = Path(__file__).parent / "page"
_FILES: Final = {
    "/": ("index.html", "text/html"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/flow.js": ("flow.js", "text/javascript"),
    "/chart.js": ("chart.js", "text/javascript"),
    "/uPlot.css": ("uplot/uPlot.min.css", "text/css"),
    "/uPlot.js": ("uplot/uPlot.iife.min.js", "text/javascript"),
}


def made_token() -> str:
    """Returns a token that nobody guesses."""
    return secrets.token_urlsafe(24)


class Server:
    """Serves the page until it is told to stop.

    Args:
        looker: what is shown.
        port: where; 0 is any that is free.
        token: what the address must have.

    Raises:
        MissingExtraError: the extra is not installed.
        OSError: the port is taken.
    """

    def __init__(self, looker: Looker, *, port: int = 0, token: str) -> None:
        try:
            import uvicorn
        except ImportError:
            raise MissingExtraError("headrace dashboard needs: pip install 'headrace[dashboard]'") from None
        self._socket = socket.create_server(("127.0.0.1", port))
        config: Any = uvicorn.Config(
            Guard(_app(looker), token),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        self._server: Any = uvicorn.Server(config)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/{token}/"

    def run(self) -> None:
        """Serves the page."""
        with self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Has it stop soon; for another thread."""
        self._server.should_exit = True


def _app(looker: Looker) -> Any:
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, StreamingResponse
    from starlette.routing import Route

    @contextlib.asynccontextmanager
    async def looking(_: Any) -> AsyncIterator[None]:
        task = asyncio.create_task(looker.run())
        try:
            yield
        finally:
            task.cancel()

    async def file(request: Any) -> FileResponse:
        name, kind = _FILES[request.url.path]
        return FileResponse(_PAGE / name, media_type=kind)

    async def events(_: Any) -> StreamingResponse:
        return StreamingResponse(looker.events(), media_type="text/event-stream")

    routes = [*(Route(path, file) for path in _FILES), Route("/events", events)]
    app = Starlette(routes=routes, lifespan=looking)
    app.router.redirect_slashes = False
    return app
