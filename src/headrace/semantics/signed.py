"""Elements in the form that a signature states. What a signature asks of each leaf is worked out once.

What always holds:
- An element is the same whatever run of elements it came with: runs are only a quicker way.
- A value may lose precision, as in tf.data, but never itself: there an int that does not fit is cut, a fraction is
  dropped and any number is a bool, in silence; here these are errors.
- There is one kind of text: bytes in UTF-8 fit a signature of ``str``, and texts one of ``bytes``.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from headrace.blocks.ragged_rows import RaggedRows
from headrace.elements.leaf_arrays import NORMAL_LEAVES, OF_MANY_DTYPES, PYTHON_NUMBERS, native, stack, tensor_as_array
from headrace.elements.leaf_specs import leaf_spec
from headrace.elements.rows_and_columns import rows_of, rows_of_leaves
from headrace.elements.structure import LEAF, Element, TreeDef, flatten, normalize, paths_of, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError, said
from headrace.frozen import frozen

__all__ = ["Signed"]

Fit = Callable[[Any], Any]

_dtype: Final = operator.attrgetter("dtype")
_shape: Final = operator.attrgetter("shape")
# The Python numbers that elements carry where a column has this dtype.
_NATIVE: Final = {np.dtype(np.int64): int, np.dtype(np.float64): float, np.dtype(bool): bool}
# NumPy's, of which each type is of one dtype.
_NUMPYS_NUMBERS: Final = frozenset(
    kind for kind in NORMAL_LEAVES - {*OF_MANY_DTYPES} if issubclass(kind, (np.number, np.bool_))
)
# To which kinds of dtypes Python's numbers are cast many at once.
_CASTS: Final = {int: "iuf", float: "f"}


class Signed:
    """Holds elements to a signature, a structure of ``TensorSpec``."""

    def __init__(self, signature: Any) -> None:
        specs, self._treedef = flatten(signature)
        self._signature = signature
        self._leaves = [_Leaf(spec) for spec in specs]
        self._parting = _Parting.of(self._treedef)
        self._is_flat = self._treedef.num_nodes == len(specs) + 1

    def rows(self, raw: list[Any]) -> tuple[list[Element], InvalidArgumentError | None]:
        """Fits the elements, up to the first that does not fit, and returns its error too."""
        try:
            columns = self._columns(raw) if raw else []
            fitted = [leaf.column(column) for leaf, column in zip(self._leaves, columns, strict=bool(raw))]
            if all(map(operator.is_, fitted, columns)) and self._are_whole(raw):
                return raw, None
            return rows_of_leaves(self._treedef, fitted, len(raw)), None
        except (ValueError, TypeError, LookupError, ArithmeticError):
            return self._one_by_one(raw)  # says which element it is

    def joined(self, rows: RaggedRows) -> RaggedRows | None:
        """Returns elements that are joined, if all fit as they are; None where each must be looked at."""
        columns = rows.joined
        if rows.treedef != self._treedef:
            return None
        are_fit = all(leaf.takes_any(column.dtype) for leaf, column in zip(self._leaves, columns, strict=True))
        return RaggedRows(self._treedef, columns) if are_fit else None

    @property
    def treedef(self) -> TreeDef:
        """The structure of elements."""
        return self._treedef

    def fits_arrays(self, leaf: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
        """Returns whether arrays of this dtype and shape, which has axes, are what a leaf should be."""
        return self._leaves[leaf].fits_arrays({dtype}, {shape})

    def array(self, leaf: int, leaves: list[Any], kinds: AbstractSet[type]) -> np.ndarray:
        """Fits a leaf in a run of elements, where it is of these types, and stacks it.

        Raises:
            ValueError, TypeError, LookupError, ArithmeticError: one does not fit; another may be told than the first.
        """
        return self._leaves[leaf].array(leaves, kinds)

    def _columns(self, raw: list[Any]) -> list[list[Any]]:
        """Returns, for each leaf of the signature, what stands there in every element."""
        columns = None if self._parting is None else self._parting.columns(raw)
        if columns is not None:
            return columns
        return list(map(list, zip(*map(self._treedef.flatten_up_to, raw), strict=True))) or [[] for _ in self._leaves]

    def _are_whole(self, raw: list[Any]) -> bool:
        """Returns whether elements whose leaves fit as they are need not be built anew: a dict might have its keys in another order."""
        return not raw or self._treedef.is_leaf() or (self._is_flat and set(map(type, raw)) == {tuple})

    def _one_by_one(self, raw: list[Any]) -> tuple[list[Element], InvalidArgumentError | None]:
        rows: list[Element] = []
        try:
            rows.extend(map(self.fitted, raw))
        except InvalidArgumentError as unfit:
            return rows, unfit
        return rows, None

    def fitted(self, element: Any) -> Element:
        """Brings the element into the form of the signature.

        Raises:
            InvalidArgumentError: it does not fit.
        """
        try:
            parts = self._treedef.flatten_up_to(element)
        except (ValueError, TypeError):
            message = f"the generator yielded {reprlib.repr(element)}, which has not the structure of its signature"
            raise InvalidArgumentError(f"{message} {self._signature}") from None
        fitted = []
        for index, (leaf, part) in enumerate(zip(self._leaves, parts, strict=True)):
            try:
                fitted.append(leaf.fitted(part))
            except InvalidArgumentError as unfit:
                path = paths_of(self._treedef)[index]
                raise InvalidArgumentError(f"component {path}: {unfit.reason}" if path else unfit.reason) from None
        return unflatten(self._treedef, fitted)


@frozen
class _Parting:
    """How elements are taken apart, many at once: the tuples and dicts that a signature is made of.

    Attributes:
        keys: of a dict, in the order of its leaves; of a tuple, its indices; None of a leaf.
        parts: one for each key.
        kind: what the elements are to be.
    """

    kind: type | None
    keys: Sequence[Any] = ()
    parts: Sequence[_Parting] = ()

    @classmethod
    def of(cls, treedef: TreeDef) -> _Parting | None:
        """Returns that of a structure; None where there is anything else in it."""
        if treedef.is_leaf():
            return cls(None)
        parts = [cls.of(child) for child in treedef.children()]
        if treedef.type not in (tuple, dict) or None in parts:
            return None
        return cls(treedef.type, treedef.entries(), parts)  # type: ignore[arg-type]  # None is not among them

    def columns(self, rows: list[Any]) -> list[list[Any]] | None:
        """Returns what stands in each leaf's place in all of these, which are some; None where one is of another kind.

        Raises:
            KeyError: a dict has other keys.
        """
        if self.kind is None:
            return [rows]
        if set(map(type, rows)) != {self.kind} or set(map(len, rows)) != {len(self.keys)}:
            return None
        if self.kind is tuple:
            values = list(map(list, zip(*rows, strict=True)))
        else:
            values = [list(map(operator.itemgetter(key), rows)) for key in self.keys]
        columns: list[list[Any]] = []
        for part, column in zip(self.parts, values, strict=True):
            below = part.columns(column)
            if below is None:
                return None
            columns += below
        return columns


class _Leaf:
    """What a signature asks of one leaf."""

    def __init__(self, spec: TensorSpec) -> None:
        self._spec = spec
        self._dtype = spec.dtype
        self._is_scalar = spec.shape == ()
        self._may_be_scalar = self._is_scalar or spec.shape is None
        self._is_fixed = spec.shape is not None and None not in spec.shape
        self._convert: Fit = self._text if spec.dtype in (str, bytes) else self._object
        self._plain: Any = spec.dtype  # the type of a scalar that is taken as it is
        if isinstance(spec.dtype, np.dtype):
            self._convert = self._number
            self._plain = _NATIVE.get(spec.dtype, spec.dtype.type if spec.dtype.kind in "biufc" else None)

    def column(self, leaves: list[Any]) -> list[Any]:
        """Fits the leaf in a run of elements, of which most are as they should be already.

        Raises:
            InvalidArgumentError: one does not fit; another may be told than the first.
        """
        kinds = set(map(type, leaves))
        if len(kinds) == 1:
            (kind,) = kinds
            if kind is np.ndarray and self._are_fit(leaves):
                return leaves
            if self._may_be_scalar and kind is self._plain and kind is not int:
                return leaves
        numbers = self._numbers(leaves, kinds)
        if numbers is not None:
            return leaves if kinds == {self._plain} else _elements(numbers)
        fitted = self.fitted
        return [fitted(leaf) for leaf in leaves]

    def array(self, leaves: list[Any], kinds: AbstractSet[type]) -> np.ndarray:
        """Fits the leaf in a run of elements, where it is of these types, and stacks it.

        Raises:
            InvalidArgumentError: one does not fit, or they cannot be stacked.
        """
        numbers = self._numbers(leaves, kinds)
        return stack(self.column(leaves)) if numbers is None else native(numbers)

    def _numbers(self, leaves: list[Any], kinds: AbstractSet[type]) -> np.ndarray | None:
        """Returns numbers, of these types, as scalars of the signature; None where they are of several, or one may not fit."""
        if not self._may_be_scalar or not isinstance(self._dtype, np.dtype) or len(kinds) != 1:
            return None
        (kind,) = kinds
        if kind in _NUMPYS_NUMBERS:
            own = np.dtype(kind)
            own = (
                self._dtype if own == self._dtype else own
            )  # whose scalars may be of another type, as of C's long and long long
            is_fit = own == self._dtype or _is_castable(own, self._dtype)
        else:
            own = PYTHON_NUMBERS.get(kind, self._dtype)
            is_fit = self._dtype.kind in _CASTS.get(kind, "")
        if not is_fit:
            return None
        numbers: np.ndarray = np.fromiter(leaves, own, len(leaves))  # OverflowError: one by one
        return numbers if own == self._dtype else _cast(numbers, self._dtype)

    def _are_fit(self, arrays: Sequence[np.ndarray]) -> bool:
        """Returns whether arrays have the dtype of the signature, axes, and a shape that fits; there are few of each, of many arrays."""
        return self.fits_arrays(set(map(_dtype, arrays)), set(map(_shape, arrays)))

    def fits_arrays(self, dtypes: AbstractSet[np.dtype[Any]], shapes: AbstractSet[tuple[int, ...]]) -> bool:
        """Returns whether arrays of these dtypes and shapes are as they should be."""
        if any(dtype != self._dtype for dtype in dtypes) or self._convert != self._number:
            return False
        return () not in shapes and all(_fits(shape, self._spec.shape) for shape in shapes)

    def takes_any(self, dtype: np.dtype) -> bool:
        """Returns whether an array of this dtype and one axis would fit whatever its length were."""
        return dtype == self._dtype and self._spec.shape in (None, (None,))

    def fitted(self, leaf: Any) -> Any:
        """Brings the leaf into the form of the signature.

        Raises:
            InvalidArgumentError: it does not fit.
        """
        kind = type(leaf)
        if kind is np.ndarray:
            if leaf.dtype == self._dtype and leaf.ndim and (self._is_fixed and leaf.shape == self._spec.shape):
                return leaf
        elif kind is self._plain and self._may_be_scalar and kind is not int:
            return leaf
        fitted = self._convert(leaf)
        shape = fitted.shape if isinstance(fitted, np.ndarray) else ()
        if not _fits(shape, self._spec.shape):
            raise self._unfit(leaf)
        return fitted

    def _unfit(self, leaf: Any, why: str = "") -> InvalidArgumentError:
        found = _described(leaf)
        return InvalidArgumentError(
            f"the generator yielded {found}, its signature says {self._spec}{why and f': {why}'}"
        )

    def _number(self, leaf: Any) -> Any:
        dtype: Any = self._dtype
        array = self._as_array(leaf)
        if array.dtype != dtype:
            if not array.size and isinstance(leaf, (list, tuple)):
                array = array.astype(dtype)  # nothing, whose dtype is an accident
            elif array.dtype == object and type(leaf) is int:
                array = self._large(leaf)
            elif not _is_castable(array.dtype, dtype):
                raise self._unfit(leaf)
            else:
                array = self._cast(array, leaf)
        # NumPy has two types of scalar for some dtypes: a cast makes it the dtype's own.
        return array if array.ndim else _elements(array.reshape(1).astype(dtype))[0]

    def _as_array(self, leaf: Any) -> np.ndarray:
        if isinstance(leaf, np.ndarray):
            return leaf
        try:
            return np.asarray(tensor_as_array(leaf))
        except Exception as error:
            raise self._unfit(leaf, f"it is no array ({said(error)})") from error

    def _cast(self, array: np.ndarray, leaf: Any) -> np.ndarray:
        dtype: Any = self._dtype
        try:
            return _cast(array, dtype)
        except (OverflowError, FloatingPointError):
            raise self._unfit(leaf, f"a value does not fit {dtype}") from None

    def _large(self, number: int) -> np.ndarray:
        """Casts an int of more than 64 bits, which only a float can be near."""
        dtype: Any = self._dtype
        try:
            if dtype.kind != "f":
                raise OverflowError
            return self._cast(np.asarray(float(number)), number)
        except OverflowError:
            raise self._unfit(number, f"it does not fit {dtype}") from None

    def _text(self, leaf: Any) -> Any:
        kind: Any = self._dtype
        if isinstance(leaf, (str, bytes)):
            return self._as_text(leaf, leaf)
        array = leaf if isinstance(leaf, np.ndarray) else self._as_objects(leaf)
        if array.dtype.kind not in "USTO":
            raise self._unfit(leaf)
        texts = array.ravel().tolist()
        if array.dtype == object and set(map(type, texts)) <= {kind} and array.ndim:
            return array
        exact = np.empty(array.shape, object)
        exact.reshape(-1)[:] = [self._as_text(text, leaf) for text in texts]
        return exact if exact.ndim else exact[()]

    def _as_text(self, text: Any, leaf: Any) -> str | bytes:
        if not isinstance(text, (str, bytes)):
            raise self._unfit(leaf)
        if self._dtype is bytes:
            return bytes(text) if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        try:
            return str(text) if isinstance(text, str) else text.decode()
        except UnicodeDecodeError:
            raise self._unfit(leaf, "the bytes are not UTF-8; let the signature say bytes") from None

    def _as_objects(self, leaf: Any) -> np.ndarray:
        if not isinstance(leaf, (list, tuple)) and not hasattr(leaf, "__array__"):
            raise self._unfit(leaf)
        try:
            return np.array(leaf, dtype=object)
        except ValueError as error:
            raise self._unfit(leaf, f"it is no array ({said(error)})") from None

    def _object(self, leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return leaf.astype(object, copy=False) if leaf.ndim else leaf[()]
        if isinstance(leaf, (list, tuple)):
            if self._is_scalar:
                raise self._unfit(leaf)  # structure, or an array; no object
            return self._as_objects(leaf)
        if flatten(leaf)[1] != LEAF:
            raise self._unfit(leaf)
        return normalize(leaf)


def _is_castable(own: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Returns whether values of the one dtype can be the other's without being cut; 0 and 1 may be bools."""
    return np.can_cast(own, dtype, "same_kind") or (own.kind in "iu" and dtype.kind in "iub")


def _cast(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Casts the array to another dtype.

    Raises:
        OverflowError, FloatingPointError: a value does not fit.
    """
    if array.size and array.dtype.kind in "iu" and dtype.kind in "iub":
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if int(array.min()) < least or int(array.max()) > most:
            raise OverflowError
    with np.errstate(over="raise"):
        return array.astype(dtype)


def _elements(array: np.ndarray) -> list[Any]:
    """Returns the scalars in an array of one axis, as elements carry them."""
    return rows_of(LEAF, [array])


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...] | None) -> bool:
    return wanted is None or (
        len(shape) == len(wanted) and all(size in (own, None) for own, size in zip(shape, wanted, strict=True))
    )


def _described(leaf: Any) -> str:
    if isinstance(leaf, np.ndarray):
        return str(leaf_spec(leaf))
    return f"{reprlib.repr(leaf)} ({type(leaf).__name__})"
