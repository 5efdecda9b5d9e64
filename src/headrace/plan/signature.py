"""What a user says that a generator yields: a structure of ``TensorSpec``, or tf.data's older pair of dtypes and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from headrace.elements.structure import flatten_as_written, paths_of, unflatten
from headrace.elements.tensor_spec import Shape, TensorSpec, checked_shape
from headrace.errors import InvalidArgumentError

__all__ = ["is_signature", "signature_of"]

_WHAT_TO_WRITE: Final = "write output_signature=hr.TensorSpec(shape, dtype), or a tuple or dict of them"


def is_signature(given: Any) -> bool:
    """Returns whether this is a structure of specifications, and not one of dtypes."""
    leaves = list(_leaves(given))
    return any(isinstance(leaf, TensorSpec) for leaf in leaves)


def signature_of(output_types: Any, output_shapes: Any, output_signature: Any) -> Any:
    """Returns the structure of ``TensorSpec``, or None where nothing was said.

    Raises:
        TypeError: a signature holds something else than ``TensorSpec``, types something else than dtypes, shapes something
            else than shapes; or a signature is given together with types or shapes, or shapes without types.
        InvalidArgumentError: the shapes have not the structure of the types, or a size is negative.
    """
    if output_signature is not None:
        for name, given in (("output_types", output_types), ("output_shapes", output_shapes)):
            if given is not None:
                raise TypeError(f"from_generator: give either output_signature or {name}, not both")
        return _checked(output_signature)
    if output_types is not None:
        return _of_types(output_types, output_shapes)
    if output_shapes is not None:
        raise TypeError(f"from_generator: output_shapes needs output_types beside it; or {_WHAT_TO_WRITE}")
    return None


def _leaves(given: Any) -> Iterator[Any]:
    """Yields what a structure holds, also in lists, which no structure of specifications has."""
    for leaf in flatten_as_written(given)[0]:
        if isinstance(leaf, list):
            for item in leaf:
                yield from _leaves(item)
        else:
            yield leaf


def _checked(signature: Any) -> Any:
    leaves, treedef = flatten_as_written(signature)
    for path, leaf in zip(paths_of(treedef), leaves, strict=True):
        if isinstance(leaf, list):
            raise TypeError(f"from_generator: output_signature{path} is a list: a structure is a tuple or a dict")
        if not isinstance(leaf, TensorSpec):
            given = f"output_signature{path} is {leaf!r}"
            raise TypeError(f"from_generator: {given}, which is no TensorSpec; {_WHAT_TO_WRITE}")
    return unflatten(treedef, leaves)


def _of_types(types: Any, shapes: Any) -> Any:
    dtypes, treedef = flatten_as_written(types)
    paths = paths_of(treedef)
    if shapes is None:
        parts: list[Any] = [None] * len(dtypes)
    else:
        parts = _like(treedef, shapes)
    pairs = zip(paths, dtypes, parts, strict=True)
    return unflatten(treedef, [TensorSpec(_shape(part, path), _dtype(dtype, path)) for path, dtype, part in pairs])


def _like(treedef: Any, shapes: Any) -> list[Any]:
    try:
        return [shapes] if treedef.is_leaf() else treedef.flatten_up_to(shapes)
    except (ValueError, TypeError):
        message = (
            f"output_shapes must have the structure of output_types, with a shape for each dtype: {shapes!r} has not"
        )
        raise InvalidArgumentError(message, stage="from_generator") from None


def _dtype(dtype: Any, path: str) -> Any:
    if dtype is None or isinstance(dtype, (TensorSpec, list)):
        raise _no_dtype(dtype, path)
    name = getattr(dtype, "as_numpy_dtype", dtype)  # TensorFlow's own dtypes
    if (isinstance(dtype, str) and dtype == "string") or (name is not dtype and dtype.name == "string"):
        return str
    try:
        found = TensorSpec(None, name).dtype
    except (TypeError, ValueError):
        raise _no_dtype(dtype, path) from None
    if found is object and isinstance(name, type) and name not in (object, np.object_):
        raise _no_dtype(dtype, path)  # NumPy takes any class for one of objects
    return found


def _no_dtype(given: Any, path: str) -> TypeError:
    return TypeError(f"from_generator: output_types{path} is {given!r}, which is no dtype; or {_WHAT_TO_WRITE}")


def _shape(part: Any, path: str) -> Shape | None:
    if hasattr(part, "rank") and part.rank is None:  # TensorFlow's own, of which nothing is known
        return None
    return checked_shape(part, f"from_generator: output_shapes{path}")
