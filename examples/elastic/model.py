"""A small language model: the next byte from the three before it."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import distributed, nn

CONTEXT: Final = 3
WIDTH: Final = 32
RATE: Final = 0.5  # of learning


class NextByte(nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """Tokens (n, length) to a score for each byte that may follow (n, length - CONTEXT, 256)."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, WIDTH)
        self.layers = nn.Sequential(nn.Linear(CONTEXT * WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, 256))

    def forward(self, tokens: Any) -> Any:
        """The scores."""
        seen = self.embedding(tokens).unfold(1, CONTEXT, 1)[:, :-1]
        return self.layers(seen.flatten(2))


class Training:
    """The model and what trains it, alike on every rank: gradients are averaged over all of them.

    By hand and not by DistributedDataParallel and an optimizer: at their first step these import PyTorch's compiler, for which twelve
    processes on two cores would wait longer than for all the rest.
    """

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.model = NextByte()

    def step(self, batch: dict[str, Any]) -> float:
        """Learns from a rank's batch; every rank has to call it. Returns the rank's own loss."""
        tokens = torch.as_tensor(batch["tokens"], dtype=torch.long)
        scores = self.model(tokens)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, CONTEXT:].flatten(), ignore_index=0)
        parameters = list(self.model.parameters())
        gradients = torch.autograd.grad(loss, parameters)
        together = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(together)
        together *= RATE / distributed.get_world_size()
        steps = together.split([parameter.numel() for parameter in parameters])
        with torch.no_grad():
            for parameter, step in zip(parameters, steps, strict=True):
                parameter.sub_(step.view_as(parameter))
        return float(loss.detach())

    def weights(self) -> dict[str, Any]:
        """All numbers that were learned."""
        return dict(self.model.state_dict())

    def load(self, weights: dict[str, Any]) -> None:
        """Goes on from what ``weights`` returned."""
        self.model.load_state_dict(weights)
