"""A dataset as a ``tf.data.Dataset``, for programs that train with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from headrace.errors import InvalidArgumentError, MissingExtraError
from headrace.structure import flatten, paths_of, unflatten
from headrace.tensor_spec import TensorSpec

__all__ = ["tensorflow_dataset"]

_STAGE: Final = "to_tensorflow"


def tensorflow_dataset(elements: Callable[[], Iterator[Any]], spec: Any) -> Any:
    """The ``tf.data.Dataset`` of elements that ``elements`` makes anew for each epoch.

    Raises:
        MissingExtraError: TensorFlow is not installed.
        InvalidArgumentError: an element has a component that TensorFlow cannot hold; it is named.
    """
    try:
        import tensorflow as tf
    except ImportError:
        raise MissingExtraError("to_tensorflow needs: pip install 'headrace[tensorflow]'") from None
    leaves, treedef = flatten(spec)
    signature = [
        tf.TensorSpec(leaf.shape, _dtype(tf, leaf, path)) for leaf, path in zip(leaves, paths_of(treedef), strict=True)
    ]
    return tf.data.Dataset.from_generator(elements, output_signature=unflatten(treedef, signature))


def _dtype(tf: Any, leaf: TensorSpec, path: str) -> Any:
    if leaf.dtype in (str, bytes):
        return tf.string
    if leaf.dtype is not object and np.dtype(leaf.dtype).kind in "biufc":
        return tf.as_dtype(leaf.dtype)
    component = f"component {path}" if path else "the element"
    raise InvalidArgumentError(f"{component} is {leaf}, which no tensor of TensorFlow's can hold", stage=_STAGE)
