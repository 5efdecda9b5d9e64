"""What Python's own values and containers are: what they hold, and what a subclass adds."""

from __future__ import annotations

import collections
import enum
import functools
import logging
import sys
import types
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from headrace.plan.contents.digest import ValueDigest, take_in
from headrace.plan.contents.state import add_state

__all__: list[str] = []


@take_in.register
def _text(value: str, digest: ValueDigest) -> None:
    if isinstance(value, enum.Enum):
        _member(value, digest)
        return
    digest.add(str.__add__(value, ""))
    add_state(value, digest)


@take_in.register
def _bytes(value: bytes, digest: ValueDigest) -> None:
    if isinstance(value, enum.Enum):
        _member(value, digest)
        return
    digest.add(bytes.__add__(value, b""))
    add_state(value, digest)


@take_in.register(int)
@take_in.register(float)
@take_in.register(complex)
def _number(value: complex, digest: ValueDigest) -> None:
    if isinstance(value, enum.Enum):
        _member(value, digest)
        return
    if isinstance(value, int):
        digest.word(int.__format__(value, "x"))
    elif isinstance(value, float):
        digest.word(float.__repr__(value))
    else:
        digest.word(complex.__repr__(value))
    add_state(value, digest)


@take_in.register(enum.Enum)
def _member(value: enum.Enum, digest: ValueDigest) -> None:
    digest.word(value._name_)
    digest.add(value._value_)
    add_state(value, digest, without=("_value_", "_name_", "__objclass__", "_sort_order_"))


@take_in.register
def _bytearray(value: bytearray, digest: ValueDigest) -> None:
    digest.memory(bytes(value))
    add_state(value, digest)


@take_in.register
def _range(value: range, digest: ValueDigest) -> None:
    digest.word(repr(value))


@take_in.register
def _slice(value: slice, digest: ValueDigest) -> None:
    digest.items((value.start, value.stop, value.step), 3)


@take_in.register
def _partial(value: functools.partial, digest: ValueDigest) -> None:  # type: ignore[type-arg]  # it is dispatched by
    add_state(value, digest)  # pickle tells whether anybody has looked at its attributes


@take_in.register
def _logger(value: logging.Logger, digest: ValueDigest) -> None:
    digest.word(value.name)


@take_in.register
def _path(value: PurePath, digest: ValueDigest) -> None:
    digest.word(str(value))
    digest.file(str(value))


@take_in.register(dict)
@take_in.register(types.MappingProxyType)
def _mapping(value: Mapping[Any, Any], digest: ValueDigest) -> None:
    if value is sys.modules:
        digest.refuse("is all that happens to be imported, so there is no fingerprint")
    if isinstance(value, collections.OrderedDict):
        items = list(collections.OrderedDict.items(value))
    else:
        items = list(dict.items(value)) if isinstance(value, dict) else list(value.items())
    digest.word(len(items))
    if len(items) <= 100 and all(type(key) is str for key, _ in items):
        for key, part in items:
            digest.named(f"[{key!r}]", part)
            digest.file(key)
    else:
        digest.items((part for item in items for part in item), 2 * len(items))
    add_state(value, digest)


@take_in.register
def _set(value: set, digest: ValueDigest) -> None:  # type: ignore[type-arg]  # it is dispatched by
    digest.unordered(set.__iter__(value))
    add_state(value, digest)


@take_in.register
def _frozenset(value: frozenset, digest: ValueDigest) -> None:  # type: ignore[type-arg]  # it is dispatched by
    digest.unordered(frozenset.__iter__(value))
    add_state(value, digest)


@take_in.register
def _list(value: list, digest: ValueDigest) -> None:  # type: ignore[type-arg]  # it is dispatched by
    digest.items(list.__iter__(value), list.__len__(value))
    add_state(value, digest)


@take_in.register
def _tuple(value: tuple, digest: ValueDigest) -> None:  # type: ignore[type-arg]  # it is dispatched by
    digest.items(tuple.__iter__(value), tuple.__len__(value))
    add_state(value, digest)


@take_in.register
def _dtype(value: np.dtype, digest: ValueDigest) -> None:
    digest.word(repr(value), value.str, value.isalignedstruct)
    digest.add(dict(value.metadata or {}))


@take_in.register
def _alias(value: types.GenericAlias, digest: ValueDigest) -> None:
    digest.items((value.__origin__, value.__args__), 2)


@take_in.register
def _union(value: types.UnionType, digest: ValueDigest) -> None:
    digest.add(value.__args__)
