"""``headrace inspect FILE…``: schema, count, first elements, and problems of files of any format that is known."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from headrace.cli.inspect.finding import Finding, found_in
from headrace.observe.tables import data_size

__all__ = ["inspect"]


def inspect(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Files, or addresses with ://.", show_default=False)
    ],
    elements: Annotated[int, typer.Option("--elements", "-n", min=0, help="How many elements are shown.")] = 3,
    problems: Annotated[int, typer.Option("--problems", min=0, help="How many problems are told.")] = 5,
    wanted: Annotated[
        str | None, typer.Option("--format", help="What the files are, where their names do not say.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Read only what is shown, and count nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON a file.")] = False,
) -> None:
    """Says what is in files: schema, count, first elements, and what is wrong; end with status 1 if anything is."""
    failed = False
    for number, path in enumerate(files):
        finding = found_in(path, wanted=wanted, elements=elements, problems=problems, quick=quick)
        failed = failed or bool(finding.failures)
        if as_json:
            typer.echo(json.dumps(dataclasses.asdict(finding), default=str))
            continue
        typer.echo(("\n" if number else "") + "\n".join(_lines(finding)))
    if failed:
        raise typer.Exit(1)


def _lines(finding: Finding) -> list[str]:
    kind = f"{finding.format or 'unknown'}{f', {finding.compression}' if finding.compression else ''}"
    lines = [f"{finding.path}: {kind}{f', {data_size(finding.size)}' if finding.size is not None else ''}"]
    for name, fact in finding.facts.items():
        lines += _under(name, fact)
    if finding.schema:
        width = max(map(len, finding.schema))
        lines += _listed("schema", [f"{name:{width}}  {leaf}" for name, leaf in finding.schema.items()])
    if finding.whole or finding.count:
        lines.append(f"  count     {finding.count:,}" if finding.whole else "  count     not counted (--quick)")
    lines += _listed("first", finding.first)
    told = finding.problems
    if finding.failures:
        more = finding.failures - len(told)
        lines += _listed("problems", [*told, *([f"and {more:,} more"] if more else [])])
    elif finding.whole:
        lines.append("  problems  none")
    return lines


def _listed(title: str, items: list[str]) -> list[str]:
    return [f"  {title if not number else '':8}  {item}" for number, item in enumerate(items)]


def _under(name: str, fact: object) -> list[str]:
    if isinstance(fact, dict):
        return [f"  {name}", *(f"    {key}: {value}" for key, value in fact.items())]
    return [f"  {name}: {fact!r}" if isinstance(fact, str) and len(fact) == 1 else f"  {name}: {fact}"]
