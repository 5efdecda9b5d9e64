"""Which images are learned, and what each of them shows: list files of ``path label`` lines, or a folder for each class.

What always holds: a list that is returned has images, each of them is a file that is there, and each label is a class.
Whatever is wrong is said with the line where it stands, before anything is trained.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from headrace.errors import InvalidArgumentError, NotFoundError
from headrace.io import read_file

__all__ = ["IMAGE_SUFFIXES", "ImageList", "Images", "images_in_folder", "images_in_lists", "read_list"]

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png")
# Of a list that comes without another for validation, one image in so many is kept for it.
HELD_OUT = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageList:
    """Image files and the number of each one's class; at least one."""

    paths: tuple[str, ...]
    labels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def chosen(self, numbers: np.ndarray) -> ImageList:
        """Those with these numbers, in this order."""
        return ImageList(
            paths=tuple(self.paths[number] for number in numbers),
            labels=tuple(self.labels[number] for number in numbers),
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """What a training learns from, what it is judged on, and the names of the classes."""

    training: ImageList
    validation: ImageList
    classes: tuple[str, ...]


def read_list(path: str | Path, num_classes: int | None = None) -> ImageList:
    """Reads a list file: in each line the path of an image, white space, and the number of its class, from 0.

    Args:
        path: the list. The paths in it count from its own folder; those with spaces are fine.
        num_classes: how many classes there are; None takes any number.

    Raises:
        NotFoundError: there is no such list, or an image is not there.
        InvalidArgumentError: the list is empty or no text, a line is no path and label, or a label is no class.
    """
    try:
        lines = read_file(path).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InvalidArgumentError(f"{path} is no list of 'path label' lines: it is no text") from None
    entries = [
        _entry(line, Path(path), f"{path}:{number}", num_classes)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not entries:
        raise InvalidArgumentError(
            f"{path} is empty; each of its lines is the path of an image and a label, as in 'a.jpg 0'"
        )
    return ImageList(paths=tuple(name for name, _ in entries), labels=tuple(label for _, label in entries))


def _entry(line: str, path: Path, where: str, num_classes: int | None) -> tuple[str, int]:
    name, *label = line.strip().rsplit(maxsplit=1)
    if not label:
        raise InvalidArgumentError(f"a line is a path and a label, and not {line.strip()!r}", origin=where)
    if not label[0].isdecimal():
        raise InvalidArgumentError(f"the label is a whole number from 0, and not {label[0]!r}", origin=where)
    if num_classes is not None and int(label[0]) >= num_classes:
        message = f"label {label[0]} is none of the {num_classes} classes, 0 to {num_classes - 1}"
        raise InvalidArgumentError(message, origin=where)
    file = path.parent / name
    if not file.is_file():
        raise NotFoundError(f"no such image: {file}", origin=where)
    return str(file), int(label[0])


def images_in_lists(training: Path, validation: Path | None, num_classes: int | None, seed: int = 0) -> Images:
    """The images of two lists, or of one, of which a part is held out.

    Args:
        training: the list to learn from.
        validation: the list to be judged on; None holds out a fifth of the other.
        num_classes: how many classes there are; None takes the highest label of the training list for the last.
        seed: chooses what is held out.

    Raises:
        NotFoundError: a list or an image is not there.
        InvalidArgumentError: a list is not what it should be.
    """
    found = read_list(training, num_classes)
    count = num_classes or max(found.labels) + 1
    if count < 2:
        raise InvalidArgumentError(
            f"all images of {training} have label 0; to learn, there must be two classes or more"
        )
    classes = tuple(f"class {number}" for number in range(count))
    if validation is not None:
        return Images(training=found, validation=read_list(validation, count), classes=classes)
    return _split(found, classes, seed, origin=str(training))


def images_in_folder(folder: Path, seed: int = 0) -> Images:
    """The images of a folder that has a subfolder for each class; a fifth of each class is held out.

    Args:
        folder: its subfolders, in the alphabet's order, are the classes.
        seed: chooses what is held out.

    Raises:
        NotFoundError: there is no such folder.
        InvalidArgumentError: it has not two subfolders with images, or an image too few.
    """
    if not folder.is_dir():
        raise NotFoundError(f"no such folder: {folder}")
    subfolders = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if len(subfolders) < 2:
        raise InvalidArgumentError(
            f"{folder} has {len(subfolders)} subfolders; it must have one for each class, so two or more, with its images inside"
        )
    paths: list[str] = []
    labels: list[int] = []
    for label, subfolder in enumerate(subfolders):
        found = _image_files(subfolder)
        paths += found
        labels += [label] * len(found)
    classes = tuple(path.name for path in subfolders)
    return _split(ImageList(paths=tuple(paths), labels=tuple(labels)), classes, seed, origin=str(folder))


def _image_files(folder: Path) -> list[str]:
    found = sorted(str(path) for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())
    if not found:
        raise InvalidArgumentError(f"no image in {folder}: none of its files ends in {', '.join(IMAGE_SUFFIXES)}")
    return found


def _split(images: ImageList, classes: tuple[str, ...], seed: int, origin: str) -> Images:
    """Holds out a part of each class, so that each is judged as it is learned."""
    rng = np.random.default_rng(seed)
    labels = np.array(images.labels)
    held_out = np.zeros(len(images), bool)
    for label in range(len(classes)):
        members = rng.permutation(np.flatnonzero(labels == label))
        held_out[members[: -(-len(members) // HELD_OUT) if len(members) > 1 else 0]] = True
    if not held_out.any():
        raise InvalidArgumentError("no class has two images, one to learn from and one to be judged on", origin=origin)
    return Images(
        training=images.chosen(np.flatnonzero(~held_out)),
        validation=images.chosen(np.flatnonzero(held_out)),
        classes=classes,
    )
