"""``headrace demo``: its options. Here they become a request; ``running`` does the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.demo.data import Recipe
from headrace.cli.demo.models import Device, Framework
from headrace.cli.demo.running import Request, run_demo

__all__ = ["demo"]

DEFAULT_DATA = Path("data")
DEFAULT_FEATURES = 1024
_DATA = "Data"
_TRAINING = "Training"
_OUTPUT = "Output"


def demo(
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of CSV files, a label (0 or 1) in the last column. The demo's files are made in a folder that does not "
            "exist yet; CSV files of your own are used as they are. [default: data]",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    files: Annotated[int, typer.Option(min=1, help="Files to make, where files are made.", rich_help_panel=_DATA)] = 20,
    rows: Annotated[int, typer.Option(min=1, help="Rows in each file that is made.", rich_help_panel=_DATA)] = 100,
    features: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Numbers in a row before the label. [default: 1024, or what the first row of your own files has]",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Times that each row is seen.", rich_help_panel=_TRAINING)] = 2,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Rows in a batch; the last may be smaller.", rich_help_panel=_TRAINING)
    ] = 23,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the files, the weights and the order of rows.", rich_help_panel=_TRAINING)
    ] = 0,
    framework: Annotated[
        Framework, typer.Option(help="What computes the model.", rich_help_panel=_TRAINING)
    ] = Framework.NUMPY,
    device: Annotated[
        Device | None,
        typer.Option(
            help="Where torch computes. [default: cuda when there is one]",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Threads of the parallel way. [default: headrace chooses]",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    report: Annotated[Path, typer.Option(help="The page to write, with pictures.", rich_help_panel=_OUTPUT)] = Path(
        "headrace-report.html"
    ),
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no page.", rich_help_panel=_OUTPUT)] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document and nothing else.", rich_help_panel=_OUTPUT)
    ] = False,
) -> None:
    """Trains on real CSV files, fed in several ways, and shows which is faster and why.

    Makes 20 files of 100 rows (unless they are there), trains a small classifier on them once for each way of feeding
    it, prints a table and writes a report.
    """
    run_demo(
        Request(
            folder=data or DEFAULT_DATA,
            may_fill=data is None,
            recipe=Recipe(files=files, rows=rows, features=features or DEFAULT_FEATURES, seed=seed),
            features=features,
            epochs=epochs,
            batch_size=batch_size,
            framework=framework,
            device=device,
            workers=workers,
            report=None if no_report else report,
            json=json,
        )
    )
