"""A trainer of AlexNet's last layers."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from examples.alexnet_finetune.alexnet import AlexNet, freeze_all_but
from examples.alexnet_finetune.pytorch import torch
from examples.alexnet_finetune.weights import load_weights
from headrace.errors import FailedPreconditionError, InvalidArgumentError

__all__ = ["AlexNetTrainer", "Learning", "a_core_left_for_loading", "device_named", "make_trainer", "name_of_device"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """What is trained, and how.

    Attributes:
        num_classes: how many classes there are.
        train_layers: the names of the layers that learn; the others stay.
        learning_rate: of gradient descent.
        weights: a file to begin from; None begins from random weights.
        narrower: divides the network's channels and units.
        seed: of the weights and of dropout.
        device: where it is computed.
    """

    num_classes: int
    train_layers: tuple[str, ...]
    learning_rate: float
    weights: Path | None = None
    narrower: int = 1
    seed: int = 0
    device: str = "cpu"


class AlexNetTrainer(hr.train.TorchTrainer):
    """A ``TorchTrainer`` that says whose fault it is when a checkpoint does not fit."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Becomes what a checkpoint says.

        Raises:
            FailedPreconditionError: it is a checkpoint of another network or of other layers.
        """
        try:
            super().load_state_dict(state)
        except (KeyError, RuntimeError, ValueError) as error:
            raise FailedPreconditionError(
                "the checkpoint in --model-dir is of a job with other classes, --train-layers or --narrower; name another folder "
                f"({str(error).splitlines()[0]})"
            ) from error


def make_trainer(learning: Learning) -> AlexNetTrainer:
    """A network with its optimizer, the same from the same seed.

    Raises:
        HeadraceError: the weights cannot be loaded.
    """
    torch.manual_seed(learning.seed)
    network = AlexNet(learning.num_classes, learning.narrower)
    if learning.weights is not None:
        load_weights(network, learning.weights)
    trained = freeze_all_but(network, learning.train_layers)
    network.to(learning.device)  # before the optimizer, which holds the parameters that are there
    descent = torch.optim.SGD(trained, lr=learning.learning_rate)
    # Labels are vectors, one-hot, which cross_entropy takes as probabilities.
    return AlexNetTrainer(
        network, descent, torch.nn.functional.cross_entropy, metrics=_accuracy, device=learning.device
    )


def _accuracy(scores: Any, labels: Any) -> dict[str, Any]:
    return {"accuracy": (scores.argmax(1) == labels.argmax(1)).float().mean()}


def device_named(name: str | None) -> str:
    """A device that is there; None takes a GPU when there is one.

    Raises:
        InvalidArgumentError: PyTorch knows no such device, or it is not there.
    """
    if name is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # a build without CUDA asserts
        raise InvalidArgumentError(f"--device {name}: {str(error).splitlines()[0]}") from error
    return name


@contextlib.contextmanager
def a_core_left_for_loading(device: str) -> Iterator[None]:
    """Computes on all cores but one, where it is the CPU that computes.

    The threads of one operation wait for each other: on two cores, a step took half as long again when loading kept one of
    them from its core.
    """
    threads = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(max(1, threads - 1))
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def name_of_device(device: str) -> str:
    """As a person calls it."""
    if not device.startswith("cuda"):
        return "the CPU" if device == "cpu" else device
    return str(torch.cuda.get_device_name(device))
