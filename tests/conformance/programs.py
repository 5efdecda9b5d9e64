"""Runs the small programs of docs/conformance.md, with TensorFlow's names or with headrace's.

A name that a program does not define is looked up where its side keeps it: ``Dataset`` is ``tf.data.Dataset`` or
``headrace.Dataset``. Beside them a program has:

- ``np``, ``folder`` (an empty folder, a ``Path``), ``tf`` or ``hr``;
- ``show(…)``: prints a dataset's elements, errors in their places, or any value, alike on both sides;
- ``attempt(call)``: shows what a call returns or raises, or that it never ends.

An error that leaves a program is printed as ``raises`` and its name.
"""

from __future__ import annotations

import ast
import builtins
import concurrent.futures
import dataclasses
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

__all__ = ["Side", "headrace_side", "printed", "tensorflow_side"]

# Elements and errors that are shown of a dataset: some fail for ever.
_SHOWN = 12
# What ends at all has ended by then, on a loaded machine as well.
PATIENCE_S = 60.0


@dataclasses.dataclass(frozen=True)
class Side:
    """A library, as programs see it.

    Attributes:
        name: as in the page.
        prefix: the name of its module in a program.
        homes: where its names are looked up, in this order.
        hangs_after_s: where a call is said to hang, so long is it waited for.
    """

    name: str
    prefix: str
    homes: tuple[Any, ...]
    hangs_after_s: float

    def names(self, program: str) -> dict[str, Any]:
        """What a program uses of the library."""
        used = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
        found = {self.prefix: self.homes[-1]}
        for name in used - set(dir(builtins)):
            home = next((home for home in self.homes if hasattr(home, name)), None)
            if home is not None:
                found[name] = getattr(home, name)
        return found


def headrace_side() -> Side:
    """headrace, in which nothing hangs."""
    return Side("headrace", "hr", (hr.queue, hr.train, hr.io, hr.errors, hr), hangs_after_s=PATIENCE_S)


def tensorflow_side() -> Side:
    """TensorFlow, which takes seconds to import, and is told to be quiet."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.get_logger().setLevel("CRITICAL")
    homes = (tf.data, tf.queue, tf.compat.v1.train, tf.io, tf.errors, tf.data.experimental, tf)
    return Side("tf.data", "tf", homes, hangs_after_s=2.0)


def printed(side: Side, program: str, folder: Path, *, hangs: bool) -> list[str]:
    """The lines that a program prints on a side; ``hangs`` where some call in it is said never to end."""
    patience_s = side.hangs_after_s if hangs else PATIENCE_S
    lines: list[str] = []

    def say(*values: Any) -> None:
        lines.extend(" ".join(_words(value) for value in values).splitlines() or [""])

    def show(*values: Any) -> None:
        say(*(_elements(value) if _is_dataset(value) else _plain(value) for value in values))

    def attempt(call: Callable[[], Any]) -> None:
        result: concurrent.futures.Future[Any] = concurrent.futures.Future()
        # A daemon: what hangs in TensorFlow does so to the end of the process.
        threading.Thread(target=_settle, args=(result, call), daemon=True).start()
        try:
            show(result.result(timeout=patience_s))
        except concurrent.futures.TimeoutError:
            say("never ends")
        except Exception as error:
            say(f"raises {_kind(error)}")

    names = {"np": np, "folder": folder, "print": say, "show": show, "attempt": attempt}
    excepthook = threading.excepthook
    # What a program's threads raise is told where it arrives, and a warning is no result.
    threading.excepthook = lambda _: None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(program, "program", "exec"), side.names(program) | names)
        except Exception as error:
            say(f"raises {_kind(error)}")
        finally:
            threading.excepthook = excepthook
    return lines


def _settle(result: concurrent.futures.Future[Any], call: Callable[[], Any]) -> None:
    try:
        result.set_result(call())
    except Exception as error:
        result.set_exception(error)


def _is_dataset(value: Any) -> bool:
    # Asked of the class: headrace's element_spec runs the dataset's functions on an element.
    return hasattr(type(value), "element_spec") and hasattr(value, "cardinality")


def _elements(dataset: Any) -> str:
    """A dataset's elements, and the names of errors in their places."""
    iterator = iter(dataset)
    try:
        words = [word for word, _ in zip(_events(iterator), range(_SHOWN + 1), strict=False)]
    finally:
        if hasattr(iterator, "close"):
            iterator.close()
    if len(words) <= _SHOWN:
        return ", ".join(words) or "nothing"
    if len(set(words[-3:])) == 1 and words[-1].endswith("Error"):
        while words[-2:] == [words[-1]] * 2:
            words.pop()
        return ", ".join(words) + " at every further call"
    return ", ".join(words[:_SHOWN]) + ", …"


def _events(iterator: Iterator[Any]) -> Iterator[str]:
    while True:
        try:
            yield _plain(next(iterator))
        except StopIteration:
            return
        except Exception as error:
            yield _kind(error)


def _kind(error: BaseException) -> str:
    return type(error).__name__


def _words(value: Any) -> str:
    """A value as it stands in the page: the same whether it is a tensor, an array or Python's own."""
    if isinstance(value, str):
        return value
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_plain(key)}: {_plain(part)}" for key, part in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_plain, value)) + ("," if len(value) == 1 else "") + ")"
    if _is_dataset(value):
        return "a dataset"
    if hasattr(value, "to_list"):
        return f"ragged {value.to_list()}"
    if hasattr(value, "dtype") and hasattr(value, "shape") and not hasattr(value, "__array__"):
        return _spec(value)
    if hasattr(value, "__array__"):
        return repr(np.asarray(value).tolist())
    return repr(value)


def _spec(spec: Any) -> str:
    """The dtype and the shape of a TensorSpec."""
    name = getattr(spec.dtype, "name", None) or spec.dtype.__name__
    shape = "any shape" if spec.shape is None or getattr(spec.shape, "rank", 0) is None else list(spec.shape)
    return f"{name} {shape}"
