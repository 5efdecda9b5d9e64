"""Why steps wait for a dataset, found by running it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headrace.arguments import check_function
from headrace.dataset.mixin import DatasetMixin
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace.profiling import Profile

__all__ = ["Profiling"]


class Profiling(DatasetMixin):
    """Why steps wait for a dataset, found by running it."""

    __slots__ = ()

    def profile(
        self,
        step: Callable[..., object] | None = None,
        *,
        seconds: float = 10.0,
        apply: bool = False,
        feed: Callable[[Any], Iterable[Any]] | None = None,
        group: Any = None,
    ) -> Profile:
        """Runs the pipeline for some seconds, and says why its steps wait and what to change.

        With a step it runs three times: the step on what the pipeline gives, the pipeline alone, and the step alone on elements that are
        there already. More calls at once, in threads or in processes, are tried before they are advised. Epochs that end are begun again; none of
        them counts as one. What functions do to files and the like, they do.

        Args:
            step: what is done with an element, such as a training step: called with it, or with the components of a tuple where it takes
                as many; None looks at the pipeline alone. It counts for as long as the call takes, so work that it begins on a device must be over then,
                unless it is so much that the next step waits for it.
            seconds: how long all of it takes, about; what is tried takes up to half as long again.
            apply: whether to try what is advised, for as long again and more: what is measured to be faster is kept in the profile's
                ``dataset``.
            feed: brings the elements to the step's device, given a dataset: ``lambda ds: ds.to_torch("cuda")``. Its copies are measured,
                and its epochs count.
            group: the ranks that take their steps together, as in ``distributed_batch``, where the plan does not say so itself: each must call
                this, and then they take as many steps as each other, and all say which of them keeps the others waiting.

        Returns:
            The verdict, advice with what each piece is expected to bring, and the figures of each stage; printed, they can be read.

        Raises:
            InvalidArgumentError: the dataset has no element, ``seconds`` is not positive, the step cannot be called with an element, or
                ``apply`` is asked for with ``group``, as each rank would try something else.
            FailedPreconditionError: the group has fewer processes than there are ranks.
            TypeError: ``seconds`` is no number.

        Example:
            >>> import headrace as hr
            >>> profile = hr.Dataset.range(1000).batch(8).profile(seconds=0.1)
            >>> profile.verdict.stage in (stage.name for stage in profile.stats.stages)
            True
        """
        if step is not None:
            check_function(step, stage="profile")
        if not isinstance(seconds, (int, float)):
            raise TypeError(f"profile: seconds must be a number, not {type(seconds).__name__}")
        if not 0 < seconds < math.inf:
            raise InvalidArgumentError(f"seconds must be positive, not {seconds}", stage="profile")
        if feed is not None:
            check_function(feed, stage="profile")
        from headrace.profiling.calling import taking  # what few programs use
        from headrace.profiling.profile import improved, profiled
        from headrace.profiling.together import ranks_of
        from headrace.profiling.trial import Consumer

        consumer = Consumer(step=None if step is None else taking(step), feed=feed, ranks=ranks_of(self._plan, group))
        if apply and consumer.ranks.are_several:
            raise InvalidArgumentError(
                "apply=True is for one rank alone, as each would try something else", stage="profile"
            )
        return (improved if apply else profiled)(self._plan, consumer, seconds, self._of)
