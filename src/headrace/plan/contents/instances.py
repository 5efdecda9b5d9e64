"""What any other object is: its class, its attributes and slots, and what pickle would keep of what C code holds."""

from __future__ import annotations

import copyreg
import sys
import warnings
import weakref
from typing import Any, Final

import numpy as np

from headrace.plan.contents.arrays import add_tensor
from headrace.plan.contents.digest import ValueDigest, take_in
from headrace.plan.contents.installed import (
    global_name,
    is_installed_class,
    is_installed_module,
    module_of,
    version_of_package,
)
from headrace.plan.contents.state import add_state, has_hidden_contents

__all__: list[str] = []

_REDUCES: Final = ("__reduce__", "__reduce_ex__", "__getstate__")
_OUTSIDE: Final = frozenset({"ctypes", "_ctypes", "multiprocessing", "_thread", "threading", "mmap", "socket", "_io"})


@take_in.register
def _object(value: object, digest: ValueDigest) -> None:
    kind = type(value)
    if any(module_of(base) in ("ctypes", "_ctypes") for base in kind.__mro__):
        _refuse(kind, digest)
    if add_tensor(value, digest):
        pass
    elif is_installed_class(kind) and (name := global_name(value)) is not None:
        digest.word(name, version_of_package(value.__module__))
    elif is_installed_class(kind) and _definer(kind) is not object:
        _add_reduced(value, digest)
    elif has_hidden_contents(kind):
        if not is_installed_class(_definer(kind)):
            _refuse(kind, digest)
        add_state(value, digest)
        _add_reduced(value, digest)
    else:
        add_state(value, digest)


def _definer(kind: type) -> type:
    """Returns the class that says what pickle keeps of its objects."""
    if kind in copyreg.dispatch_table:
        return kind
    return next(base for base in kind.__mro__ if base is object or any(name in vars(base) for name in _REDUCES))


def _refuse(kind: type, digest: ValueDigest) -> None:
    digest.refuse(f"is of type {kind.__module__}.{kind.__qualname__}, which has no fingerprint")


def _add_reduced(value: Any, digest: ValueDigest) -> None:
    kind = type(value)
    reduced: Any = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reduce = copyreg.dispatch_table.get(kind)
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception:  # noqa: BLE001 - whatever it raises, it cannot be seen
        _refuse(kind, digest)
    if module_of(kind).partition(".")[0] in _OUTSIDE and kind.__name__ not in ("BytesIO", "StringIO"):
        _refuse(kind, digest)
    if isinstance(reduced, str):
        _add_global(value, reduced, digest)
        return
    function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    digest.word("reduced")
    digest.items((function, arguments, state), 3)
    for more in (items, pairs):
        digest.add(None if more is None else list(more))


def _add_global(value: Any, name: str, digest: ValueDigest) -> None:
    """Takes in what pickle would look up in its module."""
    kind = type(value)
    module = getattr(value, "__module__", None) or kind.__module__
    if kind.__module__ == "typing":  # a variable of types
        digest.word(repr(value))
    elif is_installed_module(module) and getattr(sys.modules.get(module), name, None) is value:
        digest.word(module, name, version_of_package(module))
    else:
        _refuse(kind, digest)


@take_in.register
def _ufunc(value: np.ufunc, digest: ValueDigest) -> None:
    for module in ("numpy", "scipy.special"):
        if getattr(sys.modules.get(module), value.__name__, None) is value:
            digest.word(module, value.__name__, version_of_package(module))
            return
    digest.refuse(f"is a ufunc ({value.__name__}) that no package has, which has no fingerprint")


@take_in.register
def _reference(value: weakref.ReferenceType, digest: ValueDigest) -> None:  # type: ignore[type-arg]  # it is dispatched by
    if (referent := value()) is None:
        digest.refuse("is a weak reference to an object that is gone, which has no fingerprint")
    digest.add(referent)
