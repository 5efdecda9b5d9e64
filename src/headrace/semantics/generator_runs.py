"""How a user's generator is started and restored, and the state that its iterator may have of its own."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

from headrace.blocks.cursor import State
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.log import LOG
from headrace.observe.frames import holds
from headrace.plan.sources import FromGenerator
from headrace.semantics.failures import as_element_error, input_changed

__all__ = ["OwnState", "own_state_of", "started_generator"]


@holds(lambda at, _: (at["node"].label, f"element {at['saved']['index']}"))
def started_generator(node: FromGenerator, saved: State) -> Iterator[Any]:
    """Starts the user's generator, and restores it to a state.

    Raises:
        DataLossError: it has fewer elements than were read of it.
        Exception: whatever the user's function raises.
    """
    try:
        iterator: Any = iter(node.generator(*node.args))
        if "own" in saved:
            own = saved["own"]
            # A copy, for it may keep it, and change it.
            iterator.load_state_dict(own.value() if isinstance(own, OwnState) else copy.deepcopy(own))
            return _skipped(node.label, iterator, saved.get("skip", 0))
        if not saved["index"]:
            return iterator  # type: ignore[no-any-return]  # what `iter` returns
        message = "%s: the generator is run again, and its first %d elements dropped"
        LOG.warning(message, node.label, saved["index"])
        return _skipped(node.label, iterator, saved["index"])
    except StopIteration as stop:  # out of the call that makes the iterator, whose end it is not
        raise RuntimeError("the generator raised StopIteration") from stop


def _skipped(label: str, iterator: Iterator[Any], count: int) -> Iterator[Any]:
    """Skips an iterator's first elements; if it raises among them it has ended, as it had before.

    Raises:
        DataLossError: it has fewer.
    """
    try:
        found = sum(1 for _ in itertools.islice(iterator, count))
    except Exception:  # noqa: BLE001 - a user's generator may raise anything, and has raised it before
        return iter(())
    if found < count:
        raise input_changed(label)
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
            # Only a caller that asks for the state needs it: the run goes on.
            self._error = as_element_error(error, stage=f"{label}: state_dict", origin=None)
            return
        import json

        try:
            self._text = json.dumps(own)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"a generator's state_dict() must return what JSON can hold: {error}"
            self._error = InvalidArgumentError(message, stage=label)

    def value(self) -> Any:
        """Returns the state.

        Raises:
            HeadraceError: what went wrong when it was taken.
        """
        if self._error is not None:
            raise self._error.located(stage=None, origin=None) from self._error.__cause__
        import json

        return json.loads(self._text)


def own_state_of(iterator: Any, label: str) -> OwnState | None:
    """Returns the state that a generator's iterator has of its own as it is now, or None."""
    resumable = hasattr(iterator, "state_dict") and hasattr(iterator, "load_state_dict")
    return OwnState(iterator, label) if resumable else None
