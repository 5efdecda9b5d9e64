"""A folder of sounds: a subfolder for each kind, WAV files in each.

    sounds/bell/…wav
    sounds/siren/…wav

Every fifth file of a kind, in the order of their names, is for the evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import headrace as hr

EVALUATED: Final = 5  # one of so many


@dataclass(frozen=True, slots=True)
class Files:
    """Files and the numbers of their kinds."""

    filenames: tuple[str, ...]
    labels: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordings:
    """What a folder holds."""

    kinds: tuple[str, ...]
    rate: int  # samples a second, of the first file; the others must have the same
    train: Files
    evaluate: Files


def recordings_in(folder: Path) -> Recordings:
    """The files of a folder, by kind and purpose.

    Raises:
        NotFoundError: there is no such folder.
        InvalidArgumentError: it has not two kinds, or a kind has too few files.
        DataLossError: its first file is no whole WAV.
    """
    if not folder.is_dir():
        raise hr.errors.NotFoundError(f"there is no folder {folder}")
    kinds = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if len(kinds) < 2:
        names = ", ".join(path.name for path in kinds) or "none"
        raise hr.errors.InvalidArgumentError(
            f"{folder} needs a subfolder for each kind of sound, two at least; it has {names}"
        )
    found = [_sounds_in(kind) for kind in kinds]
    return Recordings(
        kinds=tuple(kind.name for kind in kinds),
        rate=rate_of(found[0][0]),
        train=_files([[path for at, path in enumerate(paths) if at % EVALUATED] for paths in found]),
        evaluate=_files([paths[::EVALUATED] for paths in found]),
    )


def _sounds_in(kind: Path) -> list[str]:
    found = sorted(str(path) for path in kind.iterdir() if path.suffix.lower() == ".wav" and path.is_file())
    if len(found) < 2:
        raise hr.errors.InvalidArgumentError(
            f"{kind} has {len(found)} .wav files, and two are needed at least: one to learn from, one to be judged on"
        )
    return found


def _files(by_kind: Sequence[Sequence[str]]) -> Files:
    pairs = [(path, label) for label, paths in enumerate(by_kind) for path in paths]
    return Files(tuple(path for path, _ in pairs), tuple(label for _, label in pairs))


def rate_of(path: str) -> int:
    """The samples a second of a WAV."""
    return decoded(path, desired_samples=1)[1]


def decoded(path: str, desired_samples: int) -> tuple[npt.NDArray[np.float32], int]:
    """The first channel of a WAV and its rate; what is wrong with it names the file.

    Raises:
        NotFoundError, DataLossError, InvalidArgumentError: it is not there, cut off or corrupt, or no WAV that can be read.
    """
    contents = hr.io.read_file(path)
    try:
        return hr.audio.decode_wav(contents, desired_channels=1, desired_samples=desired_samples)
    except (hr.errors.DataLossError, hr.errors.InvalidArgumentError) as error:
        raise type(error)(f"{path}: {error}") from error
