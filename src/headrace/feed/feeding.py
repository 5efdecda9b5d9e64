"""A dataset's elements made a framework's, for a training loop.

A ``Transfer`` knows the framework: ``begin`` starts to bring an element to the device, ``finish`` hands it over in the
loop's own thread. Where bringing takes time, a thread of the feed begins the next elements while the loop computes, up
to ``buffer_size`` of them; where it takes none, the loop's thread does it all (``feed_iterator``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Never

from headrace.feed.feed_iterator import FeedIterator, FeedPosition
from headrace.feed.transfer import Transfer
from headrace.plan.buffering import WithOptions
from headrace.plan.node import INFINITE_CARDINALITY, Node
from headrace.plan.options import Options
from headrace.semantics.dataloader_workers import warn_of_whole_copies

__all__ = ["Feed"]


class Feed:
    """A dataset as a framework's arrays; each ``iter`` is a new epoch.

    It has a state by the names that PyTorch's ``StatefulDataLoader`` has, where trainers look for one.

    Args:
        plan: the dataset's plan.
        transfer: makes the transfer of one epoch.
        buffer_size: how many elements may be ready on the device.
    """

    def __init__(self, plan: Node, transfer: Callable[[], Transfer], buffer_size: int) -> None:
        self._plan = plan
        self._transfer = transfer
        self._buffer_size = buffer_size
        self._position: FeedPosition | None = None
        self._waiting: FeedIterator | None = None  # what the next iter gives

    def __iter__(self) -> FeedIterator:
        warn_of_whole_copies(self, self._plan)
        iterator = self._new() if self._waiting is None else self._waiting
        self._waiting, self._position = None, iterator.position
        return iterator

    def _new(self) -> FeedIterator:
        return FeedIterator(self._plan_here(), self._new_transfer(), self._buffer_size)

    def _new_transfer(self) -> Any:
        return self._transfer()

    def _plan_here(self) -> Node:
        return self._plan

    def __getstate__(self) -> dict[str, Any]:
        waiting = None if self._waiting is None else self.state_dict()
        return vars(self) | {"_position": None, "_waiting": waiting}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"_waiting": None})
        if state["_waiting"] is not None:
            Feed.load_state_dict(self, state["_waiting"])

    @property
    def dataset(self) -> Never:
        """Missing on purpose: some libraries use that of a DataLoader to skip what was seen before."""
        raise AttributeError(
            "a feed is no DataLoader, and has no 'dataset'; to go on where it stood, keep its state_dict(), and give it to "
            "load_state_dict: then no element is read again to be skipped (Accelerate: register_for_checkpointing(feed))"
        )

    def state_dict(self) -> dict[str, Any]:
        """Returns where the iterator stands that was made last, as plain data; the start of an epoch, where none was made.

        Example:
            >>> import headrace as hr
            >>> feed = hr.Dataset.range(3).to_torch()
            >>> first = next(iter(feed))
            >>> again = hr.Dataset.range(3).to_torch()
            >>> again.load_state_dict(feed.state_dict())
            >>> [int(x) for x in again], [int(x) for x in again]
            ([1, 2], [0, 1, 2])
        """
        if self._position is None:
            self._waiting = self._new()
            self._position = self._waiting.position
        return {"iterator": self._position.bookmark(), "ended": self._position.ended}

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Makes the next ``iter`` continue where the feed stood; where an epoch had ended, it is the next epoch.

        Args:
            state: what ``state_dict`` of a feed returned, or that of an iterator; of this dataset, fed to any framework.
            allow: what of the plan may have changed on purpose, as in ``load_state_dict`` of a dataset's iterator.

        Raises:
            InvalidArgumentError: the state is of another plan, of another version, or damaged. The feed is then as it was.
        """
        whole = "iterator" in (state or ()) and isinstance(state.get("ended"), bool)
        iterator = self._new()
        iterator.load_state_dict(state["iterator"] if whole else state, allow=allow)
        iterator.position.ended = whole and state["ended"]
        self._position = iterator.position
        self._waiting = None if iterator.position.ended else iterator

    def with_options(self, options: Options) -> Feed:
        """Returns the same feed of the same elements, run as the options say: see ``Dataset.with_options``."""
        return type(self)(WithOptions(input=self._plan, options=options), self._transfer, self._buffer_size)

    def cardinality(self) -> int:
        """Returns how many elements an epoch has; ``INFINITE_CARDINALITY`` or ``UNKNOWN_CARDINALITY`` otherwise."""
        return self._plan.cardinality()

    def __len__(self) -> int:
        count = self._plan.cardinality()
        if count < 0:
            raise TypeError(f"the number of elements is {'infinite' if count == INFINITE_CARDINALITY else 'unknown'}")
        return count

    def __bool__(self) -> bool:
        return True  # not len(): it is true even when it is empty or endless
