"""``headrace cache ls | verify | clear``: looks at the caches in a folder, checks them, removes them.

A cache that a process is filling just now is named, and never touched.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.caching.disk import SUFFIX, entries_of, is_being_filled, key_of
from headrace.errors import DataLossError, NotFoundError
from headrace.io.elements.file import ElementFile
from headrace.observe.tables import counted, data_size, printable

__all__ = ["app"]

app = typer.Typer(help="Look at caches on disk, check them, remove them.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="The folder that was given to Dataset.cache.")]
Entry = tuple[Path, ElementFile | DataLossError]


def _entries(folder: Path) -> list[Entry]:
    if not folder.is_dir():
        raise NotFoundError(f"no such folder: {folder}")
    return entries_of(folder)


def _facts(path: Path, found: ElementFile | DataLossError) -> dict[str, Any]:
    """Returns what is known of one cache, as plain data."""
    about = path.lstat()
    facts: dict[str, Any] = {
        "file": path.name,
        "bytes": about.st_size,
        "written": dt.datetime.fromtimestamp(about.st_mtime, tz=dt.UTC).isoformat(timespec="seconds"),
    }
    if isinstance(found, DataLossError):
        return {**facts, "problem": found.reason}
    return {**facts, "elements": len(found), "key": key_of(found)}


@app.command("ls")
def list_caches(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON a cache.")] = False,
) -> None:
    """Lists the caches in a folder: elements, size, when they were written, key."""
    entries = _entries(folder)
    for path, found in entries:
        facts = _facts(path, found)
        typer.echo(json.dumps(facts) if as_json else _line(facts))
    if not as_json and not entries:
        typer.echo(f"no cache in {folder}")
    for lock in sorted(folder.glob("*.lock")):
        if is_being_filled(lock) and not as_json:
            typer.echo(printable(f"{lock.stem}{SUFFIX}  is being filled"))


def _line(facts: dict[str, Any]) -> str:
    state = facts.get("problem") or f"{facts['elements']:,} elements  key {facts['key']}"
    return printable(f"{facts['file']}  {data_size(facts['bytes'])}  {facts['written']}  {state}")


@app.command()
def verify(folder: Folder) -> None:
    """Compares every checksum; ends with status 1 if one is not as it was written."""
    entries = _entries(folder)
    broken = 0
    for path, found in entries:
        problem = _problem(found)
        broken += problem is not None
        typer.echo(printable(f"{path.name}  {problem or 'whole'}"))
    typer.echo(f"{counted(len(entries), 'cache')}, {broken} broken")
    if broken:
        raise typer.Exit(1)


def _problem(found: ElementFile | DataLossError) -> str | None:
    if isinstance(found, DataLossError):
        return found.reason
    try:
        found.verify()
    except DataLossError as error:
        return error.reason
    return None


@app.command()
def clear(folder: Folder) -> None:
    """Removes every cache in a folder, and what killed processes left; nothing else that lies there."""
    removed = 0
    for path, _ in _entries(folder):
        path.unlink()
        removed += 1
    for lock in sorted(folder.glob("*.lock")):
        if is_being_filled(lock):
            typer.echo(printable(f"{lock.stem}{SUFFIX}  is being filled, and left"))
            continue
        for left in folder.glob(f"{lock.stem}{SUFFIX}.*.part"):
            left.unlink()
        lock.unlink()
    typer.echo(f"{counted(removed, 'cache')} removed")
