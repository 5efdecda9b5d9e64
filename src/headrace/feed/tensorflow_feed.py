"""A dataset as a ``tf.data.Dataset``, for programs that train with TensorFlow.

``from_generator`` casts what it is given to the dtypes that it was told, and says nothing. So each element is compared with
the signature before TensorFlow sees it: what does not fit is an error, never another number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from headrace.elements.leaf_specs import leaf_spec
from headrace.elements.ragged import RaggedTensor
from headrace.elements.structure import Element, flatten, paths_of
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError, MissingExtraError
from headrace.plan.node import UNKNOWN_CARDINALITY

__all__ = ["tensorflow_dataset"]

_STAGE: Final = "to_tensorflow"
_TEXTS: Final = (str, bytes)


def tensorflow_dataset(
    elements: Callable[[], Iterator[Any]], looked: Callable[[], Any], output_signature: Any, cardinality: int
) -> Any:
    """Returns the ``tf.data.Dataset`` of elements that ``elements`` makes anew for each epoch.

    Args:
        elements: begins an epoch.
        looked: gives the specification of an element; asked only where the user gave none.
        output_signature: what the user says that an element is; None where nothing was said.
        cardinality: how many elements an epoch has, as the dataset says it.

    Raises:
        MissingExtraError: TensorFlow is not installed.
        InvalidArgumentError: an element has a component that TensorFlow cannot hold; it is named.
    """
    try:
        import tensorflow as tf
    except ImportError:
        raise MissingExtraError("to_tensorflow needs: pip install 'headrace[tensorflow]'") from None
    spec = looked() if output_signature is None else _own(tf, output_signature, "")
    signature = _signature(tf, spec, "")
    expected = _Expected(spec, "the first ones told" if output_signature is None else "output_signature says")

    def checked() -> Iterator[Any]:
        for number, element in enumerate(elements()):
            expected.check(number, element)
            yield _handed(tf, element)

    dataset = tf.data.Dataset.from_generator(checked, output_signature=signature)
    if cardinality == UNKNOWN_CARDINALITY:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(cardinality))


class _Expected:
    """What each element must be.

    Args:
        spec: its structure of ``TensorSpec``.
        why: who says so, for messages.
    """

    def __init__(self, spec: Any, why: str) -> None:
        leaves, self._treedef = flatten(spec)
        self._leaves = [TensorSpec(leaf.shape, _native(leaf.dtype)) for leaf in leaves]
        self._why = why

    def check(self, number: int, element: Element) -> None:
        """Raises InvalidArgumentError where an element is something else."""
        leaves, treedef = flatten(element)
        if treedef != self._treedef:
            raise InvalidArgumentError(
                f"element {number} has the structure {treedef}, where {self._treedef} was expected, as {self._why}. "
                "Make all elements alike in a map first",
                stage=_STAGE,
            )
        for place, (leaf, wanted) in enumerate(zip(leaves, self._leaves, strict=True)):
            if reason := _lost(leaf):
                component = _component(paths_of(treedef)[place])
                raise InvalidArgumentError(f"{component} of element {number} {reason}", stage=_STAGE)
            given = leaf_spec(leaf)
            if given.dtype is object and wanted.dtype in _TEXTS and np.size(leaf) == 0:
                given = TensorSpec(given.shape, wanted.dtype)  # nothing in it says of what it is empty
            if not wanted.is_compatible_with(TensorSpec(given.shape, _native(given.dtype))):
                raise InvalidArgumentError(
                    f"{_component(paths_of(treedef)[place])} of element {number} is {given}, where {wanted} was expected, "
                    f"as {self._why}. Give output_signature= if that is not what all elements are, and make them of one "
                    "dtype in a map: nothing is cast here",
                    stage=_STAGE,
                )


def _lost(leaf: Any) -> str | None:
    """Returns why TensorFlow would make something else of a leaf, without a word, where its specification does not tell."""
    if type(leaf) is int and not -(1 << 63) <= leaf < 1 << 63:
        return f"is {leaf}, which does not fit int64: make it a float, or a NumPy scalar of uint64, in a map first"
    if isinstance(leaf, np.ma.MaskedArray) and np.ma.is_masked(leaf):
        return "is a masked array, whose mask would be lost: make it filled(…), or a pair of its data and its mask"
    return None


def _native(dtype: Any) -> Any:
    """Returns a dtype less what makes no difference to TensorFlow: the order of bytes, and which kind of text it is."""
    if dtype in _TEXTS:
        return bytes
    return dtype if dtype is object else dtype.newbyteorder("=")


def _component(path: str) -> str:
    return f"component {path}" if path else "the component"


def _signature(tf: Any, spec: Any, path: str) -> Any:
    """Returns a structure of TensorFlow's specifications."""
    if isinstance(spec, TensorSpec):
        return tf.TensorSpec(spec.shape, _dtype(tf, spec, path))
    if isinstance(spec, RaggedTensor) and isinstance(spec.values, TensorSpec):
        sizes, splits = spec.values.shape, spec.row_splits
        rows = splits.shape[0] - 1 if splits.shape and splits.shape[0] else None
        shape = None if sizes is None else (rows, None, *sizes[1:])
        return tf.RaggedTensorSpec(shape, _dtype(tf, spec.values, path), 1, _dtype(tf, splits, path))
    return _rebuilt(spec, path, lambda part, place: _signature(tf, part, place))


def _own(tf: Any, signature: Any, path: str) -> Any:
    """Makes a structure of headrace's specifications of what a user gave: those, or TensorFlow's."""
    if isinstance(signature, TensorSpec):
        return signature
    if isinstance(signature, tf.RaggedTensorSpec) and signature.ragged_rank == 1:
        sizes = None if signature.shape.rank is None else signature.shape.as_list()
        values = None if sizes is None else (None, *sizes[2:])
        splits = (None if not sizes or sizes[0] is None else sizes[0] + 1,)
        return RaggedTensor(
            TensorSpec(values, _numpy_dtype(tf, signature.dtype)),
            TensorSpec(splits, signature.row_splits_dtype.as_numpy_dtype),
        )
    if isinstance(signature, tf.TensorSpec):
        sizes = None if signature.shape.rank is None else signature.shape.as_list()
        return TensorSpec(sizes, _numpy_dtype(tf, signature.dtype))
    return _rebuilt(signature, path, lambda part, place: _own(tf, part, place))


def _numpy_dtype(tf: Any, dtype: Any) -> Any:
    return bytes if dtype == tf.string else dtype.as_numpy_dtype


def _handed(tf: Any, element: Any) -> Any:
    """Returns the element as ``from_generator`` takes it."""
    if isinstance(element, RaggedTensor):
        return tf.RaggedTensor.from_row_splits(element.values, element.row_splits, validate=False)
    if isinstance(element, tuple | dict):
        return _rebuilt(element, "", lambda part, _: _handed(tf, part))
    return element


def _rebuilt(structure: Any, path: str, function: Callable[[Any, str], Any]) -> Any:
    """Returns a tuple or a dict with the function applied to each part and its place.

    Raises:
        InvalidArgumentError: it is no structure that TensorFlow knows.
    """
    if isinstance(structure, dict):
        return {key: function(part, f"{path}[{key!r}]") for key, part in structure.items()}
    if isinstance(structure, tuple):
        parts = [function(part, f"{path}[{number}]") for number, part in enumerate(structure)]
        make: Any = getattr(type(structure), "_make", tuple)
        return make(parts)
    what = "None" if structure is None else f"a {type(structure).__name__}"
    raise InvalidArgumentError(
        f"{_component(path)} is {what}, which is no structure in tf.data: make it a tuple or a dict in a map first",
        stage=_STAGE,
    )


def _dtype(tf: Any, leaf: TensorSpec, path: str) -> Any:
    if leaf.dtype in _TEXTS:
        return tf.string
    if isinstance(leaf.dtype, np.dtype) and leaf.dtype.names is None:
        try:
            return tf.as_dtype(leaf.dtype)
        except TypeError:
            pass  # said below
    raise InvalidArgumentError(
        f"{_component(path)} is {leaf}, which no tensor of TensorFlow's can hold: make it numbers or texts in a map first",
        stage=_STAGE,
    )
