"""JPEG images, decoded and resized (hr.image) for AlexNet, 32 in a batch: the pipeline of ``make alexnet``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import headrace as hr
from examples.alexnet_finetune.data_generator import load_image
from examples.alexnet_finetune.image_lists import read_list
from examples.alexnet_finetune.made_images import Recipe, make_images
from examples.waiting.gpu import gpu_step

__all__ = ["STEP_S", "naive", "parse", "step"]

DATA: Final = Path("data/alexnet")
BATCH_SIZE: Final = 32

STEP_S: Final = 0.024

step = gpu_step(STEP_S)


def names() -> hr.Dataset:
    """Returns names and labels, those of 600 images made where they are not there."""
    images = read_list(make_images(Recipe(), DATA) / "train.txt", num_classes=2)
    return hr.Dataset.from_tensor_slices((list(images.paths), list(images.labels))).shuffle(1000, seed=0)


def parse(path: str, label: int) -> tuple[Any, Any]:
    """Returns an image as AlexNet expects it, and its label as a vector."""
    return load_image(path), hr.one_hot(label, 2)


def naive() -> hr.Dataset:
    """The input as one writes it first."""
    return names().map(parse).batch(BATCH_SIZE)
