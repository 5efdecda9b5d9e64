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


# --- what is trained on

_Data = Annotated[
    Path | None,
    typer.Option(
        help="Folder of CSV files, a label (0 or 1) in the last column. The demo's files are made in a folder that does not "
        "exist yet; CSV files of your own are used as they are. [default: data]",
        show_default=False,
        rich_help_panel=_DATA,
    ),
]
_Files = Annotated[int, typer.Option(min=1, help="Files to make, where files are made.", rich_help_panel=_DATA)]
_Rows = Annotated[int, typer.Option(min=1, help="Rows in each file that is made.", rich_help_panel=_DATA)]
_Features = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Numbers in a row before the label. [default: 1024, or what the first row of your own files has]",
        show_default=False,
        rich_help_panel=_DATA,
    ),
]

# --- how

_Epochs = Annotated[int, typer.Option(min=1, help="Times that each row is seen.", rich_help_panel=_TRAINING)]
_BatchSize = Annotated[
    int, typer.Option(min=1, help="Rows in a batch; the last may be smaller.", rich_help_panel=_TRAINING)
]
_Seed = Annotated[
    int, typer.Option(min=0, help="Of the files, the weights and the order of rows.", rich_help_panel=_TRAINING)
]
_Framework = Annotated[Framework, typer.Option(help="What computes the model.", rich_help_panel=_TRAINING)]
_Device = Annotated[
    Device | None,
    typer.Option(
        help="Where torch computes. [default: cuda when there is one]",
        show_default=False,
        rich_help_panel=_TRAINING,
    ),
]
_Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Threads of the parallel way. [default: headrace chooses]",
        show_default=False,
        rich_help_panel=_TRAINING,
    ),
]

# --- what comes of it

_Report = Annotated[Path, typer.Option(help="The page to write, with pictures.", rich_help_panel=_OUTPUT)]
_NoReport = Annotated[bool, typer.Option("--no-report", help="Write no page.", rich_help_panel=_OUTPUT)]
_Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.", rich_help_panel=_OUTPUT)
]


def demo(
    *,
    data: _Data = None,
    files: _Files = 20,
    rows: _Rows = 100,
    features: _Features = None,
    epochs: _Epochs = 2,
    batch_size: _BatchSize = 23,
    seed: _Seed = 0,
    framework: _Framework = Framework.NUMPY,
    device: _Device = None,
    workers: _Workers = None,
    report: _Report = Path("headrace-report.html"),
    no_report: _NoReport = False,
    json: _Json = False,
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
