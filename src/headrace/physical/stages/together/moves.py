"""The forms of operations that only say which elements come, and beside which: take, skip, repeat, zip, concatenate, enumerate."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import CountedCursor, Cursor, JoinedCursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.joining import join
from headrace.blocks.origin import JoinedOrigin, Origin
from headrace.blocks.payload import Payload, Rows
from headrace.elements.ownership import FIXED, read_only_rows
from headrace.elements.structure import LEAF, flatten
from headrace.physical.at_once import MOST_ELEMENTS
from headrace.physical.made import MOST_BYTES
from headrace.physical.stages.at_once.combining import side_by_side
from headrace.physical.stages.at_once.sequencing import RepeatedCursor, gives_what_is_held
from headrace.physical.stages.combining import ZipCursor
from headrace.physical.stages.sequencing import SkippedCursor, TurnCursor
from headrace.physical.stages.together.calls import CalledForm
from headrace.physical.stages.together.forms import Form, picked_runs, some_of_each
from headrace.physical.stages.together.generators import GeneratorForm
from headrace.physical.stages.together.sources import is_same
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate
from headrace.plan.sequencing import Concatenate, Repeat, Skip, Take

__all__ = ["Enumerated", "Joined", "Repeated", "Skipped", "Taken", "Zipped"]

_PAIR: Final = flatten((0, 0))[1]


class _Cut(Form):
    """What is left of each plan after so many elements, or the first ones."""

    def __init__(self, node: Take | Skip, form: Form, count: int) -> None:
        super().__init__(node, (form,), count)
        self.is_held = form.is_held
        self._counts: list[int] = [node.count]

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if type(plan) is not type(node) or plan.count < 0 or plan.name != node.name:
            return False
        self._counts.append(plan.count)
        return self.inputs[0].takes(plan.input) and self.took()

    def keep(self, plans: int) -> None:
        del self._counts[plans:]
        super().keep(plans)

    def _begin(self, index: int) -> int:
        """Returns where what is left of one of the plans begins."""
        return 0

    def origin(self, index: int) -> Origin:
        begin = self._begin(index)
        return self.inputs[0].origin(index).subset(range(begin, begin + self.lengths[index]))

    def _made(self, parts: list[Payload]) -> Payload | None:
        return some_of_each(parts[0], self.inputs[0], self.lengths, list(map(self._begin, range(len(self.lengths)))))


class Taken(_Cut):
    """What ``take`` leaves."""

    def __init__(self, node: Take, form: Form) -> None:
        super().__init__(node, form, min(node.count, form.count))
        if isinstance(form, (CalledForm, GeneratorForm)):
            form.call_on_first(self._counts)

    def _length(self, index: int) -> int:
        return min(self._counts[index], self.inputs[0].lengths[index])

    def cursor(self, index: int) -> Cursor:
        return CountedCursor("taken", 0, self.inputs[0].cursor(index))


class Skipped(_Cut):
    """What ``skip`` leaves."""

    def __init__(self, node: Skip, form: Form) -> None:
        super().__init__(node, form, form.count - node.count)

    def _begin(self, index: int) -> int:
        return self._counts[index]

    def _length(self, index: int) -> int:
        return max(0, self.inputs[0].lengths[index] - self._counts[index])

    def cursor(self, index: int) -> Cursor:
        count = self._counts[index]
        return SkippedCursor(count, self.inputs[0].cursor(index).advance(count))


class Zipped(Form):
    """One element of each of several, together."""

    def __init__(self, node: Zip, forms: Sequence[Form]) -> None:
        super().__init__(node, forms, min(form.count for form in forms))
        self._takers = [form.takes for form in forms]
        self._calling = [form for form in forms if form.callings]

    @staticmethod
    def fits(forms: Sequence[Form]) -> bool:
        """Returns whether functions are called on what it reads alone: on all elements of the shortest ones."""
        calling = [form for form in forms if form.callings]
        if len(calling) > 1 and any(form.leaves_out for form in calling):
            return False
        shortest = min([form.lengths[-1] for form in forms])
        return all(form.lengths[-1] == shortest and not form.grows for form in calling)

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if type(plan) is not Zip or plan.name != node.name or len(plan.datasets) != len(self.inputs):
            return False
        if plan.treedef is not node.treedef and not is_same(plan.treedef, node.treedef):
            return False
        if not all(map(operator.call, self._takers, plan.datasets)) or not self.took():
            return False
        return not self._calling or all(form.lengths[-1] == self.lengths[-1] for form in self._calling)

    def _length(self, index: int) -> int:
        return min([form.lengths[index] for form in self.inputs])

    def cursor(self, index: int) -> Cursor:
        return ZipCursor(tuple([form.cursor(index) for form in self.inputs]))

    def origin(self, index: int) -> Origin:
        return self.inputs[0].origin(index).subset(range(self.lengths[index]))

    def _made(self, parts: list[Payload]) -> Payload | None:
        node: Any = self.node
        cut = [some_of_each(part, form, self.lengths) for part, form in zip(parts, self.inputs, strict=True)]
        shown = [handed_out(part) if form.is_held else part for part, form in zip(cut, self.inputs, strict=True)]
        return side_by_side(node.treedef, shown)


class Enumerated(Form):
    """Elements with their numbers before them."""

    def __init__(self, node: Enumerate, form: Form) -> None:
        super().__init__(node, (form,), form.count)

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if type(plan) is not Enumerate or plan.start != node.start or plan.name != node.name:
            return False
        return self.inputs[0].takes(plan.input) and self.took()

    def cursor(self, index: int) -> Cursor:
        return CountedCursor("index", 0, self.inputs[0].cursor(index))

    def origin(self, index: int) -> Origin:
        return self.inputs[0].origin(index)

    def _made(self, parts: list[Payload]) -> Payload | None:
        node: Any = self.node
        if node.start + max(self.lengths) > np.iinfo(np.int64).max:
            return None
        payload = handed_out(parts[0]) if self.inputs[0].is_held else parts[0]
        numbers = np.concatenate([np.arange(node.start, node.start + length) for length in self.lengths])
        return side_by_side(_PAIR, [Columns(LEAF, [numbers]), payload])


class Repeated(Form):
    """The elements of a dataset again and again, in each plan any number of times."""

    def __init__(self, node: Repeat, form: Form) -> None:
        self._times: list[int] = [node.count or 1]
        super().__init__(node, (form,), form.count * self._times[0])

    @staticmethod
    def fits(node: Repeat, form: Form) -> bool:
        """Returns whether what it gives is small."""
        times = node.count or 0
        return not form.is_held and 0 < times * form.lengths[-1] <= MOST_ELEMENTS and times * form.nbytes <= MOST_BYTES

    def takes(self, plan: Any) -> bool:
        if type(plan) is not Repeat or plan.name != self.node.name or not self.inputs[0].takes(plan.input):
            return False
        self._times.append(plan.count or 0)
        return self.fits(plan, self.inputs[0]) and self.took()

    def keep(self, plans: int) -> None:
        del self._times[plans:]
        super().keep(plans)

    def _length(self, index: int) -> int:
        return self._times[index] * self.inputs[0].lengths[index]

    @property
    def nbytes(self) -> int:
        return self.inputs[0].nbytes * self._times[0]

    def cursor(self, index: int) -> Cursor:
        return RepeatedCursor(self.inputs[0].cursor(index), self.inputs[0].lengths[index], 0)

    def origin(self, index: int) -> Origin:
        turn = np.arange(self.inputs[0].lengths[index])
        return self.inputs[0].origin(index).subset(np.tile(turn, self._times[index]))

    def _read(self, times: Sequence[int] | None) -> Sequence[int] | None:
        return self._times if times is None else list(map(operator.mul, self._times, times))  # it is given in each turn

    def _made(self, parts: list[Payload]) -> Payload | None:
        payload, lengths = parts[0], self.inputs[0].lengths
        begins = list(itertools.accumulate(lengths[:-1], initial=0))
        turns = picked_runs(payload, np.repeat(begins, self._times), np.repeat(lengths, self._times))
        if type(turns) is Rows and not FIXED.issuperset(turns.kinds):
            node: Any = self.node
            # Else each turn has elements of its own.
            return Rows(read_only_rows(turns.elements, turns.kinds)) if gives_what_is_held(node.input) else None
        return turns


class Joined(Form):
    """One dataset after the other."""

    def __init__(self, node: Concatenate, forms: Sequence[Form]) -> None:
        super().__init__(node, forms, sum(form.count for form in forms))
        self._takers = [form.takes for form in forms]

    def takes(self, plan: Any) -> bool:
        if type(plan) is not Concatenate or plan.name != self.node.name or len(plan.datasets) != len(self.inputs):
            return False
        return all(map(operator.call, self._takers, plan.datasets)) and self.took()

    def _length(self, index: int) -> int:
        return sum([form.lengths[index] for form in self.inputs])

    def _starts(self, index: int) -> list[int]:
        """Returns where each dataset of one of the plans begins, and where the last one ends."""
        return [*itertools.accumulate([form.lengths[index] for form in self.inputs], initial=0)]

    def cursor(self, index: int) -> Cursor:
        positions: list[Cursor] = [
            TurnCursor("part", part, True, form.cursor(index)) for part, form in enumerate(self.inputs)
        ]
        end = positions[-1].advance(self.inputs[-1].lengths[index])
        return JoinedCursor(self._starts(index), [*positions, end])

    def origin(self, index: int) -> Origin:
        lengths = [form.lengths[index] for form in self.inputs]
        return JoinedOrigin.of(lengths, [form.origin(index) for form in self.inputs])

    def _made(self, parts: list[Payload]) -> Payload | None:
        shown = [handed_out(part) if form.is_held else part for part, form in zip(parts, self.inputs, strict=True)]
        whole = join(shown)
        lengths = np.array([form.lengths for form in self.inputs])
        begins = np.cumsum(lengths, axis=1) - lengths
        begins += np.cumsum([0, *map(len, shown[:-1])])[:, None]
        return picked_runs(whole, begins.T.ravel(), lengths.T.ravel())
