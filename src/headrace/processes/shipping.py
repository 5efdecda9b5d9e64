"""A plan on its way to other processes: pickled once, its arrays in memory that all of them share."""

from __future__ import annotations

import os
import pickle
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from headrace.errors import HeadraceError, InvalidArgumentError, said
from headrace.frozen import frozen
from headrace.plan.buffering import WithOptions
from headrace.plan.node import Node, function_label, nodes_of
from headrace.processes.by_value import keeping_large, pickled_by_value
from headrace.processes.segment import Segment

__all__ = ["Shipment", "made_there", "shipped", "to_ship", "unshipped"]

_ALIGNED: Final = 64
# Below, an array travels with the plan.
_SMALL_BYTES: Final = 64 << 10


@frozen
class Shipment:
    """A plan as others can read it.

    Attributes:
        body: the plan, pickled.
        parts: for each of its large arrays where it lies in the shared memory, how many bytes it has, and whether it is read-only.
        memory: what they lie in; None without any.
        descriptor: of that memory.
    """

    body: bytes
    parts: tuple[tuple[int, int, bool], ...]
    memory: Segment | None
    descriptor: int | None

    def __del__(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)


def shipped(plan: Node) -> Shipment:
    """Pickles a plan, with its functions by value where no other process could import them.

    Raises:
        InvalidArgumentError: something in it cannot be pickled; the operation and the variable are named.
        ResourceExhaustedError: there is not enough shared memory for its arrays.
    """
    found: list[memoryview] = []
    try:
        body = pickled_by_value(plan, keeping_large(found, _SMALL_BYTES))
    except Exception as error:
        raise _named(nodes_of(plan), error) from error
    starts, end = [], 0
    for raw in found:
        starts.append(end)
        end += -(-raw.nbytes // _ALIGNED) * _ALIGNED
    if not found:
        return Shipment(body, (), None, None)
    memory, descriptor = Segment.made(end)
    for start, raw in zip(starts, found, strict=True):
        memory.bytes[start : start + raw.nbytes] = np.frombuffer(raw, np.uint8)
    parts = tuple((start, raw.nbytes, raw.readonly) for start, raw in zip(starts, found, strict=True))
    return Shipment(body, parts, memory, descriptor)


def unshipped(body: bytes, parts: tuple[tuple[int, int, bool], ...], memory: Segment | None) -> Node:
    """Returns the plan again; its large arrays are views of the memory, which has to be this process's own where it writes to it."""
    buffers = []
    for start, nbytes, is_locked in parts:
        assert memory is not None  # where there are parts
        array = memory.bytes[start : start + nbytes]
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
        return pickle.loads(body, buffers=buffers)
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
    try:
        return pickled_by_value(value)
    except Exception as error:
        raise _named(nodes, error) from error


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
