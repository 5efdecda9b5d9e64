"""Small plans of one form, made together: what a function made of each of many elements is done once for all of them.

A function mostly does the same to every element: ``lambda window: window.batch(10)``. So the plan that it made of the first one is
the form, and those that follow are compared with it: the same operations with the same arguments, over windows of one length, or over
sources in memory. They are made operation by operation over the elements of all, as ``at_once`` does it for one plan, and what comes out is the same.

What always holds:
- What functions were called on goes into what a plan becomes by itself, where it cannot be made with others after all.
- Each plan of a form gives at least one element, as far as is known before functions are called; they may differ in how many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import Cursor, IndexCursor
from headrace.blocks.joining import join
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload, Rows
from headrace.physical.made import MOST_BYTES
from headrace.physical.stages.together.batches import Batched, Combined
from headrace.physical.stages.together.calls import CalledForm, is_called
from headrace.physical.stages.together.forms import Form
from headrace.physical.stages.together.generators import GeneratorForm
from headrace.physical.stages.together.moves import Enumerated, Joined, Repeated, Skipped, Taken, Zipped
from headrace.physical.stages.together.nesting import Nested, is_nested
from headrace.physical.stages.together.sources import ones, ranges, slices
from headrace.physical.stages.windowing import WindowOrigin
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.files import Files
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.plan.nesting import FlatMap, Interleave
from headrace.plan.node import Node
from headrace.plan.sequencing import Concatenate, Repeat, Skip, Take
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, Range
from headrace.plan.windowing import WindowContents
from headrace.semantics.window_contents import WindowBlock

__all__ = ["ROOMS", "form_of"]

# There is room for a tenth of what is done in a block.
ROOMS: Final = 10


class _Held(Form):
    """The elements of windows."""

    is_held = True

    def __init__(self, node: WindowContents, held: WindowBlock) -> None:
        super().__init__(node, (), len(held))
        self._windows = [held]

    def takes(self, plan: Any) -> bool:
        if type(plan) is not WindowContents:
            return False
        held = plan.elements
        if type(held) is not WindowBlock or len(held.indices) != self.count or plan.name != self.node.name:
            return False
        self._windows.append(held)
        self.lengths.append(self.lengths[0])
        return True

    def keep(self, plans: int) -> None:
        del self._windows[plans:]
        super().keep(plans)

    def cursor(self, index: int) -> Cursor:
        return IndexCursor(0)

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


def form_of(plan: Node) -> Form | None:
    """Returns the form of a plan that does not end in a prefetch, with that plan taken; None where such plans are not made together."""
    build = _FORMS.get(type(plan))
    return build(plan) if build is not None else None


def _files(node: Files) -> Form | None:
    from headrace.physical.stages.together.files import FilesForm  # what few plans need

    return FilesForm.of(node)


def _uncalled(plan: Node) -> Form | None:
    """Returns the form of a plan of which no element is called on that may be left out, or is there several times."""
    form = form_of(plan)
    return None if form is None or form.callings else form


def _held(node: WindowContents) -> Form | None:
    held = node.elements
    if type(held) is not WindowBlock or type(held.whole) not in (Columns, Rows) or not len(held):
        return None
    form = _Held(node, held)
    return form if form.nbytes <= MOST_BYTES else None


def _called(node: Map | Filter) -> Form | None:
    links: list[Any] = []
    below: Any = node
    while is_called(below):
        links.append(below)
        below = below.input
    form = form_of(below) if links else None
    return None if form is None else CalledForm((*reversed(links),), form)


def _batched(node: Batch) -> Form | None:
    form = form_of(node.input)
    return Batched(node, form) if form is not None and _makes_some(node, form) else None


def _combined(node: PaddedBatch | RaggedBatch) -> Form | None:
    form = form_of(node.input)
    return Combined(node, form) if form is not None and _makes_some(node, form) else None


def _makes_some(node: Batch, form: Form) -> bool:
    """Returns whether the first plan has elements enough for a batch."""
    return form.count >= node.batch_size or not node.drop_remainder


def _taken(node: Take) -> Form | None:
    form = form_of(node.input) if node.count >= 1 else None
    if form is None or not form.callings or isinstance(form, GeneratorForm):
        return None if form is None else Taken(node, form)
    return Taken(node, form) if isinstance(form, CalledForm) and not form.leaves_out else None


def _skipped(node: Skip) -> Form | None:
    form = form_of(node.input)
    return Skipped(node, form) if form is not None and 0 <= node.count < form.count else None


def _repeated(node: Repeat) -> Form | None:
    form = _uncalled(node.input)
    return Repeated(node, form) if form is not None and Repeated.fits(node, form) else None


def _zipped(node: Zip) -> Form | None:
    forms = _all(node.datasets)
    return None if forms is None or not Zipped.fits(forms) else Zipped(node, forms)


def _joined(node: Concatenate) -> Form | None:
    forms = _all(node.datasets)
    return None if forms is None else Joined(node, forms)


def _all(plans: Sequence[Node]) -> list[Form] | None:
    # Generators of one plan would be run before those of the plans ahead of it have ended.
    forms = [form for plan in plans if (form := form_of(plan)) is not None and not form.reads]
    return forms if len(forms) == len(plans) else None


def _enumerated(node: Enumerate) -> Form | None:
    form = form_of(node.input)
    return None if form is None else Enumerated(node, form)


def _nested(node: FlatMap) -> Form | None:
    form = form_of(node.input) if is_nested(node) else None
    return None if form is None else Nested(node, form, form_of)


_FORMS: Final[dict[type[Node], Callable[[Any], Form | None]]] = {
    FromGenerator: GeneratorForm,
    Files: _files,
    FromTensors: ones,
    FromTensorSlices: slices,
    Range: ranges,
    WindowContents: _held,
    Map: _called,
    Filter: _called,
    Enumerate: _enumerated,
    Batch: _batched,
    PaddedBatch: _combined,
    RaggedBatch: _combined,
    Take: _taken,
    Skip: _skipped,
    Repeat: _repeated,
    Zip: _zipped,
    Concatenate: _joined,
    FlatMap: _nested,
    Interleave: _nested,
}
