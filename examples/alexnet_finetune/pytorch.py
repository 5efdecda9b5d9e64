"""PyTorch, or the line that installs it. What needs PyTorch here imports it from here."""

from __future__ import annotations

from headrace.errors import MissingExtraError

try:
    import torch
    from torch import nn
except ImportError:
    raise MissingExtraError(
        "AlexNet needs PyTorch: pip install 'headrace[torch]' (or time the loading alone with --no-train)"
    ) from None

__all__ = ["nn", "torch"]
