"""Trains a classifier of sounds with its input in two forms, and shows what the steps of each waited for.

    make wav                                         on sounds that it makes itself
    make wav ARGS="my/sounds --seconds 1"            on yours: a subfolder of WAV files for each kind
    python -m examples.wav_classifier --help

Each form is invoked twice, as a job that is started again: the second invocation goes on where the first one ended. What the
improved form has kept stays in DATA/cache, so the next time that you call this it is found from the beginning.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import headrace as hr
from examples.wav_classifier.input_fns import InputFn, Sounds, first_form, improved_form
from examples.wav_classifier.recordings import Recordings, recordings_in
from examples.wav_classifier.sounds import SECONDS, make_sounds

if TYPE_CHECKING:
    from examples.wav_classifier.job import Invocation


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="wav_classifier",
        description="Train a classifier of sounds, fed in two ways, and show what its steps waited.",
    )
    parser.add_argument("sounds", type=Path, nargs="?", help="a folder with a subfolder of .wav files for each kind")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long a sound is cut or filled (default: 2)")
    parser.add_argument("--steps", type=_positive, default=90, help="steps of each invocation (default: 90)")
    parser.add_argument("--invocations", type=_positive, default=2, help="how often each form is started (default: 2)")
    parser.add_argument("--batch-size", type=_positive, default=32, help="sounds in a batch (default: 32)")
    parser.add_argument("--each", type=int, default=300, help="how many sounds of each kind to make (default: 300)")
    parser.add_argument("--data", type=Path, default=Path("data/wav"), help="where sounds, cache and picture are kept")
    options = parser.parse_args(argv)
    if options.seconds < 0.1:
        parser.error("--seconds is at least 0.1")
    if options.each < 2:
        parser.error("--each is at least 2")
    return options


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    try:
        run(options)
    except hr.errors.HeadraceError as error:
        # Whatever is the data's fault, or the machine's, ends in one line.
        print(f"wav_classifier: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130  # as a shell reports it
    return 0


def run(options: argparse.Namespace) -> None:
    check_installed()
    recordings = recordings_in(options.sounds or make_sounds(options.data, options.each))
    sounds = Sounds(rate=recordings.rate, seconds=options.seconds)
    print(
        f"{len(recordings.train.filenames):,} sounds to learn from and {len(recordings.evaluate.filenames):,} to be judged on, "
        f"{sounds.seconds:g} s each: {', '.join(recordings.kinds)}."
    )
    forms: dict[str, InputFn] = {
        "first": first_form(sounds, options.batch_size),
        "improved": improved_form(sounds, options.batch_size, options.data / "cache"),
    }
    show(
        {name: invoked(name, recordings, len(sounds.bands), input_fn, options) for name, input_fn in forms.items()},
        options.data / "waiting.png",
    )


def check_installed() -> None:
    """Sees that PyTorch and matplotlib are there, before anything is made."""
    for module, extra in (("torch", "torch"), ("matplotlib", "report")):
        try:
            importlib.import_module(module)
        except ImportError:
            message = f"this example needs: pip install 'headrace[{extra}]' (make wav does it)"
            raise hr.errors.MissingExtraError(message) from None


def invoked(
    name: str, recordings: Recordings, bands: int, input_fn: InputFn, options: argparse.Namespace
) -> list[Invocation]:
    """The invocations of one form, each going on where the one before ended."""
    import torch

    from examples.wav_classifier.job import invoke

    torch.set_num_threads(1)  # the other cores prepare, as they would beside a device
    done = []
    with tempfile.TemporaryDirectory(prefix="headrace-wav-") as model_dir:
        config = hr.train.RunConfig(model_dir=model_dir)
        for number in range(1, options.invocations + 1):
            print(f"{name} form, invocation {number} of {options.invocations}: {options.steps} steps", flush=True)
            done.append(invoke(recordings, bands, input_fn, number * options.steps, config))
    return done


def show(forms: dict[str, list[Invocation]], picture: Path) -> None:
    from rich.console import Console

    from examples.wav_classifier.picture import draw, sentences, table_of

    Console(width=None if sys.stdout.isatty() else 120).print(table_of(forms))
    print(*sentences(forms), sep="\n")
    picture.parent.mkdir(parents=True, exist_ok=True)
    draw(forms, picture)
    print(f"chart: {picture}")


if __name__ == "__main__":
    sys.exit(main())
