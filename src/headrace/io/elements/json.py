"""One element as plain JSON, for states that hold one: numbers as they are, arrays as their bytes in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from headrace.elements.structure import Element, TreeDef, flatten, normalize, paths_of, unflatten
from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.elements.columns import kind_of_leaf
from headrace.io.elements.structure import structure_from_json, structure_to_json

__all__ = ["element_from_json", "element_to_json"]


def element_to_json(element: Element) -> Any:
    """Returns the element as lists, dicts, numbers and texts.

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
    kind = kind_of_leaf(leaf)
    if type(leaf) is str:
        return leaf
    if type(leaf) is bytes:
        return {"bytes": base64.b64encode(leaf).decode()}
    if type(leaf) in (bool, int):
        return leaf
    if type(leaf) is float:
        return {"float": leaf.hex()}
    if type(leaf) is complex:
        return {"complex": [leaf.real.hex(), leaf.imag.hex()]}
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


def element_from_json(data: Any, like: TreeDef | None = None) -> Element:
    """Returns the element that ``element_to_json`` wrote.

    Args:
        data: what it wrote.
        like: the structure that it has, where that is known; no class is looked for by its name then.

    Raises:
        FailedPreconditionError: a class of the element's is in a module that the program has not imported.
        DataLossError: it is no such element.
    """
    try:
        structure, leaves = data["structure"], [_leaf_from_json(leaf) for leaf in data["leaves"]]
        if like is not None and structure != structure_to_json(like):
            raise ValueError("it has another structure")
        treedef = structure_from_json(structure) if like is None else like
        if treedef.num_leaves != len(leaves):
            raise ValueError("it has more or fewer leaves than its structure")
        return unflatten(treedef, leaves)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        raise DataLossError(f"the state holds an element that is none: {error}") from error


def _leaf_from_json(data: Any) -> Any:
    match data:
        case {"bytes": text}:
            return base64.b64decode(text)
        case {"float": text}:
            return float.fromhex(text)
        case {"complex": [real, imag]}:
            return complex(float.fromhex(real), float.fromhex(imag))
        case {"texts": texts, "shape": shape}:
            array = np.empty(len(texts), dtype=object)
            array[:] = [_leaf_from_json(text) for text in texts]
            return array.reshape(shape)
        case {"array": text, "dtype": dtype, "shape": shape, "scalar": scalar}:
            values = np.frombuffer(base64.b64decode(text), _dtype(dtype)).reshape(shape).copy()
            return values[()] if scalar else values
        case str() | bool() | int():
            return data
    raise ValueError(f"{data!r:.100} is no leaf")


def _dtype(name: Any) -> np.dtype[Any]:
    if type(name) is not str:
        raise TypeError(f"{name!r:.100} is no dtype")
    return np.dtype(name)
