"""Batches of images for AlexNet, from a list: in the training mode shuffled and without end, in the other once and in order.

    names and labels -> shuffled -> decoded, resized, BGR, minus the mean -> batches

The lists are shuffled once and then, with a buffer, anew in each epoch. Both move names: a buffer of a thousand decoded
images would hold 600 MB.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import headrace as hr
from examples.alexnet_finetune.image_lists import ImageList
from headrace.errors import HeadraceError

__all__ = ["IMAGENET_MEAN_BGR", "SIDE", "ImageDataGenerator"]

SIDE = 227  # what AlexNet's first convolution fits into without a rest
IMAGENET_MEAN_BGR = (103.939, 116.779, 123.68)

Floats = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageDataGenerator:
    """How a list of images becomes batches.

    Args:
        images: files and labels.
        mode: ``"training"``: shuffled, without end, full batches; ``"inference"``: once, in the list's order.
        batch_size: images in a batch.
        num_classes: the length of a label as a vector.
        buffer_size: how many names the shuffle's buffer holds.
        num_parallel_calls: how many images are decoded at once; None decodes one after the other, when it is asked for.
        output_buffer_size: how many decoded images may lie ready.
        seed: of both shuffles.
    """

    images: ImageList
    mode: Literal["training", "inference"]
    batch_size: int
    num_classes: int
    buffer_size: int = 1000
    num_parallel_calls: int | None = None
    output_buffer_size: int | None = None
    seed: int = 0

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Of an image in a batch."""
        return SIDE, SIDE, 3

    def names(self) -> hr.Dataset:
        """Pairs of path and label, in the order in which they are learned."""
        if self.mode == "inference":
            return hr.Dataset.from_tensor_slices((list(self.images.paths), list(self.images.labels)))
        images = self.images.chosen(np.random.default_rng(self.seed).permutation(len(self.images)))
        names = hr.Dataset.from_tensor_slices((list(images.paths), list(images.labels)))
        return names.shuffle(self.buffer_size, seed=self.seed).repeat()

    def data(self) -> hr.Dataset:
        """Pairs of images, float32 (batch, 227, 227, 3), BGR without the mean, and labels, float32 (batch, classes)."""
        num_classes = self.num_classes

        def parse(path: str, label: int) -> tuple[Floats, Floats]:
            return load_image(path), hr.one_hot(label, num_classes)

        return (
            self.names()
            .map(parse, num_parallel_calls=self.num_parallel_calls, output_buffer_size=self.output_buffer_size)
            .batch(self.batch_size)
        )


def load_image(path: str) -> Floats:
    """An image as AlexNet expects it.

    Raises:
        HeadraceError: it cannot be read or is no image; the file is named.
    """
    contents = hr.io.read_file(path)
    try:
        # Photographs of several megapixels are decoded at a half, a quarter or an eighth, where that is enough.
        image: Any = hr.io.decode_jpeg(contents, channels=3, min_size=SIDE)
    except HeadraceError as error:
        raise error.located(stage=None, origin=path) from error.__cause__
    resized = hr.image.resize(image, (SIDE, SIDE))
    return hr.image.normalize(hr.image.rgb_to_bgr(resized), IMAGENET_MEAN_BGR)
