"""The forms of sources in memory, of which a function makes one of each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import Cursor, IndexCursor
from headrace.blocks.origin import IndexOrigin, Origin
from headrace.blocks.payload import Payload, Rows
from headrace.elements.ownership import read_only
from headrace.elements.structure import LEAF, TreeDef, unflatten
from headrace.physical.at_once import MOST_ELEMENTS
from headrace.physical.made import MOST_BYTES
from headrace.physical.stages.together.forms import Form
from headrace.plan.sources import FromTensors, FromTensorSlices, Range
from headrace.semantics.sources import RangeSource

__all__ = ["SourceForm", "is_same", "ones", "ranges", "slices"]


class SourceForm(Form):
    """The elements of sources that are read by index."""

    def __init__(self, node: Range | FromTensorSlices | FromTensors, count: int) -> None:
        super().__init__(node, (), count)
        self._plans: list[Any] = [node]

    def takes(self, plan: Any) -> bool:
        if type(plan) is not type(self.node) or plan.name != self.node.name or not self._is_alike(plan):
            return False
        count = self._count_of(plan)
        if not 0 < count <= MOST_ELEMENTS:
            return False
        self._plans.append(plan)
        self.lengths.append(count)
        return True

    def settle(self) -> None:
        pass

    def _is_alike(self, plan: Any) -> bool:
        """Returns whether the elements of a source are of the same kind."""
        raise NotImplementedError

    def _count_of(self, plan: Any) -> int:
        """Returns how many elements a source of the same kind has; plans of one element each are asked once, so nothing is remembered."""
        raise NotImplementedError

    def keep(self, plans: int) -> None:
        del self._plans[plans:]
        super().keep(plans)

    def cursor(self, index: int) -> Cursor:
        return IndexCursor(0)

    def origin(self, index: int) -> Origin:
        return IndexOrigin(range(self.lengths[index]))


class _Ranges(SourceForm):
    """Ranges."""

    def __init__(self, node: Range, count: int) -> None:
        super().__init__(node, count)
        self._bounds = (node.start, node.stop, node.step)
        self._have_same_bounds = True

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if type(plan) is Range and (plan.start, plan.stop, plan.step) == self._bounds:  # mostly, so seen at a glance
            if plan.name != node.name or plan.dtype is not node.dtype:
                return False
            self._plans.append(plan)
            self.lengths.append(self.lengths[0])
            return True
        self._have_same_bounds = False
        return super().takes(plan)

    def _is_alike(self, plan: Any) -> bool:
        node: Any = self.node
        return plan.stop is not None and plan.dtype is node.dtype

    def _count_of(self, plan: Any) -> int:
        return len(range(plan.start, plan.stop, plan.step))

    @property
    def nbytes(self) -> int:
        node: Any = self.node
        return self.count * int(node.dtype.itemsize)

    def _made(self, _: list[Payload]) -> Payload | None:
        if self._have_same_bounds:
            turns = np.empty((len(self._plans), self.count), self._plans[0].dtype)
            turns[:] = _numbers(self._plans[0])
            return Columns(LEAF, [turns.ravel()])
        return Columns(LEAF, [np.concatenate([_numbers(plan) for plan in self._plans])])


def _numbers(node: Range) -> np.ndarray:
    numbers = range(node.start, node.stop or 0, node.step)
    return RangeSource(node.start, node.stop, node.step, node.dtype).columns(range(len(numbers))).arrays[0]


class _Slices(SourceForm):
    """Slices of arrays, or of lists of texts."""

    def __init__(self, node: FromTensorSlices, count: int) -> None:
        super().__init__(node, count)
        # Of each column, and the structure as it was written: of dicts in the order of their keys.
        self._kinds = [(column.dtype, column.shape) for column in node.columns]
        self._written: Any = None if node.treedef is LEAF else _written(node.treedef)
        self._is_of_texts = _is_of_texts(node)

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if self._is_of_texts and type(plan) is FromTensorSlices and plan.name == node.name and _is_of_texts(plan):
            column = plan.columns[0]
            count = len(column)
            if column.ndim == 1 == len(self._kinds[0][1]) and 0 < count <= MOST_ELEMENTS:  # all else is alike
                self._plans.append(plan)
                self.lengths.append(count)
                return True
        return super().takes(plan)

    def _is_alike(self, plan: Any) -> bool:
        node: Any = self.node
        if plan.treedef is not node.treedef and (
            plan.treedef != node.treedef or _written(plan.treedef) != self._written
        ):
            return False
        for column, (dtype, shape) in zip(plan.columns, self._kinds, strict=True):
            if column.dtype is not dtype and column.dtype != dtype:
                return False
            if column.shape != shape and (column.ndim != len(shape) or column.shape[1:] != shape[1:]):
                return False
        return not node.columns[0].dtype.hasobject or _is_of_texts(plan)

    def _count_of(self, plan: Any) -> int:
        return len(plan.columns[0])

    @property
    def nbytes(self) -> int:
        node: Any = self.node
        return Columns(node.treedef, node.columns).nbytes

    def _made(self, _: list[Payload]) -> Payload | None:
        node: Any = self.node
        columns = zip(*[plan.columns for plan in self._plans], strict=True)
        # Copied out of what nobody can write to.
        locked = Columns(node.treedef, node.columns).locked
        return Columns(node.treedef, [np.concatenate(parts) for parts in columns], locked=locked)


class _Ones(SourceForm):
    """Datasets of one element."""

    def _is_alike(self, plan: Any) -> bool:
        return True

    def _count_of(self, plan: Any) -> int:
        return 1

    def _made(self, _: list[Payload]) -> Payload | None:
        return Rows([read_only(plan.element) for plan in self._plans])


def _is_of_texts(node: FromTensorSlices) -> bool:
    return node.treedef.is_leaf() and node.given is not None and node.given.dtype in (str, bytes)


def is_same(one: TreeDef, other: TreeDef) -> bool:
    """Returns whether two structures are the same, and written in the same order."""
    return one == other and _written(one) == _written(other)


def _written(treedef: TreeDef) -> object:
    """Returns a structure as it was written, to be compared with an equal one."""
    numbered = unflatten(treedef, range(treedef.num_leaves))
    if treedef.type is dict and treedef.num_children == treedef.num_leaves:  # of leaves alone
        return list(numbered)
    return repr(numbered)


def ranges(node: Range) -> Form | None:
    """Returns the form of a range that has few numbers."""
    count = 0 if node.stop is None else len(range(node.start, node.stop, node.step))
    return _Ranges(node, count) if 0 < count <= MOST_ELEMENTS else None


def ones(node: FromTensors) -> Form | None:
    """Returns the form of one element."""
    return _Ones(node, 1)


def slices(node: FromTensorSlices) -> Form | None:
    """Returns the form of slices of small arrays."""
    if any(column.dtype.hasobject for column in node.columns) and not _is_of_texts(node):
        return None
    count = len(node.columns[0])
    form = _Slices(node, count)
    return form if 0 < count <= MOST_ELEMENTS and form.nbytes <= MOST_BYTES else None
