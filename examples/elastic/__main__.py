"""Kills a process of a training job and goes on with other numbers of them, and shows that every batch is the same.

make elastic                                          8 processes, then 6, 12 and 1
make elastic ARGS="--ranks 4,2,4 --streams 4"         other numbers; each divides the streams, and they the batch
python -m examples.elastic --help
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr

if TYPE_CHECKING:
    from examples.elastic.peers import Answer
    from examples.elastic.story import Outcome, Plan


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="elastic", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--ranks", type=_numbers, default=(8, 6, 12, 1), help="processes of each job (default: 8,6,12,1)"
    )
    parser.add_argument("--steps", type=int, default=48, help="steps of all jobs together (default: 48)")
    parser.add_argument("--streams", type=int, default=24, help="what the input is dealt to (default: 24)")
    parser.add_argument("--batch", type=int, default=48, help="rows in a global batch (default: 48)")
    parser.add_argument("--seed", type=int, default=0, help="of the files, the order and the weights")
    parser.add_argument("--page", type=Path, default=Path("build/elastic.html"), help="the page to write")
    parser.add_argument(
        "--peers", default=None, metavar="PYTHON", help="ask other libraries, with an interpreter that has them"
    )
    options = parser.parse_args(argv)
    if len(options.ranks) < 2 or options.ranks[0] < 2:
        parser.error("--ranks is two numbers at least, of which the first is 2 at least: one process is killed")
    if options.steps < 4 * len(options.ranks):
        parser.error(f"--steps is {4 * len(options.ranks)} at least: four of each job")
    for small, large in [*((ranks, options.streams) for ranks in options.ranks), (options.streams, options.batch)]:
        if large % small:
            parser.error(f"{small} does not divide {large}: ranks divide --streams, and streams --batch")
    return options


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(number) for number in text.split(","))
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("there is at least one process")
    return numbers


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    try:
        return run(options)
    except hr.errors.HeadraceError as error:
        print(f"elastic: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130  # as a shell reports it


def run(options: argparse.Namespace) -> int:
    """Does it all; returns 0 where every batch is the same."""
    from rich.console import Console

    _check_installed()
    from examples.elastic import documents, pipeline, story
    from examples.elastic.progress import progress_on

    plan = story.Plan(
        ranks=options.ranks, steps=options.steps, batch=options.batch, streams=options.streams, seed=options.seed
    )
    console = Console()
    with tempfile.TemporaryDirectory(prefix="headrace-elastic-") as made, progress_on(console) as progress:
        folder = Path(made)
        files = documents.make_files(folder, options.streams, texts=100, seed=options.seed)
        progress.note(_setting(plan))
        outcome = story.run(plan, files, folder, progress)
        dataset = pipeline.input_of(files, batch=plan.batch, streams=plan.streams, steps=plan.steps, seed=plan.seed)
        explained = dataset.explain().replace(f"{folder}/", "")
    answers = _asked(options.peers)
    _show(outcome, answers, explained, options.page)
    return 0 if outcome.equal == plan.steps else 1


def _check_installed() -> None:
    """Sees that PyTorch is there, before anything is made."""
    try:
        importlib.import_module("torch")
    except ImportError:
        message = "this example needs: pip install 'headrace[torch]' (make elastic does it)"
        raise hr.errors.MissingExtraError(message) from None


def _setting(plan: Plan) -> str:
    return (
        f"3 sources in {3 * plan.streams} files, mixed 5:3:2, filtered, shuffled in a window and packed; "
        f"{plan.steps} global batches of {plan.batch} rows in {plan.streams} streams"
    )


def _asked(python: str | None) -> list[Answer]:
    if python is None:
        return []
    from examples.elastic.peers import answers_of

    try:
        return answers_of(python)
    except (OSError, subprocess.SubprocessError) as error:  # the page is written all the same
        print(f"elastic: other libraries could not be asked: {error}", file=sys.stderr)
        return []


def _show(outcome: Outcome, answers: list[Answer], explained: str, path: Path) -> None:
    from examples.elastic.page import write_page
    from headrace.page.machine import this_machine

    print(f"\n{'step':>4}  {'undisturbed':<16}  {'this job':<16}  ranks")
    for step, (expected, found, ranks) in enumerate(outcome.batches, start=1):
        print(f"{step:>4}  {expected}  {found}  {ranks:>5}{'' if expected == found else '  DIFFERS'}")
    merged = [part.merged for part in outcome.parts if part.merged]
    print(
        f"\n{outcome.equal} of {outcome.plan.steps} global batches are those of the undisturbed job.",
        f"State of the whole job: {max(each.state_bytes for each in merged) / 1e3:.1f} kB, made of the ranks' in "
        f"{max(each.merge_s for each in merged) * 1e3:.1f} ms and loaded in {max(part.load_s for part in outcome.parts) * 1e3:.1f} ms.",
        f"From the kill to the next trained step: {outcome.parts[1].resumed_s:.1f} s, starting the processes included.",
        sep="\n",
    )
    if answers:
        print(
            "\nThe same, asked of others: numbers that are shuffled, and a mixture that is filtered and shuffled in a window"
        )
    for answer in answers:
        print(f"  {answer.name} ({answer.version})" if answer.version else f"  {answer.name}")
        print(
            *(f"    {asked}: {line}" for asked in ("numbers", "mixture") for line in getattr(answer, asked)), sep="\n"
        )
    write_page(path, outcome, explained, answers, this_machine("torch"))
    print(f"page: {path}")


if __name__ == "__main__":
    sys.exit(main())
