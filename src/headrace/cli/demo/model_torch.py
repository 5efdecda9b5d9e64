"""The classifier in PyTorch, on the CPU or on a GPU.

``loss.item()`` ends every step, so a step's time is the time of its work also on a GPU, which computes behind our back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headrace.cli.demo.models import LEARNING_RATE, Device, Learned, Weights
from headrace.errors import InvalidArgumentError, MissingExtraError

try:
    import torch
except ModuleNotFoundError:
    raise MissingExtraError("--framework torch needs: pip install 'headrace[torch]'") from None

__all__ = ["TorchModel", "torch_device"]


def torch_device(device: Device | None) -> torch.device:
    """Returns the device asked for, or without a wish a GPU when there is one.

    Raises:
        InvalidArgumentError: there is no such device.
    """
    found = torch.cuda.is_available()
    if device is Device.CUDA and not found:
        raise InvalidArgumentError(f"PyTorch {torch.__version__} finds no CUDA device; use --device cpu")
    # As in the NumPy model: a second thread would fight with those that read the files.
    torch.set_num_threads(1)
    return torch.device(device or (Device.CUDA if found else Device.CPU))


class TorchModel:
    """Two layers, and PyTorch's gradients and descent.

    Args:
        weights: where it starts; they are copied.
        device: where it computes.
    """

    def __init__(self, weights: Weights, device: torch.device) -> None:
        self._device = device
        self._layers = torch.nn.Sequential(_linear(weights.hidden), torch.nn.ReLU(), _linear(weights.output)).to(device)
        self._descent = torch.optim.SGD(self._layers.parameters(), lr=LEARNING_RATE)

    @property
    def device(self) -> str:
        """The GPU's name, or CPU."""
        return torch.cuda.get_device_name(self._device) if self._device.type == "cuda" else "CPU"

    def step(self, features: NDArray[np.float32], labels: NDArray[np.float32]) -> Learned:
        """Learns from features (n × features) and labels (n × 1)."""
        rows, wanted = self._moved(features), self._moved(labels)
        logits = self._layers(rows)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted)
        self._descent.zero_grad()
        loss.backward()
        self._descent.step()
        return Learned(loss.item(), ((logits > 0) == (wanted > 0.5)).float().mean().item())

    def _moved(self, array: NDArray[np.float32]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


def _linear(weight: NDArray[np.float32]) -> torch.nn.Linear:
    inputs, outputs = weight.shape
    layer = torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight.T.copy()))
        layer.bias.zero_()
    return layer
