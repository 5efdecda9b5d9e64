"""Dealing a plan to the processes of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.dataset.mixin import DatasetMixin

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Dealing"]


class Dealing(DatasetMixin):
    """Dealing a plan to the processes of a job."""

    __slots__ = ()

    def distributed_batch(
        self,
        global_batch_size: int,
        *,
        num_streams: int | None = None,
        end: str = "drop",
        steps: int | None = None,
        mask: str | None = None,
        group: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Combines elements into global batches, and gives each rank its part of every one; stands where ``batch`` stood.

        What a global batch holds does not depend on the number of ranks: a job that is stopped on 8 goes on with 6, 12 or 1, and
        every global batch is the one that it would have been. So its plan keeps its order, also where ``deterministic=False``
        allows another. What stands behind it and holds batches (``shuffle``, ``window``) goes on with the same ranks alone.

        Args:
            global_batch_size: how many elements all ranks together get in a step; each gets as many as any other.
            num_streams: among how many streams the plan is dealt; the number of ranks must divide it, and it the global batch. By
                default the largest divisor of the global batch up to 64.
            end: what becomes of what does not fill a global batch. ``"drop"``: it is dropped. ``"pad"``: it is filled up with repeated
                elements, of each stream its last, and a mask says which elements are real. ``"uneven"``: ranks get what there is, some
                fewer elements than others, and some fewer batches.
            steps: after how many steps all ranks end, where only a run could tell how many there are. A stream that has ended before has an
                error in each of its places, which takes its rank's batch.
            mask: the name under which ``end="pad"`` puts the mask (bool, of the batch's length) into each batch, a dict; by default a batch is
                the pair of what it was and the mask.
            group: by whom ranks tell each other, before each step, whether they have its batch, where only a run can tell how many steps there
                are (filter, pack), so that all of them end after the same one, and no collective of the training loop waits for ever: a
                process group of ``torch.distributed`` (best one of gloo, which waits for no device), a mesh of JAX's, True for all
                processes of either, or a function that is given a number and returns the largest that any rank gave. It is
                asked in the thread that calls ``next``. With ``end="drop"`` a batch that another rank cannot match is dropped, with
                ``"pad"`` a rank that has ended gives repeated elements until all have. A batch that failed is a step like any other.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: a number does not fit; or an operation means the whole dataset and stands behind one that runs once
                per stream. At ``iter``: the number of ranks does not divide that of the streams; ranks could end after different steps,
                and there is neither ``group`` nor ``steps``; or what follows this is not one element for each batch, with ``group``.
            FailedPreconditionError: at ``iter``, ``group`` has fewer processes than there are ranks.

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.range(10).distributed_batch(4)
            >>> list(ds.with_options(hr.Options(rank=1, world_size=2)))
            [array([1, 3]), array([5, 7])]
        """
        from headrace.plan.dealing_batch import (
            DistributedBatch,  # it knows every operation, of which a plan has few
        )

        return self._of(
            DistributedBatch(
                input=self._plan,
                global_batch_size=global_batch_size,
                num_streams=num_streams or 0,
                end=end,
                steps=steps,
                mask=mask,
                group=group,
                name=name,
            )
        )
