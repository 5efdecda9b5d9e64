"""Small plans of one form, made together: what a function made of each of many elements is done once for all of them.

A function mostly does the same to every element: ``lambda window: window.batch(10)``. So the plan that it made of the first one is
the form, and those that follow are compared with it: the same operations with the same arguments, over windows of one length, or over
sources in memory. They are made operation by operation over the elements of all, as ``made_at_once`` does it for one plan, and what comes out is the same.

What always holds:
- Functions are called before anything else is made of a form (``made_together_maps``), so where it cannot be made after all, each of its plans
  can still be made by itself.
- All plans of a form give the same number of elements, or are sources with nothing done to them but to repeat them; and at least one.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import CountedCursor, Cursor, IndexCursor, OffsetCursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.joining import join
from headrace.blocks.origin import GroupedOrigin, Origin
from headrace.blocks.payload import Payload, Rows
from headrace.elements.ownership import FIXED
from headrace.elements.structure import may_refuse
from headrace.physical.at_once import MOST_ELEMENTS
from headrace.physical.made import MOST_BYTES
from headrace.physical.stages.combining import ZipCursor
from headrace.physical.stages.grouping_batches import owned_batch, stacked_payload
from headrace.physical.stages.made_at_once_combining import side_by_side
from headrace.physical.stages.made_at_once_sequencing import RepeatedCursor
from headrace.physical.stages.made_together_forms import Form
from headrace.physical.stages.made_together_maps import MappedForm
from headrace.physical.stages.made_together_sources import is_same, ones, ranges, slices
from headrace.physical.stages.sequencing import SkippedCursor
from headrace.physical.stages.windowing import WindowOrigin
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Map
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.plan.node import Node
from headrace.plan.sequencing import Repeat, Skip, Take
from headrace.plan.sources import FromTensors, FromTensorSlices, Range
from headrace.plan.windowing import WindowContents
from headrace.semantics.grouping import padded_batch, ragged_batch
from headrace.semantics.window_contents import WindowBlock

__all__ = ["form_of"]


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


class _Batched(Form):
    """Batches of one size, of which the last one of each plan may be shorter than the others."""

    def __init__(self, node: Batch, form: Form) -> None:
        size, count = node.batch_size, form.count
        self._size = min(size, count)
        self._rest = 0 if node.drop_remainder or count < size else count % size
        bounds = [*range(0, count + 1, self._size), *([count] if self._rest else [])]
        self._bounds = tuple(itertools.pairwise(bounds))
        super().__init__(node, (form,), len(self._bounds), OffsetCursor(form.cursor, bounds))

    @staticmethod
    def fits(node: Batch, count: int) -> bool:
        """Returns whether so many elements make a batch."""
        return count >= node.batch_size or not node.drop_remainder

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
        columns = _cut(parts[0], self.inputs[0].count, 0, self._bounds[-1][1]).columns()
        if may_refuse(columns.treedef):
            return None
        if not self._rest:
            return stacked_payload(columns, len(columns) // self._size, self._size)
        if not columns.treedef.is_leaf():
            return None
        array = owned_batch(columns.arrays[0])
        begins = range(0, len(array), self.inputs[0].count)
        return Rows([array[begin + start : begin + stop] for begin in begins for start, stop in self._bounds])


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
        each = self._bounds[-1][1]
        rows = _cut(parts[0], self.inputs[0].count, 0, each).rows()
        begins = range(0, len(rows), each)
        return Rows(
            [
                self._combine(node, rows[begin + start : begin + stop])
                for node, begin in zip(self._nodes, begins, strict=True)
                for start, stop in self._bounds
            ]
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
        if plan.treedef is not node.treedef and not is_same(plan.treedef, node.treedef):
            return False
        return all(map(operator.call, self._takers, plan.datasets))

    def origin(self, index: int) -> Origin:
        return self.inputs[0].origin(index).subset(range(self.count))

    def _made(self, parts: list[Payload]) -> Payload | None:
        node: Any = self.node
        cut = [_cut(part, form.count, 0, self.count) for part, form in zip(parts, self.inputs, strict=True)]
        shown = [handed_out(part) if form.is_held else part for part, form in zip(cut, self.inputs, strict=True)]
        return side_by_side(node.treedef, shown)


class _Repeated(Form):
    """The elements of a dataset again and again; with ``lengths``, any number of times."""

    def __init__(self, node: Repeat, form: Form) -> None:
        self._each = form.count
        self._times: list[int] = [node.count or 1]
        count = self._each * self._times[0]
        super().__init__(node, (form,), count, RepeatedCursor(form.cursor, self._each, 0))
        self._lengths = [count]

    @staticmethod
    def fits(node: Repeat, form: Form) -> bool:
        """Returns whether what it gives is small."""
        times = node.count or 0
        return not form.is_held and 0 < times * form.count <= MOST_ELEMENTS and times * form.nbytes <= MOST_BYTES

    def vary(self) -> None:
        self.lengths = self._lengths

    def takes(self, plan: Any) -> bool:
        if type(plan) is not Repeat or plan.name != self.node.name or not self.fits(plan, self.inputs[0]):
            return False
        times = plan.count or 0
        if (self.lengths is None and times != self._times[0]) or not self.inputs[0].takes(plan.input):
            return False
        self._times.append(times)
        self._lengths.append(times * self._each)
        return True

    def keep(self, plans: int) -> None:
        del self._times[plans:]
        del self._lengths[plans:]
        super().keep(plans)

    @property
    def nbytes(self) -> int:
        return self.inputs[0].nbytes * self._times[0]

    def origin(self, index: int) -> Origin:
        return self.inputs[0].origin(index).subset(np.tile(np.arange(self._each), self._times[index]))

    def _read(self, form: Form, given: int) -> int:
        return given  # what it reads is made once, and given in each turn

    def _made(self, parts: list[Payload]) -> Payload | None:
        payload = parts[0]
        if type(payload) is Rows and not FIXED.issuperset(payload.kinds):
            return None  # each turn has elements of its own
        begins = np.repeat(np.arange(0, len(payload), self._each), self._times)
        return payload.subset(np.add.outer(begins, np.arange(self._each)).ravel())


def _cut(payload: Payload, each: int, start: int, stop: int) -> Payload:
    """Returns a part of every run of ``each`` elements."""
    if stop - start == each:
        return payload
    begins = np.arange(start, len(payload), each)
    return payload.subset(np.add.outer(begins, np.arange(stop - start)).ravel())


def form_of(plan: Node, *, may_vary: bool = False, may_call: bool = False) -> Form | None:
    """Returns the form of a plan, with that plan taken; None where such plans are not made together.

    Args:
        plan: the first one.
        may_vary: whether others may have another number of elements.
        may_call: whether functions may be called on their elements.
    """
    form = _form(plan)
    if form is None or (form.calling is not None and not may_call):
        return None
    if may_vary:
        form.vary()
    return form


def _form(plan: Node) -> Form | None:
    build = _FORMS.get(type(plan))
    return build(plan) if build is not None else None


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


def _mapped(node: Map) -> Form | None:
    form = _form(node.input) if MappedForm.fits(node) else None
    return MappedForm(node, form) if form is not None and form.calling is None else None


def _uncalled(plan: Node) -> Form | None:
    """Returns the form of a plan of which no element is called on that may be left out, or is there several times."""
    form = _form(plan)
    return None if form is None or form.calling is not None else form


def _taken(node: Take) -> Form | None:
    form = _uncalled(node.input)
    if form is None or node.count < 1:
        return None
    return _Cut(node, form, range(min(node.count, form.count)), CountedCursor("taken", 0, form.cursor))


def _skipped(node: Skip) -> Form | None:
    form = _uncalled(node.input)
    if form is None or not 0 <= node.count < form.count:
        return None
    cursor = SkippedCursor(node.count, form.cursor.advance(node.count))
    return _Cut(node, form, range(node.count, form.count), cursor)


def _repeated(node: Repeat) -> Form | None:
    form = _uncalled(node.input)
    return _Repeated(node, form) if form is not None and _Repeated.fits(node, form) else None


def _zipped(node: Zip) -> Form | None:
    forms = [_uncalled(dataset) for dataset in node.datasets]
    return None if None in forms else _Zipped(node, forms)  # type: ignore[arg-type]  # none is None


_FORMS: Final[dict[type[Node], Callable[[Any], Form | None]]] = {
    FromTensors: ones,
    FromTensorSlices: slices,
    Range: ranges,
    WindowContents: _held,
    Map: _mapped,
    Batch: _batched,
    PaddedBatch: _combined,
    RaggedBatch: _combined,
    Take: _taken,
    Skip: _skipped,
    Repeat: _repeated,
    Zip: _zipped,
}
