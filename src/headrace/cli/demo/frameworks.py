"""Which kind of model is computed here: what was asked for, checked against what is installed."""

from __future__ import annotations

from collections.abc import Callable

from headrace.cli.demo.blas import compute_on_one_thread
from headrace.cli.demo.model_numpy import NumpyModel
from headrace.cli.demo.models import Device, Framework, Model, Weights
from headrace.errors import InvalidArgumentError

__all__ = ["model_maker"]


def model_maker(framework: Framework, device: Device | None) -> Callable[[Weights], Model]:
    """Returns the function that makes a model of its first weights.

    Args:
        framework: who computes it.
        device: where; None takes a GPU when the framework finds one.

    Raises:
        MissingExtraError: the framework is not installed.
        InvalidArgumentError: the device is not there, or not one of the framework's.

    Example:
        >>> from headrace.cli.demo.models import initial_weights
        >>> make = model_maker(Framework.NUMPY, None)
        >>> make(initial_weights(4, seed=0)).device
        'CPU'
    """
    if framework is Framework.TORCH:
        from headrace.cli.demo.model_torch import TorchModel, torch_device

        place = torch_device(device)
        return lambda weights: TorchModel(weights, place)
    if device is Device.CUDA:
        raise InvalidArgumentError("numpy computes on the CPU; use --framework torch with --device cuda")
    compute_on_one_thread()
    return NumpyModel
