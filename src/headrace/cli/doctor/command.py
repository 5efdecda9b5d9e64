"""``headrace doctor MODULE:FUNCTION``: runs a pipeline, and says why steps wait for it and what to change."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli.loading import called, function_named, kind_of, told
from headrace.dataset import Dataset
from headrace.page.writing import check_can_be_written
from headrace.profiling.calling import taking
from headrace.profiling.foreign import examined

__all__ = ["doctor"]


def doctor(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="Returns a headrace Dataset, a torch DataLoader, a tf.data.Dataset, or anything that can be iterated again and again; "
            "or FILE.py:FUNCTION.",
        ),
    ],
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            metavar="MODULE:FUNCTION",
            help="Is called with each element, or with its components: the training step.",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="How long it may take, about.")] = 10.0,
    apply: Annotated[bool, typer.Option("--apply", help="Try what is advised, and say what it brought.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page with pictures as well.")
    ] = None,
) -> None:
    """Runs a pipeline with its step, alone, and the step alone; says why steps wait, and what to change."""
    if report is not None:
        check_can_be_written(report)
    made = called(function_named(target), target)
    on_element = None if step is None else _told(function_named(step), step)
    profile = _profile(made, target, on_element, seconds, apply=apply)
    typer.echo(json.dumps(profile.to_dict(), indent=2) if as_json else str(profile))
    if report is not None:
        profile.save(report)
        typer.echo(f"report: {report}", err=as_json)


def _told(function: Callable[..., object], name: str) -> Callable[[Any], object]:
    """Returns the step, whose errors say that they are its own."""
    step = taking(function)

    def on_element(element: Any) -> None:
        called(functools.partial(step, element), name)

    return on_element


def _profile(made: Any, target: str, step: Any, seconds: float, *, apply: bool) -> Any:
    if isinstance(made, Dataset):
        return made.profile(step, seconds=seconds, apply=apply)
    kind = kind_of(made)
    if apply:
        raise typer.BadParameter(f"--apply changes headrace's own datasets, and {target} returned {kind}")
    if not hasattr(made, "__iter__"):
        raise typer.BadParameter(f"{target} must return something to iterate, but returned {kind}")
    if hasattr(made, "__next__"):  # and not by a look at iter(made), which starts a DataLoader's workers
        raise typer.BadParameter(
            f"{target} returned {kind}, which can be iterated once: return what makes one, as a Dataset or a DataLoader does"
        )
    return told(lambda: examined(made, step, seconds), f"the {type(made).__name__} that {target}() returned")
