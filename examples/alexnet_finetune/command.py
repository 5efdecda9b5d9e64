"""The command line: what to learn from, what to time, what to train.

House rules. What is wrong with the arguments, the files or the machine ends as one line on stderr and status 1 (2 for
the arguments themselves), before anything is timed wherever it can be known; a traceback is a fault of the program.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import headrace as hr
from examples.alexnet_finetune import box_plot, timing
from examples.alexnet_finetune.data_generator import ImageDataGenerator
from examples.alexnet_finetune.image_lists import Images, images_in_folder, images_in_lists
from examples.alexnet_finetune.made_images import SHAPES, Recipe, make_images
from examples.alexnet_finetune.table import print_table
from headrace.errors import HeadraceError, InternalError, InvalidArgumentError

if TYPE_CHECKING:
    from examples.alexnet_finetune.training import Learning

__all__ = ["main"]

LAYERS = ("conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8")
MADE = Path("data/alexnet")
# So many batches lie decoded behind the map: enough to even out slow ones. A batch of 128 takes 79 MB.
READY_BATCHES = 4


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns its exit status."""
    args = _parser().parse_args(argv)
    try:
        run(args, Console(soft_wrap=True))
    except InternalError:
        raise
    except HeadraceError as error:
        print("alexnet_finetune: error: " + " ".join(str(error).split()), file=sys.stderr)
        return 1
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"alexnet_finetune: error: {error.strerror or error}: {error.filename}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("alexnet_finetune: interrupted", file=sys.stderr)
        return 130
    return 0


def run(args: argparse.Namespace, console: Console) -> None:
    """All of it, in order.

    Raises:
        HeadraceError: something is not as it should be.
    """
    if args.plot is not None and args.steps:
        box_plot.check_can_be_drawn(args.plot)
    device = None if args.no_train else _device(args.device)
    say = partial(console.print, highlight=False)
    images = _images(args, say)
    counts = f"{len(images.training):,} images to learn from and {len(images.validation):,} to be judged on"
    say(f"{counts}: {', '.join(images.classes)}")
    if device is None:
        _compare(args, images, [], console)
    else:
        _train(args, images, _learning(args, len(images.classes), device, say), console)


# ---- what needs PyTorch, which --no-train does without


def _device(name: str | None) -> str:
    from examples.alexnet_finetune.training import device_named

    return device_named(name)


def _learning(args: argparse.Namespace, num_classes: int, device: str, say: Callable[[str], None]) -> Learning:
    from examples.alexnet_finetune.alexnet import AlexNet
    from examples.alexnet_finetune.training import Learning
    from examples.alexnet_finetune.weights import load_weights

    if args.weights is not None:
        filled = load_weights(AlexNet(num_classes, args.narrower), args.weights)
        say(f"weights of {', '.join(filled)} from {args.weights}; the others are random")
    return Learning(
        num_classes=num_classes,
        train_layers=tuple(args.train_layers),
        learning_rate=args.learning_rate,
        weights=args.weights,
        narrower=args.narrower,
        seed=args.seed,
        device=device,
    )


def _train(args: argparse.Namespace, images: Images, learning: Learning, console: Console) -> None:
    from examples.alexnet_finetune.fine_tuning import FineTuning, fine_tune
    from examples.alexnet_finetune.training import a_core_left_for_loading, make_trainer, name_of_device

    device, where = learning.device, name_of_device(learning.device)

    def time_training(sequential: ImageDataGenerator, parallel: ImageDataGenerator) -> timing.Comparison:
        make = partial(make_trainer, learning)
        return timing.time_training(sequential, parallel, args.steps, make, device, f"training on {where}")

    with a_core_left_for_loading(device):
        _compare(args, images, [time_training], console)
        if not args.epochs:
            return
        console.print(
            f"fine-tuning {', '.join(learning.train_layers)} on {where}; epochs: {args.epochs}", highlight=False
        )
        job = FineTuning(
            training=_generator(args, images, parallel=True),
            validation=_generator(args, images, parallel=True, validation=True),
            epochs=args.epochs,
            device=device,
            model_dir=args.model_dir,
        )
        fine_tune(job, make_trainer(learning), partial(console.print, highlight=False))


# ---- images and pipelines


def _images(args: argparse.Namespace, say: Callable[[str], None]) -> Images:
    if args.data is not None:
        found = images_in_folder(args.data, args.seed)
        if args.num_classes not in {None, len(found.classes)}:
            raise InvalidArgumentError(
                f"--num-classes {args.num_classes}: {args.data} has {len(found.classes)} subfolders"
            )
        return found
    if args.train_list is not None:
        return images_in_lists(args.train_list, args.val_list, args.num_classes, args.seed)
    if args.val_list is not None:
        raise InvalidArgumentError("--val-list goes with a --train-list")
    count = args.num_classes or 2
    if count > len(SHAPES):
        raise InvalidArgumentError(f"--num-classes {count}: images of at most {len(SHAPES)} classes can be made")
    validation = max(count, args.images // 6)
    recipe = Recipe(training=args.images - validation, validation=validation, num_classes=count, seed=args.seed)
    if recipe.training < count:
        raise InvalidArgumentError(f"--images {args.images} are too few for {count} classes")
    folder = make_images(recipe, MADE)
    say(f"images of shapes: {folder}")
    found = images_in_lists(folder / "train.txt", folder / "val.txt", count)
    return Images(training=found.training, validation=found.validation, classes=tuple(SHAPES)[:count])


def _generator(
    args: argparse.Namespace, images: Images, *, parallel: bool, validation: bool = False
) -> ImageDataGenerator:
    return ImageDataGenerator(
        images=images.validation if validation else images.training,
        mode="inference" if validation else "training",
        batch_size=args.batch_size,
        num_classes=len(images.classes),
        num_parallel_calls=(args.num_parallel_calls or hr.AUTOTUNE) if parallel else None,
        output_buffer_size=(args.output_buffer_size or READY_BATCHES * args.batch_size) if parallel else None,
        seed=args.seed,
    )


def _compare(
    args: argparse.Namespace,
    images: Images,
    more: Sequence[Callable[[ImageDataGenerator, ImageDataGenerator], timing.Comparison]],
    console: Console,
) -> None:
    """Times both ways, prints the table, draws the picture."""
    if not args.steps:
        return
    sequential, parallel = (_generator(args, images, parallel=parallel) for parallel in (False, True))
    timing.read_once(sequential, args.steps)
    console.print(f"timing {args.steps} steps of {args.batch_size} images, sequential and parallel …", highlight=False)
    comparisons = [timing.time_loading(sequential, parallel, args.steps)]
    comparisons += [time_more(sequential, parallel) for time_more in more]
    for comparison in comparisons:
        print_table(comparison, console)
    if args.plot is not None:
        box_plot.draw(comparisons, args.plot)
        console.print(f"the box plot: {args.plot}", highlight=False)


# ---- arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="alexnet_finetune",
        description="Times AlexNet's input, sequential and parallel, and fine-tunes its last layers.",
    )
    _add_data(parser.add_argument_group("images"))
    _add_pipeline(parser.add_argument_group("pipeline"))
    _add_training(parser.add_argument_group("training"))
    return parser


def _add_data(group: argparse._ArgumentGroup) -> None:
    source = group.add_mutually_exclusive_group()
    source.add_argument("--data", type=Path, metavar="FOLDER", help="your images: a subfolder for each class")
    source.add_argument("--train-list", type=Path, metavar="FILE", help="your images: lines of 'path label'")
    group.add_argument(
        "--val-list", type=Path, metavar="FILE", help="images to be judged on (default: a fifth of the others)"
    )
    group.add_argument(
        "--num-classes",
        type=_at_least(2),
        metavar="N",
        help="how many classes there are (default: as the list says), or are made (default: 2)",
    )
    group.add_argument(
        "--images", type=_at_least(1), default=720, metavar="N", help="how many images to make (default: 720)"
    )


def _add_pipeline(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--steps",
        type=_at_least(0),
        default=40,
        metavar="N",
        help="steps to time in each way; 0 times nothing (default: 40)",
    )
    group.add_argument(
        "--batch-size", type=_at_least(1), default=32, metavar="N", help="images in a batch (default: 32)"
    )
    group.add_argument(
        "--num-parallel-calls",
        type=_at_least(1),
        metavar="N",
        help="images decoded at once (default: headrace chooses)",
    )
    group.add_argument(
        "--output-buffer-size",
        type=_at_least(1),
        metavar="N",
        help="decoded images that may lie ready (default: 4 batches)",
    )
    group.add_argument(
        "--plot",
        type=Path,
        default=Path("build/alexnet.png"),
        metavar="FILE",
        help="the box plot (default: build/alexnet.png)",
    )
    group.add_argument("--no-plot", dest="plot", action="store_const", const=None, help="draw nothing")
    group.add_argument(
        "--seed", type=_at_least(0), default=0, metavar="N", help="of images, weights and order (default: 0)"
    )


def _add_training(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--no-train", action="store_true", help="time the loading alone; needs no PyTorch")
    group.add_argument(
        "--epochs", type=_at_least(0), default=4, metavar="N", help="epochs of fine-tuning; 0 is none (default: 4)"
    )
    group.add_argument(
        "--learning-rate", type=_positive, default=0.003, metavar="X", help="of gradient descent (default: 0.003)"
    )
    group.add_argument(
        "--train-layers",
        nargs="+",
        choices=LAYERS,
        default=["fc6", "fc7", "fc8"],
        metavar="LAYER",
        help="what learns, of conv1 to fc8 (default: fc6 fc7 fc8)",
    )
    group.add_argument("--weights", type=Path, metavar="FILE", help="begin from these: bvlc_alexnet.npy, or a .pt file")
    group.add_argument(
        "--narrower",
        type=int,
        choices=(1, 2, 4, 8, 16),
        default=1,
        help="divides channels and units, for a quick look (default: 1)",
    )
    group.add_argument("--device", metavar="NAME", help="cpu, cuda, … (default: a GPU when there is one)")
    group.add_argument("--model-dir", type=Path, metavar="FOLDER", help="keep checkpoints there, and go on from them")


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("must be a positive number")
    return value


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return value

    return number
