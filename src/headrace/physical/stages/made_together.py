"""Small plans of one form, made together: what a function made of each of many elements is done once for all of them.

A function mostly does the same to every element: ``lambda window: window.batch(10)``. So the plan that it made of the first one is
the form, and those that follow are compared with it: the same operations with the same arguments, over windows of one length, or over
sources in memory. They are made operation by operation over the elements of all, as ``made_at_once`` does it for one plan, and what comes out is the same.

What always holds:
- No function of the user's is called: where a form cannot be made after all, each of its plans can still be made by itself.
- All plans of a form give the same number of elements, or are sources with nothing done to them; and at least one.
"""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import CountedCursor, Cursor, IndexCursor, OffsetCursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.joining import join
from headrace.blocks.origin import GroupedOrigin, IndexOrigin, Origin
from headrace.blocks.payload import Payload, Rows
from headrace.physical.at_once import MOST_ELEMENTS, SmallPlans
from headrace.physical.made import MOST_BYTES
from headrace.physical.stages.combining import ZipCursor
from headrace.physical.stages.grouping import stacked_payload
from headrace.physical.stages.made_at_once import side_by_side
from headrace.physical.stages.sequencing import SkippedCursor
from headrace.physical.stages.windowing import WindowOrigin
from headrace.plan.combining import Zip
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.plan.node import Node
from headrace.plan.sequencing import Skip, Take
from headrace.plan.sources import FromTensorSlices, Range
from headrace.plan.windowing import WindowContents
from headrace.semantics.grouping import padded_batch, ragged_batch
from headrace.semantics.sources import RangeSource
from headrace.semantics.window_contents import WindowBlock
from headrace.structure import LEAF, TreeDef, may_refuse, unflatten

__all__ = ["Form", "form_of"]

# Of all plans together: a block of elements, which is copied in about the time that it stands for.
_MOST_BYTES_TOGETHER: Final = 16 * MOST_BYTES


class Form:
    """What plans have in common that are made together, and those that were taken so far.

    Attributes:
        node: of the plan that was taken first.
        inputs: the forms of what it reads.
        count: how many elements each plan gives; the first one, where that may differ.
        cursor: the position before the first element of each plan.
        is_held: whether its elements are those of the windows, which others see as well.
    """

    is_held = False
    # How many elements each plan that was taken gives, where that may differ.
    lengths: list[int] | None = None

    def __init__(self, node: Node, inputs: Sequence[Form], count: int, cursor: Cursor) -> None:
        self.node = node
        self.inputs = inputs
        self.count = count
        self.cursor = cursor

    def takes(self, plan: Any) -> bool:
        """Takes another plan if it has this form; where it has not, the parts of it that were taken are dropped by ``keep``."""
        raise NotImplementedError

    def keep(self, plans: int) -> None:
        """Keeps the first plans that were taken."""
        for form in self.inputs:
            form.keep(plans)

    def total(self, plans: int) -> int:
        """Returns how many elements the first plans give."""
        return plans * self.count if self.lengths is None else sum(self.lengths[:plans])

    @property
    def nbytes(self) -> int:
        """About how many bytes the elements of one plan have, or its windows."""
        return sum(form.nbytes for form in self.inputs)

    @property
    def most_plans(self) -> int:
        """How many plans may be made together."""
        return _MOST_BYTES_TOGETHER // max(1, self.nbytes)

    def origin(self, index: int) -> Origin:
        """Returns where the elements of one of the plans came from."""
        raise NotImplementedError

    def elements(self, plans: int, small: SmallPlans) -> Payload | None:
        """Makes the elements of all plans, one plan after the other; None where each has to be made by itself."""
        spans: list[tuple[Form, float, float]] = []
        try:
            payload = self._timed(spans)
            if payload is not None and self.is_held:
                payload = handed_out(payload)
        except Exception:  # noqa: BLE001 - an element's own methods may raise anything; each by itself finds out which of them
            return None
        if payload is not None:
            small.count([(form.node, form.total(plans), span_s, inside_s) for form, span_s, inside_s in spans])
        return payload

    def _timed(self, spans: list[tuple[Form, float, float]]) -> Payload | None:
        start = time.perf_counter()
        parts: list[Payload] = []
        for form in self.inputs:
            part = form._timed(spans)  # noqa: SLF001 - of its own class
            if part is None:
                return None
            parts.append(part)
        begun = time.perf_counter()
        payload = self._made(parts)
        spans.append((self, time.perf_counter() - start, begun - start))
        return payload

    def _made(self, parts: list[Payload]) -> Payload | None:
        """Makes the elements of all plans of those that each input gives."""
        raise NotImplementedError


class _Held(Form):
    """The elements of windows."""

    is_held = True

    def __init__(self, node: WindowContents, held: WindowBlock) -> None:
        super().__init__(node, (), len(held), IndexCursor(0))
        self._windows = [held]

    def takes(self, plan: Any) -> bool:
        if type(plan) is not WindowContents:
            return False
        held = plan.elements
        if type(held) is not WindowBlock or len(held.indices) != self.count or plan.name != self.node.name:
            return False
        self._windows.append(held)
        return True

    def keep(self, plans: int) -> None:
        del self._windows[plans:]

    @property
    def nbytes(self) -> int:
        return self._windows[0].payload.nbytes

    def origin(self, index: int) -> Origin:
        return WindowOrigin(self._windows[index], range(self.count))

    def _made(self, _: list[Payload]) -> Payload | None:
        whole = self._windows[0].whole
        parts = [window.indices for window in self._windows]
        if any(window.whole is not whole for window in self._windows):
            payloads = [window.payload for window in self._windows]
            joined = join(payloads)
            return joined if type(joined) is type(payloads[0]) else None  # rows of columns are another thing to stack
        if len(parts) == 1:
            return whole.subset(parts[0])
        if not all(type(part) is range for part in parts):
            return whole.subset(np.concatenate([np.asarray(part) for part in parts]))
        step, begins = parts[0].step, [part.start for part in parts]  # type: ignore[union-attr]  # all are ranges
        end = begins[0] + len(begins) * self.count
        if step == 1 and begins == list(range(begins[0], end, self.count)):
            return whole.subset(range(begins[0], end))
        return whole.subset(np.add.outer(begins, np.arange(0, self.count * step, step)).ravel())


class _Source(Form):
    """The elements of sources that are read by index; with ``lengths``, of any number."""

    def __init__(self, node: Range | FromTensorSlices, count: int) -> None:
        super().__init__(node, (), count, IndexCursor(0))
        self._plans: list[Any] = [node]
        self._lengths = [count]

    def vary(self) -> None:
        """Takes plans that give another number of elements, as well: nothing is done to them."""
        self.lengths = self._lengths

    def takes(self, plan: Any) -> bool:
        if type(plan) is not type(self.node) or plan.name != self.node.name or not self._is_alike(plan):
            return False
        count = plan.cardinality()
        if count != self.count and (self.lengths is None or not 0 < count <= MOST_ELEMENTS):
            return False
        self._plans.append(plan)
        self._lengths.append(count)
        return True

    def _is_alike(self, plan: Any) -> bool:
        """Returns whether the elements of a source are of the same kind."""
        raise NotImplementedError

    def keep(self, plans: int) -> None:
        del self._plans[plans:]
        del self._lengths[plans:]

    def origin(self, index: int) -> Origin:
        return IndexOrigin(range(self._lengths[index]))


class _Ranges(_Source):
    """Ranges."""

    def _is_alike(self, plan: Any) -> bool:
        node: Any = self.node
        return plan.stop is not None and plan.dtype is node.dtype

    @property
    def nbytes(self) -> int:
        node: Any = self.node
        return self.count * int(node.dtype.itemsize)

    def _made(self, _: list[Payload]) -> Payload | None:
        first = self._plans[0]
        bounds = (first.start, first.stop, first.step)
        if all((plan.start, plan.stop, plan.step) == bounds for plan in self._plans):
            return Columns(LEAF, [np.tile(_numbers(first), len(self._plans))])
        return Columns(LEAF, [np.concatenate([_numbers(plan) for plan in self._plans])])


def _numbers(node: Range) -> np.ndarray:
    numbers = range(node.start, node.stop or 0, node.step)
    return RangeSource(node.start, node.stop, node.step, node.dtype).columns(range(len(numbers))).arrays[0]


class _Slices(_Source):
    """Slices of arrays, or of lists of texts."""

    def _is_alike(self, plan: Any) -> bool:
        node: Any = self.node
        if plan.treedef is not node.treedef and not _is_same(plan.treedef, node.treedef):
            return False
        pairs = zip(plan.columns, node.columns, strict=True)
        if any(mine.dtype != other.dtype or mine.shape[1:] != other.shape[1:] for mine, other in pairs):
            return False
        return not node.columns[0].dtype.hasobject or _is_of_texts(plan)

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


def _is_of_texts(node: FromTensorSlices) -> bool:
    return node.treedef is LEAF and node.given is not None and node.given.dtype in (str, bytes)


class _Batched(Form):
    """Batches of one size, none of which is shorter than the others."""

    def __init__(self, node: Batch, form: Form) -> None:
        size, count = node.batch_size, form.count
        self._size = min(size, count)
        self._bounds = tuple(itertools.pairwise(range(0, count + 1, self._size)))
        bounds = range(0, len(self._bounds) * self._size + 1, self._size)
        super().__init__(node, (form,), len(self._bounds), OffsetCursor(form.cursor, bounds))

    @staticmethod
    def fits(node: Batch, count: int) -> bool:
        """Returns whether so many elements make such batches."""
        return count % node.batch_size == 0 or (count > node.batch_size) is node.drop_remainder

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        return (
            type(plan) is type(node)
            and plan.batch_size == node.batch_size
            and plan.drop_remainder is node.drop_remainder
            and plan.name == node.name
            and self.inputs[0].takes(plan.input)
        )

    def origin(self, index: int) -> Origin:
        return GroupedOrigin(self.inputs[0].origin(index), self._bounds)

    def _made(self, parts: list[Payload]) -> Payload | None:
        columns = _cut(parts[0], self.inputs[0].count, 0, self.count * self._size).columns()
        if may_refuse(columns.treedef):
            return None
        return stacked_payload(columns, len(columns) // self._size, self._size)


class _Combined(_Batched):
    """Batches that are made one by one: padded, and ragged ones."""

    def __init__(self, node: PaddedBatch | RaggedBatch, form: Form) -> None:
        super().__init__(node, form)
        self._nodes: list[Any] = [node]  # each with a padding of its own
        self._combine: Any = padded_batch if type(node) is PaddedBatch else ragged_batch

    def takes(self, plan: Any) -> bool:
        if not super().takes(plan):
            return False
        self._nodes.append(plan)
        return True

    def keep(self, plans: int) -> None:
        del self._nodes[plans:]
        super().keep(plans)

    def _made(self, parts: list[Payload]) -> Payload | None:
        rows, size = _cut(parts[0], self.inputs[0].count, 0, self.count * self._size).rows(), self._size
        nodes = itertools.chain.from_iterable(itertools.repeat(node, self.count) for node in self._nodes)
        starts = range(0, len(rows), size)
        return Rows(
            [self._combine(node, rows[start : start + size]) for node, start in zip(nodes, starts, strict=True)]
        )


class _Cut(Form):
    """What ``take`` or ``skip`` leaves."""

    def __init__(self, node: Take | Skip, form: Form, part: range, cursor: Cursor) -> None:
        super().__init__(node, (form,), len(part), cursor)
        self.is_held = form.is_held
        self._part = part

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        return (
            type(plan) is type(node)
            and plan.count == node.count
            and plan.name == node.name
            and self.inputs[0].takes(plan.input)
        )

    def origin(self, index: int) -> Origin:
        return self.inputs[0].origin(index).subset(self._part)

    def _made(self, parts: list[Payload]) -> Payload | None:
        return _cut(parts[0], self.inputs[0].count, self._part.start, self._part.stop)


class _Zipped(Form):
    """One element of each of several, together."""

    def __init__(self, node: Zip, forms: Sequence[Form]) -> None:
        super().__init__(
            node, forms, min(form.count for form in forms), ZipCursor(tuple(form.cursor for form in forms))
        )
        self._takers = [form.takes for form in forms]

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if type(plan) is not Zip or plan.name != node.name or len(plan.datasets) != len(self.inputs):
            return False
        if plan.treedef is not node.treedef and not _is_same(plan.treedef, node.treedef):
            return False
        return all(map(operator.call, self._takers, plan.datasets))

    def origin(self, index: int) -> Origin:
        return self.inputs[0].origin(index).subset(range(self.count))

    def _made(self, parts: list[Payload]) -> Payload | None:
        node: Any = self.node
        cut = [_cut(part, form.count, 0, self.count) for part, form in zip(parts, self.inputs, strict=True)]
        shown = [handed_out(part) if form.is_held else part for part, form in zip(cut, self.inputs, strict=True)]
        return side_by_side(node.treedef, shown)


def _is_same(one: Any, other: Any) -> bool:
    """Returns whether two structures are the same, and written in the same order."""
    if one != other:
        return False
    if one.num_children == one.num_leaves and one.type is dict:  # of leaves alone
        return list(unflatten(one, range(one.num_leaves))) == list(unflatten(other, range(one.num_leaves)))
    return _written(one) == _written(other)


def _written(treedef: TreeDef) -> str:
    return repr(unflatten(treedef, range(treedef.num_leaves)))


def _cut(payload: Payload, each: int, start: int, stop: int) -> Payload:
    """Returns a part of every run of ``each`` elements."""
    if stop - start == each:
        return payload
    begins = np.arange(start, len(payload), each)
    return payload.subset(np.add.outer(begins, np.arange(stop - start)).ravel())


def form_of(plan: Node) -> Form | None:
    """Returns the form of a plan, with that plan taken; None where such plans are not made together."""
    form = _form(plan)
    if isinstance(form, _Source):
        form.vary()
    return form


def _form(plan: Node) -> Form | None:
    build = _FORMS.get(type(plan))
    return build(plan) if build is not None else None


def _ranges(node: Range) -> Form | None:
    count = 0 if node.stop is None else len(range(node.start, node.stop, node.step))
    return _Ranges(node, count) if 0 < count <= MOST_ELEMENTS else None


def _slices(node: FromTensorSlices) -> Form | None:
    if any(column.dtype.hasobject for column in node.columns) and not _is_of_texts(node):
        return None
    count = len(node.columns[0])
    form = _Slices(node, count)
    return form if 0 < count <= MOST_ELEMENTS and form.nbytes <= MOST_BYTES else None


def _held(node: WindowContents) -> Form | None:
    held = node.elements
    if type(held) is not WindowBlock or type(held.whole) not in (Columns, Rows) or not len(held):
        return None
    form = _Held(node, held)
    return form if form.nbytes <= MOST_BYTES else None


def _batched(node: Batch) -> Form | None:
    form = _form(node.input)
    return _Batched(node, form) if form is not None and _Batched.fits(node, form.count) else None


def _combined(node: PaddedBatch | RaggedBatch) -> Form | None:
    form = _form(node.input)
    return _Combined(node, form) if form is not None and _Batched.fits(node, form.count) else None


def _taken(node: Take) -> Form | None:
    form = _form(node.input)
    if form is None or node.count < 1:
        return None
    return _Cut(node, form, range(min(node.count, form.count)), CountedCursor("taken", 0, form.cursor))


def _skipped(node: Skip) -> Form | None:
    form = _form(node.input)
    if form is None or not 0 <= node.count < form.count:
        return None
    cursor = SkippedCursor(node.count, form.cursor.advance(node.count))
    return _Cut(node, form, range(node.count, form.count), cursor)


def _zipped(node: Zip) -> Form | None:
    forms = [_form(dataset) for dataset in node.datasets]
    return None if None in forms else _Zipped(node, forms)  # type: ignore[arg-type]  # none is None


_FORMS: Final[dict[type[Node], Callable[[Any], Form | None]]] = {
    FromTensorSlices: _slices,
    Range: _ranges,
    WindowContents: _held,
    Batch: _batched,
    PaddedBatch: _combined,
    RaggedBatch: _combined,
    Take: _taken,
    Skip: _skipped,
    Zip: _zipped,
}
