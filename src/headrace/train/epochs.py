"""The end of a number of epochs."""

from __future__ import annotations

import itertools

from headrace.errors import InvalidArgumentError, OutOfRangeError
from headrace.train.pulled import Pull, Pulled, pull

__all__ = ["limit_epochs"]


def limit_epochs(tensor: Pulled, num_epochs: int | None = None, name: str | None = None) -> Pull:
    """Returns a callable that gives ``tensor`` ``num_epochs`` times, and then raises OutOfRangeError.

    Args:
        tensor: a value, or a callable or queue that it is pulled from.
        num_epochs: how many times, at least 1; None for no end.
        name: how the error calls it.

    Returns:
        A callable that any number of threads may call.

    Raises:
        InvalidArgumentError: ``num_epochs`` is below 1.

    Example:
        >>> import headrace as hr
        >>> names = hr.train.limit_epochs(["a.csv", "b.csv"], num_epochs=1)
        >>> names()
        ['a.csv', 'b.csv']
        >>> names()
        Traceback (most recent call last):
        headrace.errors.OutOfRangeError: limit_epochs: all 1 epochs are over
    """
    if num_epochs is None:
        return lambda: pull(tensor)
    if num_epochs < 1:
        raise InvalidArgumentError(f"num_epochs must be at least 1, not {num_epochs}")
    counter = itertools.count()  # next() of it is atomic

    def next_epoch() -> object:
        if next(counter) >= num_epochs:
            raise OutOfRangeError(f"{name or 'limit_epochs'}: all {num_epochs} epochs are over")
        return pull(tensor)

    return next_epoch
