"""The sources: short texts in CSV, TFRecord and tar files, the same ones on every machine.

Each source speaks with words of its own, so the model has something to learn, and a batch tells where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

import headrace as hr

SOURCES: Final = ("csv", "tfrecord", "tar")
WEIGHTS: Final = (0.5, 0.3, 0.2)  # of the sources in the mixture

_SENTENCES: Final = {
    "csv": "the river carries water down from the hills to the mill and turns its wheel all day",
    "tfrecord": "error warning info request from client took ms retry connection closed by peer",
    "tar": "take two eggs some flour milk a little salt stir well and bake until golden",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where the files of each source lie, in order."""

    csv: tuple[str, ...]
    tfrecord: tuple[str, ...]
    tar: tuple[str, ...]


def make_files(folder: Path, files: int, texts: int, seed: int) -> Files:
    """Writes so many files of each source, so many texts in each; TFRecord and tar files are written with headrace."""
    for source in SOURCES:
        (folder / source).mkdir(parents=True)
    names = {source: [folder / source / f"{number:03d}.{source}" for number in range(files)] for source in SOURCES}
    for number in range(files):
        _write_csv(names["csv"][number], _texts("csv", texts, [seed, 0, number]))
        _write_tfrecord(names["tfrecord"][number], _texts("tfrecord", texts, [seed, 1, number]))
        _write_tar(names["tar"][number], _texts("tar", texts, [seed, 2, number]))
    return Files(**{source: tuple(map(str, paths)) for source, paths in names.items()})


def _texts(source: str, texts: int, seed: Sequence[int]) -> Iterator[str]:
    # A generator for each file: its bytes do not depend on which others are made.
    rng = np.random.default_rng(seed)
    for _ in range(texts):
        yield " ".join(rng.choice(_SENTENCES[source].split(), rng.integers(1, 16)))


def _write_csv(path: Path, texts: Iterator[str]) -> None:
    path.write_text("number,text\n" + "".join(f"{number},{text}\n" for number, text in enumerate(texts)))


def _write_tfrecord(path: Path, texts: Iterator[str]) -> None:
    with hr.io.TFRecordWriter(str(path)) as writer:
        for text in texts:
            writer.write(text.encode())


def _write_tar(path: Path, texts: Iterator[str]) -> None:
    with hr.io.TarWriter(str(path)) as writer:
        for number, text in enumerate(texts):
            writer.write({"__key__": f"{number:06}", "txt": text})
