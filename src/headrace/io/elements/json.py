"""One element as plain JSON, for states that hold one: numbers as they are, arrays as their bytes in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.io.elements.columns import kind_of_leaf
from headrace.io.elements.structure import structure_from_json, structure_to_json
from headrace.structure import Element, flatten, normalize, paths_of, unflatten

__all__ = ["element_from_json", "element_to_json"]


def element_to_json(element: Element) -> Any:
    """The element as lists, dicts, numbers and texts.

    Raises:
        InvalidArgumentError: it has an object in it that is neither numbers nor texts; the component is named.

    Example:
        >>> from headrace.io.elements.json import element_from_json, element_to_json
        >>> element_from_json(element_to_json((1, {"a": "text"})))
        (1, {'a': 'text'})
    """
    leaves, treedef = flatten(normalize(element))
    try:
        return {"structure": structure_to_json(treedef), "leaves": [_leaf_to_json(leaf) for leaf in leaves]}
    except InvalidArgumentError:
        for path, leaf in zip(paths_of(treedef), leaves, strict=True):
            try:
                _leaf_to_json(leaf)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(f"component {path or 'of the element'}: {error.reason}") from None
        raise


def _leaf_to_json(leaf: Any) -> Any:
    if isinstance(leaf, str):
        return str(leaf)
    if isinstance(leaf, bytes):
        return {"bytes": base64.b64encode(leaf).decode()}
    kind = kind_of_leaf(leaf)
    if type(leaf) in (bool, int):
        return leaf
    if type(leaf) is float:
        return {"float": leaf.hex()}
    array = np.asarray(leaf)
    if kind.values in ("str", "bytes"):
        return {"texts": [_leaf_to_json(text) for text in array.ravel().tolist()], "shape": list(array.shape)}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {
        "array": data,
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "scalar": not isinstance(leaf, np.ndarray),
    }


def element_from_json(data: Any) -> Element:
    """The element that ``element_to_json`` wrote."""
    return unflatten(structure_from_json(data["structure"]), [_leaf_from_json(leaf) for leaf in data["leaves"]])


def _leaf_from_json(data: Any) -> Any:
    match data:
        case {"bytes": text}:
            return base64.b64decode(text)
        case {"float": text}:
            return float.fromhex(text)
        case {"texts": texts, "shape": shape}:
            array = np.empty(len(texts), dtype=object)
            array[:] = [_leaf_from_json(text) for text in texts]
            return array.reshape(shape)
        case {"array": text, "dtype": dtype, "shape": shape, "scalar": scalar}:
            values = np.frombuffer(base64.b64decode(text), np.dtype(dtype)).reshape(shape).copy()
            if not scalar:
                return values
            return values.item() if values.dtype.kind == "c" else values[()]
    return data
