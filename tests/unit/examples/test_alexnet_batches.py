"""The images that examples/alexnet_finetune makes, and the batches that it makes of images."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from examples.alexnet_finetune.data_generator import ImageDataGenerator, load_image
from examples.alexnet_finetune.image_lists import ImageList, images_in_lists, read_list
from examples.alexnet_finetune.made_images import SHAPES, Recipe, make_image, make_images
from headrace.errors import HeadraceError

simplejpeg = pytest.importorskip("simplejpeg")
pytest.importorskip("cv2")

RECIPE = Recipe(training=10, validation=4, num_classes=2, seed=3)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_images(RECIPE, tmp_path_factory.mktemp("made"))


def generator(images: ImageList, **changes: Any) -> ImageDataGenerator:
    given: dict[str, Any] = {"images": images, "mode": "training", "batch_size": 4, "num_classes": 2, "seed": 5}
    return ImageDataGenerator(**given | changes)


# ---- making


def test_made_images_are_jpegs_of_varied_sizes_in_two_lists(folder: Path) -> None:
    found = images_in_lists(folder / "train.txt", folder / "val.txt", 2)
    assert (len(found.training), len(found.validation)) == (10, 4)
    assert found.training.labels == (0, 1) * 5
    sizes = {hr.io.decode_jpeg(hr.io.read_file(path)).shape for path in found.training.paths}
    assert len(sizes) > 2
    assert {Path(path).parent.name for path in found.training.paths} == {"disc", "stripes"}


def test_images_are_made_once_and_are_the_same_in_any_folder(folder: Path, tmp_path: Path) -> None:
    first = folder / "disc/00000.jpg"
    made_at = first.stat().st_mtime_ns
    assert make_images(RECIPE, folder.parent) == folder
    assert first.stat().st_mtime_ns == made_at
    again = make_images(RECIPE, tmp_path)
    assert [path.read_bytes() for path in sorted(again.rglob("*.*"))] == [
        path.read_bytes() for path in sorted(folder.rglob("*.*"))
    ]


def test_what_stops_the_making_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(simplejpeg, "encode_jpeg", full)
    with pytest.raises(HeadraceError, match="No space left"):
        make_images(RECIPE, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_can_be_seen(shape: str) -> None:
    image = make_image(shape, np.random.default_rng(0)).astype(float)
    light = image.mean(axis=2) > (image.mean(axis=2).min() + image.mean(axis=2).max()) / 2
    assert 0.02 < light.mean() < 0.6


# ---- batches


def test_an_image_is_resized_bgr_and_without_the_mean(tmp_path: Path) -> None:
    pixels = np.full((300, 400, 3), (200, 120, 40), np.uint8)
    path = tmp_path / "plain.jpg"
    path.write_bytes(simplejpeg.encode_jpeg(pixels, quality=100, colorsubsampling="444"))
    image = load_image(str(path))
    assert (image.shape, str(image.dtype)) == ((227, 227, 3), "float32")
    blue, green, red = image.mean(axis=(0, 1))
    assert np.allclose([blue, green, red], [40 - 103.939, 120 - 116.779, 200 - 123.68], atol=2)


def test_training_is_shuffled_without_end_and_labels_are_one_hot(folder: Path) -> None:
    images = read_list(folder / "train.txt")
    names = generator(images).names()
    epochs = [[path for path, _ in names.take(30)][start : start + 10] for start in (0, 10, 20)]
    assert all(sorted(epoch) == sorted(images.paths) for epoch in epochs)
    assert len({tuple(epoch) for epoch in [*epochs, list(images.paths)]}) == 4
    for features, labels in generator(images).data().take(4):
        assert features.shape == (4, 227, 227, 3)
        assert (labels.shape, labels.dtype) == ((4, 2), np.float32)
        assert labels.sum(axis=1).tolist() == [1.0] * 4


def test_inference_keeps_the_order_and_ends(folder: Path) -> None:
    images = read_list(folder / "train.txt")
    batches = list(generator(images, mode="inference").data())
    assert [len(features) for features, _ in batches] == [4, 4, 2]
    assert np.concatenate([labels for _, labels in batches]).argmax(axis=1).tolist() == list(images.labels)
    assert np.array_equal(batches[2][0][1], load_image(images.paths[9]))


def test_parallel_batches_are_the_sequential_ones(folder: Path) -> None:
    images = read_list(folder / "train.txt")
    parallel = generator(images, num_parallel_calls=3, output_buffer_size=7).data().take(7)
    for one, other in zip(generator(images).data().take(7), parallel, strict=True):
        assert all(np.array_equal(mine, yours) for mine, yours in zip(one, other, strict=True))


@pytest.mark.parametrize(("contents", "message"), [(b"a text\n", "text.jpg"), (b"", "text.jpg"), (None, "text.jpg")])
@pytest.mark.parametrize("calls", [None, 2])
def test_a_file_that_is_no_image_is_named(
    tmp_path: Path, contents: bytes | None, message: str, calls: int | None
) -> None:
    if contents is not None:
        (tmp_path / "text.jpg").write_bytes(contents)
    images = ImageList(paths=(str(tmp_path / "text.jpg"),), labels=(0,))
    with pytest.raises(HeadraceError, match=message):
        list(generator(images, mode="inference", num_parallel_calls=calls).data())


def test_the_guides_two_pipelines_give_the_same_batches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[3] / "docs/guide/alexnet.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec("\n".join(blocks), names)
    (images, labels), others = (next(iter(names[way].take(1))) for way in ("sequential", "parallel"))
    assert images.shape == (128, 227, 227, 3)
    assert np.array_equal(images, others[0])
    assert np.array_equal(labels, others[1])


def test_a_truncated_image_is_named(folder: Path, tmp_path: Path) -> None:
    contents = (folder / "disc/00000.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(contents[: len(contents) // 2])
    with pytest.raises(hr.errors.DataLossError, match=r"cut\.jpg: a truncated or corrupt JPEG"):
        load_image(str(tmp_path / "cut.jpg"))
