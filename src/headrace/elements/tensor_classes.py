"""Which classes are tensors of PyTorch's: known by what they say of themselves, so that nobody imports it to ask."""

from __future__ import annotations

import functools

__all__ = ["is_tensor_class"]


@functools.lru_cache(maxsize=256)
def is_tensor_class(kind: type) -> bool:
    """Returns whether objects of a class are PyTorch's tensors, which are leaves with memory that others may have as well."""
    return kind.__module__.partition(".")[0] == "torch" and hasattr(kind, "clone") and hasattr(kind, "untyped_storage")
