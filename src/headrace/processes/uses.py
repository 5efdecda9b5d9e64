"""What the functions of a plan use at one moment, to be compared with what they use when the plan runs again.

Another process calls a function as it was when it was sent. By the next run what it uses may be something else: a global variable, a function that it calls by
name, a default, what a closure holds, an attribute of a class, an item of a list. So all of that is pickled once more, in short: of code, of large arrays and of
datasets only which ones they are, and the digest is compared.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pickle
import types
import weakref
from collections.abc import Iterator
from typing import Any, Final

from headrace.frozen import frozen
from headrace.function_code import global_names
from headrace.plan.buffering import WithOptions
from headrace.plan.node import Node, nodes_of
from headrace.processes.by_value import pickler_class
from headrace.processes.definitions import is_found_by_name

__all__ = ["LARGE_BYTES", "Uses", "held_by", "uses_of"]

# An array of so many bytes is the same as long as it is the same object: to look at all of them would be a part of an epoch.
LARGE_BYTES: Final = 64 << 10
# What a node has from its user that is no function, and that is not copied when the dataset is made.
_HELD: Final = frozenset({"args", "initial_state", "query"})
_TOLD: Final = (property, types.GetSetDescriptorType)


@frozen
class Uses:
    """What functions use.

    Attributes:
        digest: of all of it.
        codes: those that it names, which are kept: no other has its number meanwhile.
        objects: the large arrays and the datasets that it names; another may have the number of one that is gone.
    """

    digest: bytes
    codes: tuple[types.CodeType, ...]
    objects: tuple[weakref.ref[Any], ...]

    def are_still(self, now: Uses) -> bool:
        """Returns whether functions that used this use it now."""
        return self.digest == now.digest and all(one() is not None for one in self.objects)


def uses_of(plan: Node) -> Uses:
    """Returns what the functions of a plan use.

    Raises:
        Exception: whatever a class says that cannot be pickled.
    """
    written = _Digest()
    pickler = _pickler_class()(written, pickle.HIGHEST_PROTOCOL)
    pickler.codes, pickler.objects = [], []
    pickler.dump([list(held_by(node)) for node in nodes_of(plan)])
    return Uses(written.digest(), tuple(pickler.codes), tuple(pickler.objects))


class _Digest:
    """Takes what is written, and keeps nothing of it."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.digest = self._hash.digest

    def write(self, part: Any) -> None:
        self._hash.update(part)


def held_by(node: Node) -> Iterator[object]:
    """Yields what a node has of its user that may change, and its functions."""
    if isinstance(node, WithOptions):
        yield node.options.worker_init
        return
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if callable(value) or field.name in _HELD:
            yield value


@functools.cache
def _pickler_class() -> Any:
    class Pickler(pickler_class()):  # type: ignore[misc]  # it has no types
        """Names code, large arrays and datasets by their numbers."""

        codes: list[types.CodeType]
        objects: list[weakref.ref[Any]]

        def reducer_override(self, obj: Any) -> Any:
            if type(obj) is types.FunctionType and not is_found_by_name(obj):
                self.codes.append(obj.__code__)
                return _same, (id(obj.__code__),), _used_by(obj)
            if isinstance(obj, Node):
                self.objects.append(weakref.ref(obj))
                return _same, (id(obj),), [list(held_by(node)) for node in nodes_of(obj)]
            if _is_large(obj):
                self.objects.append(weakref.ref(obj))
                return _same, (id(obj), obj.nbytes)
            return super().reducer_override(obj)

    return Pickler


def _same(*_: int) -> None:
    """Stands for what is known by its number; never called, as nobody makes anything of the pickle."""


def _used_by(function: types.FunctionType) -> tuple[Any, ...]:
    """Returns what a call of a function finds, beside what it is called on."""
    known = function.__globals__
    named = {name: known[name] for name in global_names(function.__code__) if name in known}
    return function.__defaults__, function.__kwdefaults__, function.__closure__, named, vars(function)


def _is_large(value: Any) -> bool:
    """Returns whether something is an array that is known by which one it is; other libraries' arrays tell their bytes, too."""
    kind = type(value)
    if not isinstance(getattr(kind, "nbytes", None), _TOLD) or not kind.__weakrefoffset__:
        return False
    nbytes = value.nbytes
    return isinstance(nbytes, int) and nbytes >= LARGE_BYTES
