"""Asks the profile of each of three jobs why its GPU waits, follows each piece of advice, and measures what it brought.

    make waiting
    make waiting ARGS="--jobs csv --seconds 4"
    make waiting ARGS="--write"                  what is printed is written into the pages that show it, and drawn

The files that the jobs read are made where they are not there, in data/. No GPU is needed: see gpu.py.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import headrace as hr
from examples.waiting import alexnet_job, csv_job, wav_job
from examples.waiting.measuring import Job, Measured, Tried, tried

__all__ = ["main"]

JOBS: Final = (
    Job("csv", csv_job.naive, csv_job.step, csv_job.STEP_S),
    Job("alexnet", alexnet_job.naive, alexnet_job.step, alexnet_job.STEP_S),
    Job("wav", wav_job.naive, wav_job.step, wav_job.STEP_S),
)
PAGES: Final = (Path("docs/guide/waiting.md"), Path("docs/benchmarks.md"))
PLACE: Final = re.compile(r"(?<=<!-- written by make waiting -->\n\n).*?(?=\n\n<!-- to here -->)", re.DOTALL)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the jobs; returns the exit status."""
    parser = argparse.ArgumentParser(prog="waiting", description=(__doc__ or "").splitlines()[0])
    names = [job.name for job in JOBS]
    parser.add_argument("--jobs", nargs="+", choices=names, default=names, help="which of them (default: all)")
    parser.add_argument("--seconds", type=float, default=6.0, help="how long a profile takes, about (default: 6)")
    parser.add_argument("--write", action="store_true", help="write what is printed into the pages that show it")
    options = parser.parse_args(argv)
    found = []
    try:
        for job in JOBS:
            if job.name in options.jobs:
                found.append(tried(job, options.seconds))
                print(found[-1].profile, end="\n\n", flush=True)
    except hr.errors.HeadraceError as error:
        print(f"waiting: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130  # as a shell reports it
    table = "\n".join(rows(found))
    print(table)
    if options.write:
        for page in PAGES:
            page.write_text(written(page.read_text(encoding="utf-8"), found, table), encoding="utf-8")
        subprocess.run([sys.executable, "-m", "docs.building.drawings"], check=True)  # one of them shows the table
    return 0


def written(page: str, found: Sequence[Tried], table: str) -> str:
    """Returns a page with the table, and with what profiles printed where it shows that."""
    for one in found:
        opening, end = f"<!-- {one.job.name}: printed by make waiting -->\n\n", f"\n\n<!-- {one.job.name}: to here -->"
        place = re.compile(f"(?<={opening}).*?(?={end})", re.DOTALL)
        page = place.sub(lambda _, text=f"```text\n{one.profile}\n```": text, page)  # type: ignore[misc]
    return PLACE.sub(lambda _: table, page)


def rows(found: Sequence[Tried]) -> Iterator[str]:
    """Yields the lines of a table in Markdown."""
    yield "| job | input | GPU busy | steps a second | promised | measured |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for one in found:
        yield _row(one.job.name, one.before, "")
        for after in one.after:
            yield _row("", after, f"{one.speedup(after):.1f} ×")


def _row(name: str, one: Measured, came: str) -> str:
    promised = "" if one.promised is None else f"{one.promised:.1f} ×"
    words = one.words if one.promised is None else f"`{one.words}`"
    return f"| {name} | {words} | {one.busy:.0%} | {one.steps_per_s:.1f} | {promised} | {came} |"


if __name__ == "__main__":
    sys.exit(main())
