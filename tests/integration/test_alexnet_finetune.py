"""examples/alexnet_finetune as it is called: on images that it makes, on one's own, and on what is no image."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.alexnet_finetune import command
from examples.alexnet_finetune.made_images import Recipe, make_images

pytest.importorskip("simplejpeg")
pytest.importorskip("cv2")

ROOT = Path(__file__).parents[2]
SMALL = ("--batch-size", "4", "--narrower", "16", "--device", "cpu", "--learning-rate", "0.1")
ONLY_TRAINING = ("--steps", "0", *SMALL)
RECIPE = Recipe(training=12, validation=5, seed=1)


@pytest.fixture(name="images", scope="module")
def _images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_images(RECIPE, tmp_path_factory.mktemp("images"))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*argv: Any) -> int:
    return command.main([str(word) for word in argv])


def lines_of(capsys: pytest.CaptureFixture[str], start: str) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith(start)]


# ---- the whole of it


def test_it_makes_images_times_both_pipelines_draws_and_trains(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    assert run("--images", 12, "--steps", 3, "--epochs", 2, "--plot", "plots/box.svg", *SMALL) == 0
    out = capsys.readouterr().out
    assert "10 images to learn from and 2 to be judged on: disc, stripes" in out
    assert len(re.findall(r"^ ?sequential .* ms .* ms .*%   1\.00×", out, re.MULTILINE)) == 2
    assert len(re.findall(r"^ ?parallel .* ms .* ms .*%   \d+\.\d\d×", out, re.MULTILINE)) == 2
    assert "identical losses: both ways gave the very same 3." in out
    assert len(re.findall(r"^epoch [12]: loss \d\.\d{4}, validation loss \d\.\d{4}, accuracy ", out, re.MULTILINE)) == 2
    drawn = Path("plots/box.svg").read_text()
    assert all(word in drawn for word in ("sequential", "parallel", "loading alone", "training on the CPU", "3 steps"))


def test_the_loading_is_timed_where_there_is_no_pytorch(images: Path) -> None:
    code = (
        "import sys; sys.modules.update(torch=None, matplotlib=None)\n"
        "from examples.alexnet_finetune.command import main\n"
        f"sys.exit(main(['--no-train', '--no-plot', '--steps', '2', '--batch-size', '2', '--data', {str(images)!r}]))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert "loading alone" in found.stdout
    assert "training on" not in found.stdout


def test_it_is_run_as_a_module() -> None:
    command_line = [sys.executable, "-m", "examples.alexnet_finetune", "--help"]
    found = subprocess.run(command_line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert "--train-list FILE" in found.stdout


# ---- training


def test_the_same_seed_trains_to_the_same_bits(images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    lists = ("--train-list", images / "train.txt", "--val-list", images / "val.txt")
    for place, calls in (("one", 1), ("other", 2)):
        assert run(*lists, *ONLY_TRAINING, "--epochs", 2, "--num-parallel-calls", calls, "--model-dir", place) == 0
    one, other = (torch.load(f"{place}/export/weights/final/alexnet.pt") for place in ("one", "other"))
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    epochs = lines_of(capsys, "epoch")
    assert len(epochs) == 4
    assert [line.partition(";")[0] for line in epochs[:2]] == [line.partition(";")[0] for line in epochs[2:]]
    assert run(*lists, *ONLY_TRAINING, "--epochs", 1, "--weights", "one/export/weights/final/alexnet.pt") == 0
    assert "weights of conv1, conv2, conv3, conv4, conv5, fc6, fc7, fc8 from one/" in capsys.readouterr().out


@pytest.mark.parametrize("dies_at", [1, 4, 5])
def test_a_training_that_died_goes_on_to_the_same_bits(
    images: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    torch = pytest.importorskip("torch")
    from examples.alexnet_finetune.training import AlexNetTrainer

    job = ("--data", images, *ONLY_TRAINING, "--epochs", 3, "--model-dir")
    assert run(*job, "whole") == 0
    steps = iter(range(1, 100))

    def dying(self: Any, features: Any, labels: Any) -> Any:
        if next(steps) == dies_at:
            raise KeyboardInterrupt
        return train_step(self, features, labels)

    train_step = AlexNetTrainer.train_step
    with monkeypatch.context() as patched:
        patched.setattr(AlexNetTrainer, "train_step", dying)
        assert run(*job, "killed") == 130
    assert run(*job, "killed") == 0
    went_on = "goes on from the checkpoint at step" in capsys.readouterr().out
    assert went_on == (dies_at > 3)  # an epoch has three steps
    whole, killed = (torch.load(f"{place}/export/weights/final/alexnet.pt") for place in ("whole", "killed"))
    assert all(torch.equal(value, killed[name]) for name, value in whole.items())

    assert run(*job, "whole") == 0
    assert "holds a job that has made all its 9 steps; raise --epochs" in capsys.readouterr().out
    assert run(*job, "whole", "--train-layers", "fc8", "--epochs", 4) == 1
    assert "the checkpoint in --model-dir is of a job with other classes, --train-layers" in capsys.readouterr().err


# ---- what is wrong


def failing(folder: Path, what: str) -> tuple[str, ...]:
    """The arguments of a call that cannot go well."""
    (folder / "text.jpg").write_text("not an image\n")
    (folder / "list.txt").write_text("text.jpg 0\ntext.jpg 1\n")
    (folder / "missing.txt").write_text("none.jpg 0\n")
    (folder / "beyond.txt").write_text("text.jpg 2\n")
    (folder / "empty.txt").touch()
    (folder / "file").touch()
    for name in ("a/1.jpg", "a/2.jpg", "b/1.jpg"):
        (folder / "classes" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "classes" / name).touch()
    return {
        "no image": ("--train-list", "list.txt", "--val-list", "list.txt"),
        "missing": ("--train-list", "missing.txt"),
        "empty": ("--train-list", "empty.txt"),
        "label": ("--train-list", "beyond.txt", "--num-classes", "2"),
        "folder": ("--data", "none"),
        "folder of others": ("--data", "classes", "--num-classes", "3"),
        "val alone": ("--val-list", "list.txt"),
        "too many classes": ("--num-classes", "9"),
        "too few images": ("--images", "2"),
        "plot": ("--plot", "box.txt"),
        "plot folder": ("--plot", "file/box.png"),
    }[what]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("no image", r"map 'parse' .*, text\.jpg: contents are no JPEG, PNG"),
        ("missing", r"missing\.txt:1: no such image: none\.jpg"),
        ("empty", r"empty\.txt is empty"),
        ("label", r"beyond\.txt:1: label 2 is none of the 2 classes, 0 to 1"),
        ("folder", "no such folder: none"),
        ("folder of others", "--num-classes 3: classes has 2 subfolders"),
        ("val alone", "--val-list goes with a --train-list"),
        ("too many classes", "images of at most 5 classes can be made"),
        ("too few images", "--images 2 are too few for 2 classes"),
        ("plot", r"--plot box\.txt: a picture's name ends in \.png, \.svg, \.pdf"),
        ("plot folder", r"--plot file/box\.png: "),
    ],
)
def test_what_is_wrong_is_one_line_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, message: str
) -> None:
    if what.startswith("plot"):
        pytest.importorskip("matplotlib")
    options = () if what.startswith("plot") else ("--no-plot",)
    assert run("--no-train", "--batch-size", 2, "--steps", 1, *options, *failing(tmp_path, what)) == 1
    err = capsys.readouterr().err
    assert re.search(message, err)
    assert err.startswith("alexnet_finetune: error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--weights", "none.npy"), "no such file of weights: none.npy"),
        (("--device", "cuda:99"), "--device cuda:99: "),
        (("--device", "toaster"), "--device toaster: "),
    ],
)
def test_what_is_wrong_with_the_network_is_one_line_on_stderr(
    images: Path, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], message: str
) -> None:
    pytest.importorskip("torch")
    assert run("--data", images, *ONLY_TRAINING, *argv) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("missing", "extra", "options"),
    [
        ("torch", "torch", ()),
        ("matplotlib", "report", ("--no-train",)),
        ("simplejpeg", "image", ("--no-train", "--no-plot")),
    ],
)
def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    extra: str,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)  # how Python marks what cannot be imported
    for module in ("pytorch", "alexnet", "training", "weights"):
        monkeypatch.delitem(sys.modules, f"examples.alexnet_finetune.{module}", raising=False)
    assert run("--images", 4, "--steps", 1, *options) == 1
    assert f"pip install 'headrace[{extra}]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [("--batch-size", "0"), ("--learning-rate", "-1"), ("--train-layers", "fc9"), ("--data", "a", "--train-list", "b")],
)
def test_arguments_that_do_not_fit_are_refused(capsys: pytest.CaptureFixture[str], argv: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(*argv)
    assert "error: argument" in capsys.readouterr().err
