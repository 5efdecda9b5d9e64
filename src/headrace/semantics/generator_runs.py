"""The elements that a user's generator yields."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

from headrace.blocks.cursor import State
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.observe.frames import holds, since
from headrace.ownership import FIXED, owned
from headrace.plan.sources import FromGenerator
from headrace.semantics.failures import as_element_error
from headrace.semantics.signed import Signed
from headrace.structure import Element, normalize, normalize_rows

__all__ = ["GeneratorRun", "OwnState"]

_log = logging.getLogger("headrace")


class GeneratorRun:
    """One run of a user's generator, from its start or from a state.

    Shared by both ways of running a plan: it gives one checked element at a time.
    """

    def __init__(self, node: FromGenerator, state: State | None) -> None:
        self._node = node
        self.label = node.label
        self._saved: State = state or {"index": 0}
        self._signed = None if node.signature is None else Signed(node.signature)
        self._iterator: Iterator[Any] | None = None
        self._closed = False
        self.index: int = self._saved["index"]

    @holds(lambda at, _: (at["self"].label, f"element {at['self'].index}"))
    def _begun(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = iter(())  # where the generator raises at once, it has ended
            try:
                self._iterator = self._restored(iter(self._node.generator(*self._node.args)))
            except StopIteration as stop:  # out of the call that makes the iterator, whose end it is not
                raise RuntimeError("the generator raised StopIteration") from stop
        return self._iterator

    def _restored(self, iterator: Any) -> Iterator[Any]:
        saved = self._saved
        if "own" in saved:
            own = saved["own"]
            # A copy, for it may keep it, and change it.
            iterator.load_state_dict(own.value() if isinstance(own, OwnState) else copy.deepcopy(own))
            return _skipped(iterator, saved.get("skip", 0))
        if saved["index"]:
            message = "%s: the generator is run again, and its first %d elements dropped"
            _log.warning(message, self._node.label, saved["index"])
        return _skipped(iterator, saved["index"])

    @holds(lambda at, _: (at["self"].label, f"element {at['self'].index + len(at['raw'])}"))
    @since("_since_s")
    def next_rows(self, limit: int) -> tuple[list[Element], Exception | None]:
        """Up to ``limit`` elements, and the error after them; fewer without an error are the last."""
        _since_s = time.perf_counter()  # for whoever asks what is held up
        raw: list[Any] = []
        kinds: set[type] = set()
        fixed: type | None = None  # the type of the last element that nobody can change
        error: Exception | None = None
        try:
            for element in itertools.islice(self._begun(), limit):  # what came before an error stays
                if type(element) is not fixed:
                    kinds.add(kind := type(element))
                    if kind in FIXED:
                        fixed = kind
                    else:  # the generator may hold it, and fill it again for the next
                        element = owned(element)  # noqa: PLW2901 - it comes in place of what was yielded
                raw.append(element)
        except Exception as raised:  # noqa: BLE001 - a user's generator may raise anything
            error, self._iterator = raised, iter(())
        rows, unfit = self._checked(raw, kinds)
        if unfit is not None:
            self._iterator = _resumed(raw[len(rows) + 1 :], error, self._begun())
            error = unfit
        self.index += len(rows) + (error is not None)
        return rows, error

    def next(self) -> Element:
        """The next element.

        Raises:
            StopIteration: at the end.
            Exception: whatever the generator raises, which ends it.
        """
        rows, error = self.next_rows(1)
        if error is not None:
            raise error
        if not rows:
            raise StopIteration
        return rows[0]

    def _checked(self, raw: list[Any], kinds: set[type]) -> tuple[list[Element], Exception | None]:
        """The elements in the form that they should have, as far as the first that does not fit."""
        if self._signed is not None:
            return self._signed.rows(raw)
        with contextlib.suppress(Exception):  # a class of the user's may raise anything; found one by one below
            return normalize_rows(raw, kinds), None
        rows: list[Element] = []
        try:
            rows.extend(normalize(element) for element in raw)
        except Exception as unfit:  # noqa: BLE001 - as above
            return rows, unfit
        return rows, None

    def own_state(self) -> OwnState | None:
        """The state that the generator's iterator has of its own as it is now, or None."""
        try:
            iterator: Any = self._begun()
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything; it is told at its turn
            self._iterator = iterator = _resumed([], error, iter(()))
        resumable = hasattr(iterator, "state_dict") and hasattr(iterator, "load_state_dict")
        return OwnState(iterator, self.label) if resumable else None

    def state(self) -> State:
        """The position of the next element."""
        if self._iterator is None or self._closed:
            return self._saved
        own = self.own_state()
        return {"index": self.index} if own is None else {"index": self.index, "own": own}

    def close(self) -> None:
        """Ends the generator, so that its ``finally`` runs, and lets go of an iterator, which may hold a file."""
        if not self._closed and self._iterator is not None:
            self._saved = self.state()  # which an iterator that is gone cannot say
            self._closed = True
        closing = getattr(self._iterator, "close", None)
        if closing is not None:
            closing()
        if self._closed:  # only now: Ctrl-C may have cut it short, and it is closed again
            self._iterator = iter(())


def _resumed(rest: list[Any], error: Exception | None, iterator: Iterator[Any]) -> Iterator[Any]:
    """What was read and not given yet, then what comes after it."""
    yield from rest
    if error is not None:
        raise error
    yield from iterator


def _skipped(iterator: Iterator[Any], count: int) -> Iterator[Any]:
    """The iterator without its first elements; where it raises among them it has ended, as it had before."""
    try:
        for _ in range(count):
            next(iterator, None)
    except Exception:  # noqa: BLE001 - a user's generator may raise anything, and has raised it before
        return iter(())
    return iterator


class OwnState:
    """The state that a generator's iterator had: as text, so that nothing that the generator does later changes it.

    It stands in the state of the plan until that is written down for somebody: only then does a failure of it matter.
    """

    __slots__ = ("_error", "_text")

    def __init__(self, iterator: Any, label: str) -> None:
        self._text = ""
        self._error: HeadraceError | None = None
        try:
            own = iterator.state_dict()
        except Exception as error:  # noqa: BLE001 - a user's method may raise anything
            # Only who asks for the state needs it: the run goes on.
            self._error = as_element_error(error, stage=f"{label}: state_dict", origin=None)
            return
        try:
            self._text = json.dumps(own)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"a generator's state_dict() must return what JSON can hold: {error}"
            self._error = InvalidArgumentError(message, stage=label)

    def value(self) -> Any:
        """The state.

        Raises:
            HeadraceError: what went wrong when it was taken.
        """
        if self._error is not None:
            raise self._error.located(stage=None, origin=None) from self._error.__cause__
        return json.loads(self._text)
