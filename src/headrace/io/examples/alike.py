"""Batches of messages that are written alike, parsed a feature at a time.

The first message tells a layout, the first that has another one the next layout, and so on. It is a quicker way and no other meaning:
where there are too many layouts, or a feature is not what was asked for, nothing is parsed, and each message is parsed by itself,
which also finds the words for what is wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.ragged import RaggedTensor
from headrace.elements.structure import object_array
from headrace.io.examples.features import Feature, FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from headrace.io.examples.layout import Form, Joined, Layout, Place, Unlike, form_of, learned_layout
from headrace.io.examples.values import Values, check_values, read_values, runs

__all__ = ["parsed_alike"]

# To parse so many messages together costs as much as one by one.
_FEW: Final = 64
# As many come of two or three features whose lengths have one byte in some messages and two in others.
_LAYOUTS: Final = 4
# To join longer ones costs more than protobuf takes to find what lies in them.
_LONG_BYTES: Final = 8 * 1024


def parsed_alike(records: Sequence[Any], features: Mapping[str, Feature]) -> dict[str, Any] | None:
    """Returns what ``parse_example`` makes of these messages; None where each has to be looked at by itself."""
    if len(records) < _FEW or set(map(type, records)) != {bytes}:
        return None
    if sum(map(len, records[:_FEW])) > _FEW * _LONG_BYTES:
        return None
    try:
        parts = _parts(records, features)
        values = [_in_order([(rows, found[name]) for rows, found in parts]) for name in features]
        columns = [
            _COLUMNS[type(feature)](one, feature) for feature, one in zip(features.values(), values, strict=True)
        ]
    except Unlike:
        return None
    return dict(zip(features, columns, strict=True))


# Some of the messages, and by name what is asked for of them.
_Part = tuple[np.ndarray, dict[str, Values]]


def _parts(records: Sequence[bytes], features: Mapping[str, Feature]) -> list[_Part]:
    """Returns the messages by their layout."""
    joined = Joined(records)
    rest = np.arange(joined.count)
    recent = _recent(tuple(features))
    form = recent.form  # other threads have other batches
    places = None if form is None else form.places(joined)
    if form is not None and places is not None:
        return [(rest, _asked_for(features, form, joined, places, joined.count))]
    parts: list[_Part] = []
    layouts = list(recent.layouts)
    recent.layouts = []
    for tried in range(_LAYOUTS):
        if tried == len(layouts):
            layouts.append(learned_layout(records[rest[0]]))
        layout = layouts[tried]
        fits, places = layout.places(joined, joined.starts[rest], joined.ends[rest])
        if fits.all():
            parts.append((rest, _asked_for(features, layout, joined, places, len(rest))))
            recent.layouts = layouts
            if len(parts) == 1:
                recent.form = form_of(layout, joined, places)
            return parts
        if fits.any():
            places = [place.of(fits) for place in places]
            parts.append((rest[fits], _asked_for(features, layout, joined, places, int(np.count_nonzero(fits)))))
            rest = rest[~fits]
    raise Unlike


class _Recent:
    """How messages were written last.

    Attributes:
        form: of the messages of a batch, if they had one.
        layouts: of those, if all of them had one.
    """

    def __init__(self) -> None:
        self.form: Form | None = None
        self.layouts: list[Layout] = []


@functools.lru_cache(maxsize=64)
def _recent(names: tuple[str, ...]) -> _Recent:  # noqa: ARG001 - the key
    """Returns how the messages were written of which these features were asked last."""
    return _Recent()


def _asked_for(
    features: Mapping[str, Feature], layout: Layout | Form, joined: Joined, places: Sequence[Place], count: int
) -> dict[str, Values]:
    """Returns the values of the features that are asked for, of so many messages of one layout."""
    found: dict[str, Values] = {}
    for (name, kind), place in zip(layout.lists.items(), places, strict=True):
        feature = features.get(name)
        if feature is None:
            check_values(joined, place, kind)
        elif feature.list_name != kind:
            raise Unlike
        else:
            found[name] = _texts(read_values(joined, place, kind), feature)
    return found | {name: _missing(features[name], count) for name in features.keys() - found.keys()}


def _texts(values: Values, feature: Feature) -> Values:
    """Returns values that are asked for as texts as such."""
    if feature.dtype is not str:
        return values
    try:
        return Values(object_array([value.decode() for value in values.flat.tolist()]), values.counts)
    except UnicodeDecodeError:
        raise Unlike from None


def _missing(feature: Feature, count: int) -> Values:
    """Returns what stands for the values of a feature that these messages lack."""
    if not isinstance(feature, FixedLenFeature):
        return Values(np.empty(0, feature.array_dtype), np.zeros(count, np.int64))
    default = feature.default_values
    if default is None:
        raise Unlike
    return Values(np.tile(default, count), np.full(count, feature.size))


def _in_order(parts: Sequence[tuple[np.ndarray, Values]]) -> Values:
    """Returns the values of all messages in the order of the messages, of which each part has these."""
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    flat, counts = (np.concatenate(arrays) for arrays in zip(*(values for _, values in parts), strict=True))
    starts = counts.cumsum() - counts
    return Values(flat[runs(starts[order], counts[order])], counts[order])


# ------------------------------------------------------------------------------------------------ columns


def _fixed(values: Values, feature: FixedLenFeature) -> np.ndarray:
    if (values.counts != feature.size).any():
        raise Unlike
    return values.flat.reshape(len(values.counts), *feature.shape)


def _ragged(values: Values, _: VarLenFeature) -> RaggedTensor:
    splits = np.zeros(len(values.counts) + 1, np.int64)
    np.cumsum(values.counts, out=splits[1:])
    return RaggedTensor(values.flat, splits)


def _sequences(values: Values, feature: FixedLenSequenceFeature) -> np.ndarray:
    entries, left_over = np.divmod(values.counts, feature.size)
    if left_over.any():
        raise Unlike
    longest = int(entries.max())
    column = np.full((len(entries), longest * feature.size), feature.padding, feature.array_dtype)
    column[np.arange(column.shape[1]) < values.counts[:, None]] = values.flat
    return column.reshape(len(entries), longest, *feature.shape)


_COLUMNS: Final[dict[type[Feature], Callable[[Values, Any], Any]]] = {
    FixedLenFeature: _fixed,
    VarLenFeature: _ragged,
    FixedLenSequenceFeature: _sequences,
}
