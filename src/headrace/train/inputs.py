"""What an ``input_fn`` returned, as a stream of features and labels that knows where it stands, if it can."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any, Final

from headrace.dataset.dataset import Dataset
from headrace.plan.options import Options

__all__ = ["TrainingInput", "bounded", "features_and_labels"]

_log: Final = logging.getLogger("headrace")


def bounded(made: Any, ram_budget: int | None) -> Any:
    """A dataset within a budget of bytes; anything else as it is."""
    if ram_budget is None or not isinstance(made, Dataset):
        return made
    return made.with_options(Options(ram_budget=ram_budget))


def features_and_labels(element: Any) -> tuple[Any, Any]:
    """A pair is features and labels; anything else is features alone."""
    return element if type(element) is tuple and len(element) == 2 else (element, None)


class TrainingInput:
    """One iterator for a whole training, whatever comes between its steps.

    Args:
        made: what the ``input_fn`` returned.
        state: the place that a checkpoint holds; None where it holds none.
        step: how many steps the job has made: an input that has no state is read and dropped up to there.

    Raises:
        TypeError: it is nothing that can be iterated.
    """

    def __init__(self, made: Any, state: dict[str, Any] | None, step: int) -> None:
        if not isinstance(made, Iterable):
            message = f"input_fn must return a Dataset or anything that can be iterated, not {type(made).__name__}"
            raise TypeError(message)
        self._iterator: Iterator[Any] = iter(made)
        if state is not None:
            self._iterator.load_state_dict(state)  # type: ignore[attr-defined]  # what took the state has it
        elif step:
            _log.warning("the training input has no state: its first %d elements are read again and dropped", step)
            for _ in zip(range(step), self._iterator, strict=False):
                pass

    def next(self) -> tuple[Any, Any]:
        """The next features and labels.

        Raises:
            StopIteration: the input has ended.
        """
        return features_and_labels(next(self._iterator))

    def state(self) -> dict[str, Any] | None:
        """The place of the next element, or None where the input does not know."""
        take = getattr(self._iterator, "state_dict", None)
        return None if take is None else take()

    def close(self) -> None:
        """Ends the input, if it can be ended."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
