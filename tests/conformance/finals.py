"""What ends a random chain."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.conformance.drawn import Draw, Drawn
from tests.conformance.kinds import VECTOR

if TYPE_CHECKING:
    from tests.conformance.sides import Headrace

__all__ = ["FINALS"]


def _reduce(rng: random.Random, kind: Any) -> Drawn:
    return Drawn(
        "reduce(sum)", lambda side, ds: ds.reduce(side.int64(0), lambda s, e: s + side.total(e)), None, is_last=True
    )


def _single(rng: random.Random, kind: Any) -> Drawn:
    return Drawn("get_single_element()", lambda side, ds: ds.get_single_element(), None, is_last=True)


def _cardinality(rng: random.Random, kind: Any) -> Drawn:
    return Drawn("cardinality()", lambda side, ds: side.int64(ds.cardinality()), None, is_last=True)


def _ragged(rng: random.Random, kind: Any) -> Drawn:
    size, drop = rng.choice([1, 2, 3]), rng.random() < 0.4

    def apply(side: Headrace, ds: Any) -> Any:
        rows = ds.map(lambda *e: side.numbers_below(side.total(*e) % 4))
        return rows.ragged_batch(size, drop_remainder=drop)

    return Drawn(f"ragged_batch({size}, {drop})", apply, VECTOR)


def _at(rng: random.Random, kind: Any) -> Drawn:
    index = rng.choice([0, 0, 1, 2, 5, 40])
    return Drawn(f"at({index})", lambda side, ds: side.at(ds, index), None, is_last=True)


def _spec(rng: random.Random, kind: Any) -> Drawn:
    return Drawn("element_spec()", lambda side, ds: side.spec(ds.element_spec), None, is_last=True)


FINALS: dict[str, Draw] = {
    "reduce": _reduce,
    "get_single_element": _single,
    "cardinality": _cardinality,
    "ragged_batch": _ragged,
    "at": _at,
    "element_spec": _spec,
}
