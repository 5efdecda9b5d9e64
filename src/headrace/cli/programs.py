"""The argument by which commands are told which running programs to look at."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Which"]

Which = Annotated[
    str | None,
    typer.Argument(
        metavar="PID|NAME", help="A process by its number, or by what its program is called.", show_default=False
    ),
]
