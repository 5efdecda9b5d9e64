"""A small network that tells sounds by their bands: two convolutions along time, and a decision."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import nn

import headrace as hr

CHANNELS: Final = 64


class Classifier(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """Features ``{"wav": (n, bands, frames)}`` to a score for each kind (n, kinds)."""

    def __init__(self, bands: int, kinds: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm1d(bands),
            nn.Conv1d(bands, CHANNELS, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(CHANNELS, 2 * CHANNELS, 5, padding=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Linear(2 * CHANNELS, kinds),
        )

    def forward(self, features: dict[str, Any]) -> Any:
        """The scores."""
        return self.layers(features["wav"])


def _accuracy(scores: Any, labels: Any) -> dict[str, Any]:
    return {"accuracy": (scores.argmax(1) == labels).float().mean()}


def new_trainer(bands: int, kinds: int) -> hr.train.TorchTrainer:
    """The network at its start, which is always the same, with all that trains it."""
    torch.manual_seed(0)
    network = Classifier(bands, kinds)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    return hr.train.TorchTrainer(network, optimizer, nn.functional.cross_entropy, metrics=_accuracy)


def weights_of(trainer: hr.train.TorchTrainer) -> bytes:
    """All numbers of the network, as they lie in memory."""
    return b"".join(tensor.numpy().tobytes() for tensor in trainer.module.state_dict().values())
