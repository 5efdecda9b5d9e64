"""What the iterators of headrace have in common for those who loop over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from headrace.coordination.closing import Closing
from headrace.errors import FailedPreconditionError, OutOfRangeError

__all__ = ["ElementIterator"]


class ElementIterator(Iterator[Any], Closing):
    """Delivers elements until it ends; a ``with`` block closes it."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: save its state_dict(), and give it to load_state_dict() of another "
            "iterator of the dataset"
        )

    _is_asked = False  # whether a thread is taking an element, other than one that is at hand

    def _refuse_others(self) -> None:
        """Refuses a thread that asks while another does.

        Raises:
            FailedPreconditionError: another does.
        """
        if self._is_asked:
            message = "another thread is taking an element from this iterator: one thread at a time may, as with a lock around next()"
            raise FailedPreconditionError(message)

    def get_next(self) -> Any:
        """Returns the next element.

        Raises:
            OutOfRangeError: the epoch has ended.
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError("the dataset has no more elements") from None
