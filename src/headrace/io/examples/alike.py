"""Batches of messages that are written alike, parsed a feature at a time; and batches of others with many features, by their entries.

The first message tells a layout, the first that has another one the next layout, and so on; where the messages of a batch differ in nothing
but their values from those of the batch before, these are not looked for (``form``). It is a quicker way and no other meaning:
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
from headrace.io.examples.entries import entries_in
from headrace.io.examples.features import Feature, FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from headrace.io.examples.form import Form, RecentForm, Trials
from headrace.io.examples.layout import Column, Joined, Layout, Place, Unlike, learned_layout
from headrace.io.examples.values import Values, check_values, numbers_at, read_values, runs

__all__ = ["parsed_alike"]

# To parse so many messages together costs as much as one by one.
_FEW: Final = 64
# As many come of two or three features whose lengths have one byte in some messages and two in others.
_LAYOUTS: Final = 4
# Of fewer features, each message by itself is as quick.
_MANY_FEATURES: Final = 8
# To join longer ones costs more than protobuf takes to find what lies in them.
_LONG_BYTES: Final = 8 * 1024


def parsed_alike(records: Sequence[Any], features: Mapping[str, Feature]) -> dict[str, Any] | None:
    """Returns what ``parse_example`` makes of these messages; None where each has to be looked at by itself."""
    if len(records) < _FEW or set(map(type, records)) != {bytes}:
        return None
    if sum(map(len, records[:_FEW])) > _FEW * _LONG_BYTES:
        return None
    recent = _recent(tuple(features))

    @functools.cache
    def joined() -> Joined:  # which costs nothing where neither has its turn
        return Joined(records)

    found = _tried(
        recent.trials, lambda: _columns(features, _by_layouts(records, features, joined(), recent), joined())
    )
    if found is None and len(features) >= _MANY_FEATURES:
        found = _tried(recent.trials_of_entries, lambda: _columns(features, _by_entries(features, joined()), joined()))
    return found


def _tried(trials: Trials, parse: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """Returns what a way to parse a batch gives; None where it is not its turn, or it cannot."""
    if not trials.is_due():
        return None
    try:
        found = parse()
    except Unlike:
        trials.failed()
        return None
    trials.succeeded()
    return found


def _columns(features: Mapping[str, Feature], values: Mapping[str, Values], joined: Joined) -> dict[str, Any]:
    """Returns what is asked for of all messages."""
    return {name: _COLUMNS[type(feature)](values[name], feature, joined.count) for name, feature in features.items()}


def _by_entries(features: Mapping[str, Feature], joined: Joined) -> dict[str, Values]:
    """Returns the values of messages that have other features from one to the next."""
    entries = entries_in(joined, {name: feature.list_name for name, feature in features.items()})
    entries.check_others()
    found: dict[str, Values] = {}
    for number, (name, feature) in enumerate(features.items()):
        if not entries.has(number):
            found[name] = _missing(feature, joined.count)
            continue
        rows, values = entries.values(number)
        values = _texts(values, feature)
        found[name] = values if len(rows) == joined.count else _filled(values, rows, feature, joined.count)
    return found


def _filled(values: Values, rows: np.ndarray, feature: Feature, messages: int) -> Values:
    """Returns the values of so many messages, of which these have the feature."""
    if isinstance(feature, FixedLenFeature) and feature.size == 1 and values.are(1):
        default = feature.default_values
        if default is None:
            raise Unlike
        whole = np.full(messages, default[0], values.flat.dtype)
        whole[rows] = values.flat
        return Values(whole, 1)
    is_absent = np.ones(messages, bool)
    is_absent[rows] = False
    absent = np.flatnonzero(is_absent)
    return _in_order([(rows, values), (absent, _missing(feature, len(absent)))])


def _by_layouts(
    records: Sequence[bytes], features: Mapping[str, Feature], joined: Joined, recent: _Recent
) -> dict[str, Values]:
    """Returns the values of messages of which many have the same features."""
    parts = _parts(records, features, joined, recent)
    return {name: _in_order([(rows, found[name]) for rows, found in parts]) for name in features}


# Some of the messages, and by name what is asked for of them.
_Part = tuple[np.ndarray, dict[str, Values]]


def _parts(records: Sequence[bytes], features: Mapping[str, Feature], joined: Joined, recent: _Recent) -> list[_Part]:
    """Returns the messages by their layout."""
    rest = np.arange(joined.count)
    known = recent.form.found(joined)
    if known is not None:
        return [(rest, _asked_for(features, *known, joined, joined.count))]
    parts: list[_Part] = []
    layouts = list(recent.layouts)  # other threads have other batches
    recent.layouts = []
    for tried in range(_LAYOUTS):
        if tried == len(layouts):
            layouts.append(learned_layout(records[rest[0]]))
        layout = layouts[tried]
        fits, places = layout.places(joined, joined.starts[rest], joined.ends[rest])
        if fits.all():
            parts.append((rest, _asked_for(features, layout, places, joined, len(rest))))
            recent.layouts = layouts
            if len(parts) == 1:
                recent.form.learn(records[0], layout, places)
            return parts
        if fits.any():
            places = [place.of(fits) for place in places]
            parts.append((rest[fits], _asked_for(features, layout, places, joined, int(np.count_nonzero(fits)))))
            rest = rest[~fits]
    raise Unlike


class _Recent:
    """How messages were written last.

    Attributes:
        form: of the messages of a batch.
        layouts: of those, if all of them had one.
        trials: to parse a batch by layouts.
        trials_of_entries: to parse it by its entries, where it has too many of those.
    """

    def __init__(self) -> None:
        self.trials, self.trials_of_entries = Trials(), Trials()
        self.form = RecentForm()
        self.layouts: list[Layout] = []


@functools.lru_cache(maxsize=64)
def _recent(names: tuple[str, ...]) -> _Recent:  # noqa: ARG001 - the key
    """Returns how the messages were written of which these features were asked last."""
    return _Recent()


def _asked_for(
    features: Mapping[str, Feature], layout: Layout | Form, places: Sequence[Place | Column], joined: Joined, count: int
) -> dict[str, Values]:
    """Returns the values of the features that are asked for, of so many messages of one layout."""
    found = _numbers_together(features, layout, places, joined)
    for (name, kind), place in zip(layout.lists.items(), places, strict=True):
        if name in found:
            continue
        feature = features.get(name)
        if feature is None:
            check_values(joined, place, kind)
        elif feature.list_name != kind:
            raise Unlike
        else:
            found[name] = _texts(read_values(joined, place, kind), feature)
    return found | {name: _missing(features[name], count) for name in features.keys() - found.keys()}


def _numbers_together(
    features: Mapping[str, Feature], layout: Layout | Form, places: Sequence[Place | Column], joined: Joined
) -> dict[str, Values]:
    """Returns the numbers of those features that have one in each message, of more bytes in some than in others; none where one has not."""
    several = {
        name: (place.starts, place.lengths)
        for (name, kind), place in zip(layout.lists.items(), places, strict=True)
        if kind == "int64_list" and isinstance(place, Place) and not isinstance(place.lengths, int)
        if name in features and features[name].list_name == kind
    }
    if len(several) <= 1:
        return {}
    starts, lengths = map(np.concatenate, zip(*several.values(), strict=True))
    numbers = numbers_at(joined, starts, lengths)
    if numbers is None:
        return {}
    rows = numbers.reshape(len(several), -1)
    return {name: Values(row.copy(), 1) for name, row in zip(several, rows, strict=True)}


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
        return Values(np.empty(0, feature.array_dtype), 0)
    default = feature.default_values
    if default is None:
        raise Unlike
    return Values(np.full((count, feature.size), default, feature.array_dtype).ravel(), feature.size)


def _in_order(parts: Sequence[tuple[np.ndarray, Values]]) -> Values:
    """Returns the values of all messages in the order of the messages, of which each part has these."""
    if len(parts) == 1:
        return parts[0][1]
    counts = {values.counts for _, values in parts if isinstance(values.counts, int)}
    if len(counts) == 1 and all(isinstance(values.counts, int) for _, values in parts):
        return _in_rows(parts, *counts)
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    flat = np.concatenate([values.flat for _, values in parts])
    each = np.concatenate([values.counts_of(len(rows)) for rows, values in parts])
    starts = each.cumsum() - each
    return Values(flat[runs(starts[order], each[order])], each[order])


def _in_rows(parts: Sequence[tuple[np.ndarray, Values]], count: int) -> Values:
    """Returns the same where each message has so many."""
    whole = np.empty((sum(len(rows) for rows, _ in parts), count), parts[0][1].flat.dtype)
    for rows, values in parts:
        whole[rows] = values.flat.reshape(len(rows), count)
    return Values(whole.ravel(), count)


# ------------------------------------------------------------------------------------------------ columns


def _fixed(values: Values, feature: FixedLenFeature, messages: int) -> np.ndarray:
    if not values.are(feature.size):
        raise Unlike
    return values.flat.reshape(messages, *feature.shape)


def _ragged(values: Values, _: VarLenFeature, messages: int) -> RaggedTensor:
    splits = np.zeros(messages + 1, np.int64)
    np.cumsum(values.counts_of(messages), out=splits[1:])
    return RaggedTensor(values.flat, splits)


def _sequences(values: Values, feature: FixedLenSequenceFeature, messages: int) -> np.ndarray:
    counts = values.counts_of(messages)
    entries, left_over = np.divmod(counts, feature.size)
    if left_over.any():
        raise Unlike
    longest = int(entries.max())
    column = np.full((messages, longest * feature.size), feature.padding, feature.array_dtype)
    column[np.arange(column.shape[1]) < counts[:, None]] = values.flat
    return column.reshape(messages, longest, *feature.shape)


_COLUMNS: Final[dict[type[Feature], Callable[[Values, Any, int], Any]]] = {
    FixedLenFeature: _fixed,
    VarLenFeature: _ragged,
    FixedLenSequenceFeature: _sequences,
}
