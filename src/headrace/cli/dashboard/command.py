"""``headrace dashboard [PID|NAME]``: serves a live page of the pipelines that run now, to browsers on this machine alone."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

import typer

from headrace.cli.programs import Which
from headrace.dashboard.gpus import Gpus
from headrace.dashboard.looking import Looker
from headrace.dashboard.server import Server, made_token
from headrace.live.asking import Lookout, chosen

__all__ = ["dashboard"]


def dashboard(
    which: Which = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where; 0 is any port that is free.")] = 0,
    interval: Annotated[float, typer.Option("--interval", min=0.2, help="Seconds between two looks.")] = 1.0,
) -> None:
    """Serves a live page of the pipelines that run now, and prints its address. Ctrl-C ends it."""
    lookout = Lookout()

    def look() -> list[dict[str, Any]]:
        return chosen(lookout(), which)

    server = Server(Looker(look, Gpus(), interval), port=port, token=made_token())
    typer.echo(f"{server.url}\nOpen it in a browser on this machine; Ctrl-C ends it.")
    with contextlib.suppress(KeyboardInterrupt):  # which is how it is ended
        server.run()
