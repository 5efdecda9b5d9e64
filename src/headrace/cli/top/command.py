"""``headrace top [PID|NAME]``: the stages of running pipelines, where each waits, and which holds it up."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.live import Live

from headrace.cli.programs import Which
from headrace.cli.top.view import view
from headrace.errors import FailedPreconditionError
from headrace.live.asking import Lookout, chosen, nothing_runs, running

__all__ = ["top"]

_PATIENCE_S: Final = 1.0
_AGAIN_S: Final = 0.02


def top(
    which: Which = None,
    once: Annotated[bool, typer.Option("--once", help="Print what runs now, and leave.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON, and leave.")] = False,
    interval: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two looks.")] = 1.0,
) -> None:
    """Shows the pipelines that run now: stages, rates, buffers, waits, and what holds each of them up. Ctrl-C leaves."""
    console = Console(highlight=False)
    if as_json:
        typer.echo(json.dumps(chosen(running(), which), indent=2))
    elif once or not console.is_terminal:
        console.print(view(_found(which)))
    else:
        _watch(console, which, interval)


def _found(which: str | None) -> list[dict[str, Any]]:
    """Returns what is to be shown; where that is nothing, a program may be between two epochs, or just begin."""
    until_s = time.monotonic() + _PATIENCE_S
    while not (found := chosen(everything := running(), which)):
        if time.monotonic() > until_s:
            raise FailedPreconditionError(nothing_runs(everything, which))
        time.sleep(_AGAIN_S)
    return found


def _watch(console: Console, which: str | None, interval_s: float) -> None:
    """Shows what runs until Ctrl-C comes."""
    try:
        with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            lookout = Lookout()
            while True:
                everything = lookout()
                found = chosen(everything, which)
                live.update(view(found) if found else nothing_runs(everything, which), refresh=True)
                time.sleep(interval_s)
    except KeyboardInterrupt:  # which is how it is left
        return
