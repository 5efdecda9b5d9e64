"""A feed that PyTorch's ``DataLoader`` takes for an iterable dataset, and whose workers share its elements.

``DataLoader(feed, batch_size=None, num_workers=n)`` gives each element once, in the feed's order. It is for a training that
needs a DataLoader: the feed's own threads work ahead in one process, and send nothing from one to another.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch.utils.data

from headrace.errors import FailedPreconditionError
from headrace.feed.feed_iterator import FeedIterator
from headrace.feed.feeding import Feed
from headrace.plan.node import Node
from headrace.semantics.dataloader_workers import Worker, dealt, worker_here

__all__ = ["TorchFeed"]


class TorchFeed(Feed, torch.utils.data.IterableDataset[Any]):  # type: ignore[misc] # mypy does not read PyTorch
    """A dataset as PyTorch's tensors."""

    _made_in: Worker | None = None  # where the waiting iterator was made
    _is_loaded = False  # with a state

    def _plan_here(self) -> Node:
        """Returns the plan; in a worker of a DataLoader of this feed, the worker's part of it."""
        self._made_in = worker_here(self)
        return dealt(self._plan, self._made_in)

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Loads as ``Feed`` does; in a worker, a state of that worker's."""
        super().load_state_dict(state, allow=allow)
        self._is_loaded = True

    def __iter__(self) -> FeedIterator:
        """Returns the next epoch, or what a state that was loaded leaves of one."""
        worker = worker_here(self)
        if self._waiting is not None and worker != self._made_in:
            if self._is_loaded:
                raise FailedPreconditionError(
                    "the state of this feed was loaded outside the DataLoader's workers, and is not theirs to share: load that "
                    "of a StatefulDataLoader (torchdata) into one, or iterate the feed itself, which needs no workers",
                    stage="to_torch",
                )
            self._waiting = None
        self._is_loaded = False
        return super().__iter__()
