"""Small pictures of elements going in and coming out, drawn from what an example really gives.

A picture is inline SVG without colours of its own: cells have classes, and ``pictures.css`` gives them colours for light
and dark pages. Cells of one input have one colour, wherever they come out; what an operation made anew has another.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import headrace as hr

__all__ = ["PICTURES", "Picture", "picture_of"]


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """An example to be drawn.

    Attributes:
        inputs: the datasets that go in, by name, as code.
        call: what is done, as code that names the inputs.
        made: the class of cells that were in no input.
        all_made: whether that is every cell, also one that is equal to one of an input.
    """

    inputs: dict[str, str]
    call: str
    made: str = "hr-new"
    all_made: bool = False


def _range(call: str, count: int = 6, *, all_made: bool = False) -> Picture:
    return Picture({"ds": f"hr.Dataset.range({count})"}, call, all_made=all_made)


_RAGGED = (
    "hr.Dataset.from_generator(lambda: map(np.array, ([1], [2, 3, 4], [5, 6], [7], [8, 9])),"
    " hr.TensorSpec([None], np.int64))"
)
_SLICES = "hr.Dataset.from_tensor_slices([{}])"
_TWO = {"a": "hr.Dataset.range(4)", "b": "hr.Dataset.range(10, 13)"}
_ROWS = "hr.Dataset.range(6).batch({})"

PICTURES: dict[str, Picture] = {
    "batch": _range("ds.batch(4)"),
    "bucket_by_sequence_length": Picture(
        {"ds": _RAGGED},
        "ds.bucket_by_sequence_length(len, bucket_boundaries=[3], bucket_batch_sizes=[2, 2])",
        made="hr-padding",
    ),
    "choose_from_datasets": Picture(
        {**_TWO, "choices": "hr.Dataset.from_tensor_slices([0, 1, 1, 0, 1])"},
        "hr.Dataset.choose_from_datasets([a, b], choices)",
    ),
    "concatenate": Picture(_TWO, "a.concatenate(b)"),
    "enumerate": Picture({"ds": _SLICES.format("'a', 'b', 'c'")}, "ds.enumerate()"),
    "filter": _range("ds.filter(lambda x: x % 2 == 0)"),
    "flat_map": Picture(
        {"ds": "hr.Dataset.range(1, 4)"}, "ds.flat_map(lambda x: hr.Dataset.from_tensors(10 * x).repeat(x))"
    ),
    "group_by_window": _range(
        "ds.group_by_window(lambda x: x % 2, lambda key, window: window.batch(2), window_size=2)"
    ),
    "ignore_errors": Picture(
        {"ds": "hr.Dataset.from_tensor_slices([1, 2, 0, 4])"}, "ds.map(lambda x: 12 // x).ignore_errors()"
    ),
    "interleave": Picture(
        {"ds": "hr.Dataset.range(1, 4)"},
        "ds.interleave(lambda x: hr.Dataset.range(10 * x, 10 * x + 3), cycle_length=2)",
    ),
    "map": _range("ds.map(lambda x: 10 * x)", 4, all_made=True),
    "pack": Picture(
        {"ds": _RAGGED}, "ds.pack(5).map(lambda tokens, segment_ids, positions: tokens)", made="hr-padding"
    ),
    "padded_batch": Picture({"ds": _RAGGED}, "ds.padded_batch(3)", made="hr-padding"),
    "ragged_batch": Picture({"ds": _RAGGED}, "ds.ragged_batch(3)"),
    "rebatch": Picture({"ds": _ROWS.format(3)}, "ds.rebatch(2)"),
    "repeat": _range("ds.repeat(2)", 3),
    "sample_from_datasets": Picture(
        {"a": "hr.Dataset.range(6)", "b": "hr.Dataset.range(10, 13)"},
        "hr.Dataset.sample_from_datasets([a, b], weights=[0.7, 0.3], seed=1)",
    ),
    "scan": _range("ds.scan(0, lambda total, x: (total + x, total + x))", 5, all_made=True),
    "shard": _range("ds.shard(num_shards=3, index=1)", 8),
    "shuffle": _range("ds.shuffle(3, seed=1)", 7),
    "skip": _range("ds.skip(2)", 5),
    "take": _range("ds.take(3)", 5),
    "take_while": Picture({"ds": "hr.Dataset.from_tensor_slices([1, 2, 5, 3, 1])"}, "ds.take_while(lambda x: x < 4)"),
    "unbatch": Picture({"ds": _ROWS.format(3)}, "ds.unbatch()"),
    "unique": Picture({"ds": "hr.Dataset.from_tensor_slices([3, 1, 3, 2, 1])"}, "ds.unique()"),
    "window": _range("ds.window(3, shift=2)", 6),
    "zip": Picture(_TWO, "hr.Dataset.zip(a, b)"),
}

# ------------------------------------------------------------------------------ boxes

_CELL, _GAP, _PAD = 30, 4, 5
_WIDTH = 640


@dataclasses.dataclass(frozen=True, slots=True)
class _Box:
    """Something drawn: its size, and its lines of SVG once it is told where it stands."""

    width: float
    height: float
    draw: Callable[[float, float], Iterator[str]]


def _cell(value: Any, kind: str) -> _Box:
    text = str(value)
    width = max(_CELL, 9 * len(text) + 12)

    def draw(x: float, y: float) -> Iterator[str]:
        yield f'<rect class="hr-cell {kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{_CELL}" rx="5"/>'
        place = f'x="{x + width / 2:g}" y="{y + _CELL / 2 + 5:g}"'
        yield f'<text class="hr-value" {place}>{html.escape(text)}</text>'

    return _Box(width, _CELL, draw)


def _together(boxes: Sequence[_Box], *, down: bool = False, frame: str | None = None, gap: float = _GAP) -> _Box:
    """Boxes side by side, or one below the other, perhaps in a frame."""
    pad = _PAD if frame else 0
    if down:
        width = max((box.width for box in boxes), default=_CELL / 2)
        height = sum(box.height + gap for box in boxes) - gap if boxes else _CELL
    else:
        width = sum(box.width + gap for box in boxes) - gap if boxes else _CELL / 2
        height = max((box.height for box in boxes), default=_CELL)

    def draw(x: float, y: float) -> Iterator[str]:
        if frame:
            size = f'width="{width + 2 * pad:g}" height="{height + 2 * pad:g}"'
            yield f'<rect class="{frame}" x="{x:g}" y="{y:g}" {size} rx="8"/>'
        x, y = x + pad, y + pad
        for box in boxes:
            yield from box.draw(x, y)
            x, y = (x, y + box.height + gap) if down else (x + box.width + gap, y)

    return _Box(width + 2 * pad, height + 2 * pad, draw)


def _boxed(value: Any, kind_of: Callable[[Any], str]) -> _Box:
    """An element, whatever its structure."""
    if isinstance(value, hr.Dataset):
        return _together([_boxed(inner, kind_of) for inner in value], frame="hr-dataset")
    if isinstance(value, np.ndarray) and value.ndim:
        return _together([_boxed(part, kind_of) for part in value], down=value.ndim > 1, frame="hr-element")
    if isinstance(value, tuple):
        return _together([_boxed(part, kind_of) for part in value], frame="hr-element")
    if isinstance(value, dict):
        return _together([_boxed(part, kind_of) for part in value.values()], down=True, frame="hr-element")
    plain = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return _cell(plain, kind_of(plain))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, hr.Dataset | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        for part in value:
            yield from _leaves(part)
    else:
        yield value.item() if isinstance(value, np.generic | np.ndarray) else value


def _flow(boxes: Sequence[_Box]) -> _Box:
    """Elements in the order in which they come, in as many rows as they need."""
    rows: list[list[_Box]] = [[]]
    width = 0.0
    for box in boxes:
        if rows[-1] and width + box.width > _WIDTH:
            rows.append([])
            width = 0.0
        rows[-1].append(box)
        width += box.width + 2 * _GAP
    return _together([_together(row, gap=2 * _GAP) for row in rows], down=True, gap=2 * _GAP)


# --------------------------------------------------------------------------- pictures


def picture_of(name: str) -> str | None:
    """The picture of an operation, or None where there is none."""
    picture = PICTURES.get(name)
    if picture is None or not hasattr(hr.Dataset, name):
        return None
    names: dict[str, Any] = {"hr": hr, "np": np}
    rows: list[tuple[str, _Box]] = []
    kinds: dict[Any, str] = {}
    for number, (label, code) in enumerate(picture.inputs.items()):
        names[label] = eval(code, {"hr": hr, "np": np})
        elements = list(names[label])
        for leaf in itertools.chain.from_iterable(map(_leaves, elements)):
            kinds.setdefault(leaf, f"hr-in{number}")
        rows.append((label, _flow([_boxed(element, lambda leaf: kinds[leaf]) for element in elements])))
    result = list(eval(picture.call, names))
    if picture.all_made:
        kinds.clear()
    out = _flow([_boxed(element, lambda leaf: kinds.get(leaf, picture.made)) for element in result])
    return _svg(name, rows, picture.call, out)


def _svg(name: str, rows: Sequence[tuple[str, _Box]], call: str, out: _Box) -> str:
    left = 12 + 9 * max(len(label) for label, _ in rows)
    lines: list[str] = []
    y = 6.0
    for label, box in rows:
        lines.append(f'<text class="hr-label" x="4" y="{y + box.height / 2 + 4:g}">{html.escape(label)}</text>')
        lines += box.draw(left, y)
        y += box.height + 8
    y += 4
    middle = left + 14
    code = textwrap.wrap(call, 76, subsequent_indent="    ", break_long_words=False)
    for number, line in enumerate(code):
        place = f'x="{middle + 16:g}" y="{y + 16 + 17 * number:g}" xml:space="preserve"'
        lines.append(f'<text class="hr-call" {place}>{html.escape(line)}</text>')
    down = 22 + 17 * (len(code) - 1)
    lines.append(f'<path class="hr-arrow" d="M{middle:g} {y:g} v{down} m-5 -6 l5 6 l5 -6"/>')
    y += 34 + 17 * (len(code) - 1)
    lines += out.draw(left, y)
    height = y + out.height + 6
    widest = max(out.width, *(box.width for _, box in rows))
    width = max(left + widest + 6, middle + 24 + 7.3 * max(map(len, code)))
    head = f'<svg class="hr-svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img"'
    return f'<figure class="hr-picture">{head} aria-label="{name}: elements in and out">{"".join(lines)}</svg></figure>'
