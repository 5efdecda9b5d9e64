"""A plan on its way to other processes: pickled once, its arrays in memory that all of them share."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.errors import HeadraceError, InvalidArgumentError, said
from headrace.frozen import frozen
from headrace.plan.buffering import WithOptions
from headrace.plan.node import Node, function_label, nodes_of
from headrace.processes.by_value import keeping_large, pickled_by_value
from headrace.processes.module_values import values_in_modules
from headrace.processes.modules_compared import Compared
from headrace.processes.segment import Segment
from headrace.processes.uses import LARGE_BYTES, held_by
from headrace.processes.warning_filters import filters_kept

__all__ = ["Memory", "Part", "Shipment", "made_there", "shipped", "to_ship", "unshipped"]

_ALIGNED: Final = 64
# Of an array: the memory, its first byte there, how many it has, and whether nobody may write to it.
Part = tuple[int, int, int, bool]


class Memory:
    """Shared memory in which arrays are sent, and a descriptor of it."""

    def __init__(self, nbytes: int) -> None:
        self.segment, self.descriptor = Segment.made(nbytes)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):  # or there was none to be had
            os.close(self.descriptor)


class _Place(NamedTuple):
    """Where an array lies that was sent.

    Attributes:
        memory: what it lies in.
        start: its first byte there.
        nbytes: how many it has.
        array: it; None of what is no array of NumPy's.
    """

    memory: Memory
    start: int
    nbytes: int
    array: weakref.ref[np.ndarray] | None


@frozen
class Shipment:
    """A plan as others can read it.

    Attributes:
        body: the plan, pickled.
        parts: for each of its large arrays the index of the memory, where it lies there, how many bytes it has, and whether it is read-only.
        memories: what they lie in.
        places: of the arrays, by their ids.
    """

    body: bytes
    parts: tuple[Part, ...]
    memories: tuple[Memory, ...]
    places: Mapping[int, _Place]


def shipped(plan: Node, before: Shipment | None = None) -> Shipment:
    """Pickles a plan, with its functions by value where no other process could import them.

    Args:
        plan: what is pickled.
        before: as it was sent before: large arrays of it that are still in the plan are not copied again.

    Raises:
        InvalidArgumentError: something in it cannot be pickled; the operation and the variable are named.
        ResourceExhaustedError: there is not enough shared memory for its arrays.
    """
    found: list[memoryview] = []
    try:
        body = pickled_by_value((plan, None), keeping_large(found, LARGE_BYTES))
    except Exception as error:
        raise _named(nodes_of(plan), error) from error
    known = {} if before is None else before.places
    places = [_known_place(raw, known) for raw in found]
    fresh = [raw for raw, place in zip(found, places, strict=True) if place is None]
    copies = iter(_copied(fresh))
    placed = [next(copies) if place is None else place for place in places]
    memories = list({id(place.memory): place.memory for place in placed}.values())
    parts = [
        (memories.index(place.memory), place.start, raw.nbytes, raw.readonly)
        for place, raw in zip(placed, found, strict=True)
    ]
    arrays = {id(raw.obj): place for raw, place in zip(found, placed, strict=True)}
    return Shipment(body, tuple(parts), tuple(memories), arrays)


def _known_place(raw: memoryview, known: Mapping[int, _Place]) -> _Place | None:
    """Returns where an array lies that was sent before."""
    array: object = raw.obj
    place = known.get(id(array))
    if place is None or place.array is None or place.array() is not array or place.nbytes != raw.nbytes:
        return None
    return place


def _copied(found: Sequence[memoryview]) -> list[_Place]:
    """Puts arrays into new memory."""
    if not found:
        return []
    sizes = (-(-raw.nbytes // _ALIGNED) * _ALIGNED for raw in found)
    *starts, end = itertools.accumulate(sizes, initial=0)
    memory = Memory(end)
    for start, raw in zip(starts, found, strict=True):
        memory.segment.bytes[start : start + raw.nbytes] = np.frombuffer(raw, np.uint8)
    objects: list[object] = [raw.obj for raw in found]
    refs = [weakref.ref(one) if isinstance(one, np.ndarray) else None for one in objects]
    return [_Place(memory, start, raw.nbytes, ref) for start, raw, ref in zip(starts, found, refs, strict=True)]


def unshipped(body: bytes, parts: Iterable[Part], memories: Sequence[Segment]) -> Node:
    """Returns the plan again; its large arrays are views of the memory, which has to be this process's own where it writes to it."""
    buffers = []
    for index, start, nbytes, is_locked in parts:
        array = memories[index].bytes[start : start + nbytes]
        if is_locked:
            array.flags.writeable = False
        buffers.append(array)
    plan: Node = made_there(body, buffers)
    return plan


def made_there(body: bytes, buffers: Iterable[Any] = ()) -> Any:
    """Returns what was sent to this process.

    Raises:
        InvalidArgumentError: it is of a module that this process cannot import, or a class cannot make it of its pickle.
    """
    try:
        with filters_kept():
            value, _ = pickle.loads(body, buffers=buffers)
            return value
    except (ImportError, AttributeError) as error:
        raise InvalidArgumentError(
            f"what the pipeline uses cannot be imported in another process: {said(error)}. Have it in a file on sys.path, or in "
            "the program itself, which is sent; or leave out executor=, which runs the pipeline in threads"
        ) from error
    except HeadraceError:
        raise
    except Exception as error:
        raise InvalidArgumentError(
            f"what the pipeline uses can be pickled, and cannot be made again in another process: {type(error).__name__}: {said(error)}. "
            "Mend the __reduce__ or __setstate__ of its class, or leave out executor=, which runs the pipeline in threads"
        ) from error


def to_ship(value: Any, nodes: Iterable[Node]) -> bytes:
    """Pickles something that is made of operations, whose functions are named where they cannot be.

    Raises:
        InvalidArgumentError: something in it cannot be pickled; the operation and the variable are named.
    """
    nodes = list(nodes)
    try:
        return pickled_by_value(_with_settings(value, nodes))
    except Exception as error:
        raise _named(nodes, error) from error


def _with_settings(value: Any, nodes: Iterable[Node]) -> tuple[Any, Compared | None]:
    """Returns a value and, to be made there behind it, what functions find in modules here, as far as nothing may set it where they are called."""
    functions: list[object] = []
    prepare: list[object] = []
    with contextlib.suppress(Exception):  # classes of the user's may do anything when they are asked
        for node in nodes:
            (prepare if isinstance(node, WithOptions) else functions).extend(held_by(node))
        if settings := values_in_modules(functions, prepared_by=prepare):
            return value, Compared(pickled_by_value(settings))
    return value, None


# --- what cannot be sent -----------------------------------------------------------------------------------------------


def _named(nodes: Iterable[Node], error: Exception) -> InvalidArgumentError:
    """Returns the error that names the operation, and the variable of its function."""
    for node in nodes:
        init = node.options.worker_init if isinstance(node, WithOptions) else None
        for function in node.functions() if init is None else (init,):
            if _fails(function):
                name, value = _culprit(function)
                return InvalidArgumentError(
                    f"its {name}, of type {type(value).__name__}, cannot be sent to another process: {_why_not(value, error)}, or "
                    "leave out executor=, which runs the pipeline in threads",
                    stage=node.label if init is None else function_label("worker_init", init),
                )
    return InvalidArgumentError(
        f"the dataset cannot be sent to another process: {type(error).__name__}: {said(error)}. "
        "Leave out executor=, which runs the pipeline in threads"
    )


def _why_not(value: Any, error: Exception) -> str:
    """Says why a value cannot be sent, and what to do."""
    if type(value).__module__.partition(".")[0] == "multiprocessing":
        return "processes share it only with those that multiprocessing starts. Have what they share in a file or behind a socket"
    return f"{said(error)}. Make it inside the function, when it is first called"


def _fails(value: Any) -> bool:
    try:
        pickled_by_value(value)
    except Exception:  # noqa: BLE001 - as above
        return True
    return False


def _culprit(function: Callable[..., Any], depth: int = 0) -> tuple[str, Any]:
    """Returns what of a function cannot be pickled: its name, and what it is."""
    for name, value in _variables_of(function):
        if _fails(value):
            if isinstance(value, types.FunctionType | types.MethodType) and depth < 3:
                inner, found = _culprit(value, depth + 1)
                return (f"{name}, whose {inner}", found) if found is not value else (name, value)
            return name, value
    return "function", function


def _variables_of(function: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(function, types.MethodType):
        holder = function.__self__
        yield from (
            ((f"attribute {name!r}", value) for name, value in vars(holder).items())
            if hasattr(holder, "__dict__")
            else ()
        )
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        held = getattr(function, "__dict__", {})
        yield from ((f"attribute {name!r}", value) for name, value in held.items())
        for name in ("func", "args", "keywords"):  # of a partial
            if hasattr(function, name):
                yield f"argument {name!r}", getattr(function, name)
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"variable {name!r}", cell.cell_contents
        except ValueError:  # it was not set yet
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield f"global variable {name!r}", function.__globals__[name]
    for index, value in enumerate(function.__defaults__ or ()):
        yield f"default {index}", value
