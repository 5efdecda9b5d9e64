"""Images to learn from, for whoever has none at hand: real JPEGs of shapes, as large as photographs often are.

An image is a function of seed and number, so a folder is the same whoever makes it. It is written beside its place and
renamed, so it is whole or not there; and its name says what is inside, so that it is made once.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import headrace as hr
from headrace.errors import MissingExtraError

__all__ = ["SHAPES", "Recipe", "make_image", "make_images"]

Grid = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]

SIZES = ((375, 500), (333, 500), (360, 480), (480, 640), (500, 375), (300, 400))  # height and width, in pixels
QUALITY = 90


def _triangle(x: Grid, y: Grid) -> Mask:
    inside: Mask = np.maximum(np.abs(x) * 0.866 + y * 0.5, -y) < 0.6
    return inside


# Of radius 1 around the middle. The first two differ most, and are the easiest to tell apart.
SHAPES: dict[str, Callable[[Grid, Grid], Mask]] = {
    "disc": lambda x, y: x * x + y * y < 0.9,
    "stripes": lambda x, y: (np.maximum(np.abs(x), np.abs(y)) < 0.9) & (np.floor(x * 6) % 2 == 0),
    "ring": lambda x, y: np.abs(np.hypot(x, y) - 0.8) < 0.2,
    "cross": lambda x, y: (np.minimum(np.abs(x), np.abs(y)) < 0.25) & (np.maximum(np.abs(x), np.abs(y)) < 1),
    "triangle": _triangle,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What to make: so many images for training and for validation, of the first shapes, by a seed."""

    training: int = 600
    validation: int = 120
    num_classes: int = 2
    seed: int = 0

    @property
    def folder_name(self) -> str:
        """Tells apart what is made of other recipes."""
        return f"{self.num_classes}-shapes-{self.training}-and-{self.validation}-seed-{self.seed}"

    def name_of(self, number: int) -> str:
        """The file of an image, below the folder: its class, and its number."""
        return f"{list(SHAPES)[number % self.num_classes]}/{number:05}.jpg"

    def lines(self, numbers: range) -> str:
        """A list file of these images."""
        return "".join(f"{self.name_of(number)} {number % self.num_classes}\n" for number in numbers)


def make_images(recipe: Recipe, parent: Path) -> Path:
    """Makes the images of a recipe, with ``train.txt`` and ``val.txt``, unless they are there already.

    Args:
        recipe: what to make.
        parent: the folder that their folder is made in.

    Returns:
        Their folder.

    Raises:
        MissingExtraError: what writes JPEGs is not installed.
    """
    folder = parent / recipe.folder_name
    if folder.is_dir():
        return folder
    parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
    try:
        _fill(unfinished, recipe)
        unfinished.chmod(0o755)  # a temporary folder is its owner's alone
        _name(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _name(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # then another process has made the same meanwhile
            raise


def _fill(folder: Path, recipe: Recipe) -> None:
    for shape in list(SHAPES)[: recipe.num_classes]:
        (folder / shape).mkdir()

    def write(number: int) -> int:
        shape = list(SHAPES)[number % recipe.num_classes]
        contents = _as_jpeg(make_image(shape, np.random.default_rng([recipe.seed, number])))
        return (folder / recipe.name_of(number)).write_bytes(contents)

    count = recipe.training + recipe.validation
    for _ in hr.Dataset.range(count).map(write, num_parallel_calls=hr.AUTOTUNE):
        pass
    (folder / "train.txt").write_text(recipe.lines(range(recipe.training)), encoding="utf-8")
    (folder / "val.txt").write_text(recipe.lines(range(recipe.training, count)), encoding="utf-8")


def make_image(shape: str, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """One shape somewhere in an image, of some size and colour, before a background of another colour.

    Args:
        shape: one of ``SHAPES``.
        rng: draws all the rest.

    Returns:
        uint8 (height, width, 3), RGB.
    """
    height, width = SIZES[rng.integers(len(SIZES))]
    row, column = np.ogrid[:height, :width]
    radius = min(height, width) * rng.uniform(0.3, 0.45)
    y = (row - height / 2 - rng.uniform(-1, 1) * (height / 2 - radius)) / radius
    x = (column - width / 2 - rng.uniform(-1, 1) * (width / 2 - radius)) / radius
    angle = rng.uniform(0, 2 * np.pi)
    mask = SHAPES[shape](x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle))
    ground = rng.uniform(80, 130, 3)
    figure = ground + rng.uniform(60, 100, 3)  # always lighter, and of another colour
    light = 12 * np.sin(row / rng.uniform(20, 60)) * np.cos(column / rng.uniform(20, 60))
    noise = rng.standard_normal((height, width), dtype=np.float32) * 5  # a photograph's grain, and its size as a file
    colours = np.where(mask[..., np.newaxis], figure, ground).astype(np.float32)
    return (colours + (light + noise)[..., np.newaxis]).clip(0, 255).astype(np.uint8)


def _as_jpeg(pixels: npt.NDArray[np.uint8]) -> bytes:
    try:
        import simplejpeg
    except ImportError:
        raise MissingExtraError("making JPEGs needs simplejpeg: pip install 'headrace[image]'") from None
    contents: bytes = simplejpeg.encode_jpeg(pixels, quality=QUALITY)
    return contents
