"""What an ``input_fn`` returned, as a stream of features and labels that knows where it stands, if it can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from headrace.dataset.dataset import Dataset
from headrace.errors import FailedPreconditionError
from headrace.feed.feed_iterator import FeedIterator
from headrace.feed.feeding import Feed
from headrace.iterator import DatasetIterator
from headrace.log import LOG
from headrace.plan.options import Options
from headrace.train.random_numbers import RandomState, drawing_from, put_back, stream_of, taken, undisturbed

__all__ = ["TrainingInput", "bounded", "features_and_labels"]

_NOTHING: Final = object()
# Iterators that draw from no generator of the process; to keep those of others apart takes a quarter of a millisecond an element.
_DRAW_NOTHING: Final[tuple[type, ...]] = (DatasetIterator, FeedIterator, type(iter([])), type(iter(())))


def bounded(made: Any, ram_budget: int | None) -> Any:
    """Returns a dataset or a feed within a budget of bytes; anything else as it is, which is said."""
    if ram_budget is None:
        return made
    if isinstance(made, Dataset | Feed):
        return made.with_options(Options(ram_budget=ram_budget))
    LOG.warning("ram_budget does not reach the input: a %s is no Dataset and no feed", type(made).__name__)
    return made


def features_and_labels(element: Any) -> tuple[Any, Any]:
    """Returns a pair is features and labels; anything else is features alone."""
    if len(element) == 2 if type(element) is tuple else _is_pair_of_a_loader(element):
        return element[0], element[1]
    return element, None


def _is_pair_of_a_loader(element: Any) -> bool:
    """Returns whether it is what PyTorch's DataLoader makes of pairs: a list of two parts, and not a list of two numbers or texts."""
    return (
        type(element) is list
        and len(element) == 2
        and any(hasattr(part, "shape") or isinstance(part, Mapping) for part in element)
    )


class _Failed:
    """What stands for an element that was read ahead and failed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class TrainingInput:
    """One iterator for a whole training, whatever comes between its steps.

    Random numbers that an input draws are its own, if it is none of ours: it draws the same ones whatever training draws,
    so that it can be read again.

    Args:
        made: what the ``input_fn`` returned.
        place: what ``place()`` said at a checkpoint; None at the start.
        step: how many steps the job has made: an input that has no state is read and dropped up to there.

    Raises:
        TypeError: it is nothing that can be iterated.
        FailedPreconditionError: it is not what the checkpoint's place belongs to.
    """

    def __init__(self, made: Any, place: Mapping[str, Any] | None, step: int) -> None:
        if not isinstance(made, Iterable):
            message = f"input_fn must return a Dataset or anything that can be iterated, not {type(made).__name__}"
            raise TypeError(message)
        self._iterator: Iterator[Any] = iter(made)
        draws = not isinstance(self._iterator, _DRAW_NOTHING)
        self._stream: RandomState | None = stream_of(taken(), "input") if draws else None
        self._ahead: Any = _NOTHING
        self._place_before: Any = None
        self._has_ended = False
        if place is not None:
            self._go_to(place, step, type(made).__name__)

    def _go_to(self, place: Mapping[str, Any], step: int, name: str) -> None:
        if place["state"] is None:
            if step:
                self._drop(step)
            return
        load = getattr(self._iterator, "load_state_dict", None)
        if load is None:
            raise FailedPreconditionError(
                f"the checkpoint holds the place of an input that has a state, as a Dataset has; the input_fn now returns a {name}, "
                "which has none: return what it returned before, or name another model_dir"
            )
        with drawing_from(self._stream) if self._stream is not None else undisturbed():
            load(place["state"])
        if self._stream is not None and place["random"] is not None:
            self._stream = place["random"]

    def _drop(self, step: int) -> None:
        LOG.warning(
            "the checkpoint has no state of the training input: its first %d elements are read again and dropped", step
        )
        for number in range(step):
            if self._read() is _NOTHING:
                raise FailedPreconditionError(
                    f"the job has made {step} steps, and its input now ends after {number} elements: it is not the input that it was"
                )

    def next(self) -> tuple[Any, Any]:
        """Returns the next features and labels.

        Raises:
            StopIteration: the input has ended.
        """
        element, self._ahead = (self._read() if self._ahead is _NOTHING else self._ahead), _NOTHING
        if element is _NOTHING:
            raise StopIteration
        if type(element) is _Failed:
            raise element.error
        return features_and_labels(element)

    def has_ended(self) -> bool:
        """Returns whether there is no next element; it is read for that, and kept."""
        if self._ahead is _NOTHING and not self._has_ended:
            self._place_before = self.place()
            try:
                self._ahead = self._read()
            except Exception as error:  # noqa: BLE001 - it belongs to the step that takes the element
                self._ahead = _Failed(error)
        return self._has_ended

    def _read(self) -> Any:
        if self._has_ended:
            return _NOTHING
        if self._stream is None:
            element = next(self._iterator, _NOTHING)
        else:
            with undisturbed():
                put_back(self._stream)
                try:
                    element = next(self._iterator, _NOTHING)
                finally:
                    self._stream = taken()
        self._has_ended = element is _NOTHING
        return element

    def place(self) -> dict[str, Any]:
        """Returns the place of the next element, and what it draws from; the state is None where the input does not know."""
        if self._ahead is not _NOTHING:
            place: dict[str, Any] = self._place_before
            return place
        take = getattr(self._iterator, "state_dict", None)
        return {"state": None if take is None else take(), "random": self._stream}

    def close(self) -> None:
        """Ends the input, if it can be ended."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
