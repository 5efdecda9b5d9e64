"""AlexNet in PyTorch, as it was trained on two GPUs: grouped convolutions, and responses normalised across channels.

Krizhevsky, Sutskever and Hinton 2012, ImageNet classification with deep convolutional neural networks; the constants of
the normalisation are those of the weights that Caffe's authors published.

What always holds: layers have the paper's names, ``conv1`` to ``fc8``, each with ``weight`` and ``bias``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from examples.alexnet_finetune.pytorch import nn, torch

__all__ = ["AlexNet", "freeze_all_but"]

_GROUPS = 2  # one for each of the two GPUs
_PIXEL_DEVIATION = 64  # about that of a photograph's values: behind the first layer they should be about 1
_DEVIATIONS = {"fc6": 0.005, "fc7": 0.005, "fc8": 0.01}  # as Caffe's


class LocalResponseNorm(nn.Module):  # type: ignore[misc]  # torch is not read by mypy (pyproject.toml)
    """Divides each value by a norm of those at its place in the five channels around it.

    The sum over neighbouring channels is a 1 × 1 convolution with a band of ones. It gives what ``nn.LocalResponseNorm``
    gives, and took a fifth of its time on a CPU.
    """

    def __init__(self, channels: int, size: int = 5, alpha: float = 1e-4) -> None:
        super().__init__()
        numbers = torch.arange(channels)
        band = (numbers[:, None] - numbers).abs() <= size // 2
        self.register_buffer("band", band.float()[:, :, None, None], persistent=False)
        self.scale = alpha / size

    def forward(self, x: Any) -> Any:
        root = torch.rsqrt(1 + self.scale * nn.functional.conv2d(x * x, self.band))
        return x * (root * root.sqrt())  # to the power of -3/4


class AlexNet(nn.Module):  # type: ignore[misc]  # torch is not read by mypy (pyproject.toml)
    """AlexNet with random weights; ``weights.load_weights`` brings others.

    Args:
        num_classes: how many it tells apart.
        narrower: divides the channels and units of every layer, for a quick look: 1 (AlexNet), 2, 4, 8 or 16.
    """

    def __init__(self, num_classes: int, narrower: int = 1) -> None:
        super().__init__()
        c1, c2, c3, c4, c5, units = (size // narrower for size in (96, 256, 384, 384, 256, 4096))
        self.conv1 = nn.Conv2d(3, c1, 11, stride=4)
        self.norm1 = LocalResponseNorm(c1)
        self.conv2 = nn.Conv2d(c1, c2, 5, padding=2, groups=_GROUPS)
        self.norm2 = LocalResponseNorm(c2)
        self.conv3 = nn.Conv2d(c2, c3, 3, padding=1)
        self.conv4 = nn.Conv2d(c3, c4, 3, padding=1, groups=_GROUPS)
        self.conv5 = nn.Conv2d(c4, c5, 3, padding=1, groups=_GROUPS)
        self.fc6 = nn.Linear(c5 * 6 * 6, units)
        self.fc7 = nn.Linear(units, units)
        self.fc8 = nn.Linear(units, num_classes)
        self.pool = nn.MaxPool2d(3, 2)
        self.dropout = nn.Dropout(0.5)
        self._begin()

    def _begin(self) -> None:
        """Random weights: the convolutions keep the values' size, and the scores are near 0, so nothing is decided."""
        for name, layer in self.layers().items():
            if name in _DEVIATIONS:
                nn.init.normal_(layer.weight, std=_DEVIATIONS[name])
            else:
                nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
        with torch.no_grad():
            self.conv1.weight /= _PIXEL_DEVIATION

    def layers(self) -> dict[str, Any]:
        """Those that have weights, by name, from the first to the last."""
        return {name: layer for name, layer in self.named_children() if name.startswith(("conv", "fc"))}

    def forward(self, images: Any) -> Any:
        """Scores of shape (batch, classes).

        Args:
            images: float32 (batch, 227, 227, 3), BGR without the mean.
        """
        relu = nn.functional.relu
        x = images.permute(0, 3, 1, 2)  # a view: PyTorch computes with channels last as well
        x = self.pool(self.norm1(relu(self.conv1(x))))
        x = self.pool(self.norm2(relu(self.conv2(x))))
        x = relu(self.conv4(relu(self.conv3(x))))
        x = self.pool(relu(self.conv5(x)))
        x = self.dropout(relu(self.fc6(x.flatten(1))))
        x = self.dropout(relu(self.fc7(x)))
        return self.fc8(x)


def freeze_all_but(network: AlexNet, names: Collection[str]) -> list[Any]:
    """Leaves only some layers to be trained.

    Args:
        network: its other layers stay as they are.
        names: ``conv1`` to ``fc8``.

    Returns:
        The parameters that are trained.
    """
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    trained = [
        parameter for name, layer in network.layers().items() if name in names for parameter in layer.parameters()
    ]
    for parameter in trained:
        parameter.requires_grad_(True)
    return trained
