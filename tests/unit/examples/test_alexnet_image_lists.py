"""The list files and folders of examples/alexnet_finetune: what they say, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.alexnet_finetune.image_lists import images_in_folder, images_in_lists, read_list
from headrace.errors import InvalidArgumentError, NotFoundError


def images(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def written(folder: Path, text: str, name: str = "train.txt") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_line_is_a_path_and_a_label(tmp_path: Path) -> None:
    images(tmp_path, "cats/1.jpg", "dogs/my dog.jpg")
    found = read_list(written(tmp_path, "cats/1.jpg 0\n\n  dogs/my dog.jpg\t1  \r\n"))
    assert found.paths == (str(tmp_path / "cats/1.jpg"), str(tmp_path / "dogs/my dog.jpg"))
    assert found.labels == (0, 1)


def test_an_absolute_path_is_taken_as_it_is(tmp_path: Path) -> None:
    images(tmp_path, "images/1.jpg")
    (tmp_path / "lists").mkdir()
    found = read_list(written(tmp_path / "lists", f"{tmp_path}/images/1.jpg 0\n"))
    assert found.paths == (f"{tmp_path}/images/1.jpg",)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_a_list_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, labels: list[int]) -> None:
    folder = tmp_path_factory.getbasetemp()
    images(folder, *(f"{number}.png" for number in range(len(labels))))
    lines = "".join(f"{number}.png {label}\n" for number, label in enumerate(labels))
    found = read_list(written(folder, lines), num_classes=10)
    assert found.paths == tuple(f"{folder}/{number}.png" for number in range(len(labels)))
    assert found.labels == tuple(labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "train.txt is empty; each of its lines is the path of an image and a label"),
        ("\n \n", "is empty"),
        ("a.jpg 0\na.jpg\n", "train.txt:2: a line is a path and a label, and not 'a.jpg'"),
        ("a.jpg 0\n\na.jpg dog\n", "train.txt:3: the label is a whole number from 0, and not 'dog'"),
        ("a.jpg -1\n", "the label is a whole number from 0, and not '-1'"),
        ("a.jpg 1.0\n", "the label is a whole number from 0, and not '1.0'"),
        ("a.jpg ²\n", "the label is a whole number from 0, and not '²'"),
        ("a.jpg 3\n", "train.txt:1: label 3 is none of the 3 classes, 0 to 2"),
    ],
)
def test_what_is_wrong_with_a_list_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    images(tmp_path, "a.jpg")
    with pytest.raises(InvalidArgumentError, match=message):
        read_list(written(tmp_path, text), num_classes=3)


def test_an_image_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    with pytest.raises(NotFoundError, match=r"train\.txt:2: no such image: .*/b\.jpg"):
        read_list(written(tmp_path, "a.jpg 0\nb.jpg 1\n"))


def test_a_list_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.txt"):
        read_list(tmp_path / "none.txt")
    (tmp_path / "image.jpg").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(InvalidArgumentError, match=r"image\.jpg is no list of 'path label' lines: it is no text"):
        read_list(tmp_path / "image.jpg")


# ---- what is learned, and what is judged on


def test_the_training_list_says_how_many_classes_there_are(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    training, validation = written(tmp_path, "a.jpg 0\na.jpg 2\n"), written(tmp_path, "a.jpg 1\n", "val.txt")
    found = images_in_lists(training, validation, None)
    assert found.classes == ("class 0", "class 1", "class 2")
    assert (found.training.labels, found.validation.labels) == ((0, 2), (1,))


def test_a_validation_label_that_is_never_learned_is_an_error(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    training, validation = written(tmp_path, "a.jpg 0\na.jpg 1\n"), written(tmp_path, "a.jpg 2\n", "val.txt")
    with pytest.raises(InvalidArgumentError, match=r"val\.txt:1: label 2 is none of the 2 classes"):
        images_in_lists(training, validation, None)


def test_one_class_is_nothing_to_learn(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    with pytest.raises(InvalidArgumentError, match=r"all images of .* have label 0"):
        images_in_lists(written(tmp_path, "a.jpg 0\n"), None, None)


def test_a_fifth_of_each_class_is_held_out_and_the_seed_says_which(tmp_path: Path) -> None:
    names = [f"{number:02}.jpg" for number in range(30)]
    images(tmp_path, *names)
    training = written(tmp_path, "".join(f"{name} {number % 3}\n" for number, name in enumerate(names)))
    found = images_in_lists(training, None, None, seed=1)
    assert Counter(found.training.labels) == {0: 8, 1: 8, 2: 8}
    assert Counter(found.validation.labels) == {0: 2, 1: 2, 2: 2}
    assert {*found.training.paths, *found.validation.paths} == {str(tmp_path / name) for name in names}
    assert images_in_lists(training, None, None, seed=1) == found
    assert images_in_lists(training, None, None, seed=2) != found


def test_the_subfolders_of_a_folder_are_the_classes(tmp_path: Path) -> None:
    images(tmp_path, "dog/1.jpg", "dog/2.PNG", "dog/notes.txt", "cat/more/3.jpeg", "cat/4.jpg", ".cache/5.jpg")
    found = images_in_folder(tmp_path)
    assert found.classes == ("cat", "dog")
    both = [
        (Path(path).name, label)
        for part in (found.training, found.validation)
        for path, label in zip(part.paths, part.labels, strict=True)
    ]
    assert sorted(both) == [("1.jpg", 1), ("2.PNG", 1), ("3.jpeg", 0), ("4.jpg", 0)]
    assert Counter(found.validation.labels) == {0: 1, 1: 1}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["1.jpg"], "has 0 subfolders; it must have one for each class"),
        (["cat/1.jpg", "cat/2.jpg"], "has 1 subfolders"),
        (["cat/1.jpg", "dog/readme.txt"], r"no image in .*/dog: none of its files ends in \.jpg, \.jpeg, \.png"),
        (["cat/1.jpg", "dog/1.jpg"], "no class has two images"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path, names: list[str], message: str) -> None:
    images(tmp_path, *names)
    with pytest.raises(InvalidArgumentError, match=message):
        images_in_folder(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no such folder: .*/none"):
        images_in_folder(tmp_path / "none")
