"""Which leaves of an element become arrays on a device, and which stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.elements.structure import Element, flatten, paths_of, unflatten
from headrace.errors import InvalidArgumentError

__all__ = ["made_of_arrays"]

_NUMBERS: Final = "biufc"


def made_of_arrays(
    element: Element, convert: Callable[[Any], Any], *, own: type | tuple[type, ...] = (), stage: str
) -> Element:
    """Returns the element with ``convert`` applied to its arrays and numbers; texts and objects stay what they are.

    Args:
        element: what is converted.
        convert: makes the framework's array of an array of NumPy's.
        own: the class of the framework's own arrays, which a function made: ``convert`` brings them to their place, too.
        stage: whom errors name.

    Raises:
        InvalidArgumentError: a leaf has a dtype that no device knows, such as dates, or something of it is masked; it is named.
    """
    leaves, treedef = flatten(element)
    try:
        return unflatten(treedef, [_made(leaf, convert, own) for leaf in leaves])
    except InvalidArgumentError:
        raise
    except (TypeError, ValueError) as error:
        for number, leaf in enumerate(leaves):
            try:
                _made(leaf, convert, own)
            except (TypeError, ValueError) as found:
                place = paths_of(treedef)[number]
                component = f"component {place}" if place else "the element"
                raise InvalidArgumentError(
                    f"{component}, of dtype {_dtype_of(leaf)}, has no counterpart there: {found}. "
                    "Make it numbers in a map first",
                    stage=stage,
                ) from error
        raise


def _made(leaf: Any, convert: Callable[[Any], Any], own: type | tuple[type, ...]) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf if leaf.dtype.kind in "OUS" else convert(_plain(leaf))
    if isinstance(leaf, bool | int | float | complex | np.generic):
        array = np.asarray(leaf)
        return leaf if array.dtype.kind in "OUS" else convert(array)
    return convert(leaf) if isinstance(leaf, own) else leaf


def _plain(array: np.ndarray) -> np.ndarray:
    """Returns an array of a subclass as a plain one.

    Raises:
        ValueError: something of it is masked, which no tensor says.
    """
    if type(array) is np.ndarray:
        return array
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError("its mask would be lost: make it filled(…), or a pair of its data and its mask")
    return np.asarray(array)


def _dtype_of(leaf: Any) -> Any:
    return leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
