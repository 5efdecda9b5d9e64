"""Operations that hand elements to a framework, on its device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.arguments import check_int
from headrace.dataset.mixin import DatasetMixin
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace.feed.feeding import Feed

__all__ = ["Feeding"]


class Feeding(DatasetMixin):
    """Operations that hand elements to a framework, on its device."""

    __slots__ = ()

    def to_torch(
        self, device: Any = None, dtype: Any = None, pin_memory: bool | str = "auto", buffer_size: int = 2
    ) -> Feed:
        """Returns a feed of the elements as PyTorch tensors, which are on a device before the training loop asks for them.

        On the CPU a tensor shares its memory with the batch, and nothing is copied. On CUDA batches go through pinned
        memory that is reused, or come from where workers have made them, which then is pinned; they are copied on a stream
        of their own while the step computes, and are handed over in the order of the loop's stream. Tensors that a
        function made go there as well. Texts and objects stay what they are.

        What is returned is iterated once an epoch. Its iterator has ``state_dict`` and ``load_state_dict``, which count
        what the loop got and fit those of the dataset (so has the feed itself, as trainers ask for it: what is loaded there holds
        for the next ``iter``); ``stats()``, with the wait of each step and the time of each copy;
        ``close``; and is a context manager.

        It needs no ``DataLoader``. Where one is asked for, ``DataLoader(feed, batch_size=None, num_workers=n)`` gives each
        element once, in order, whatever ``n`` is: its workers deal them out, each running the pipeline for its part.

        Args:
            device: where the tensors go; the CPU by default.
            dtype: a ``torch.dtype`` for tensors of floats; None leaves them as they are.
            pin_memory: ``"auto"`` pins for CUDA; True also for tensors that stay on the CPU; False never.
            buffer_size: how many elements may be ready on the device; 0 copies each when it is asked for.

        Raises:
            MissingExtraError: PyTorch is not installed.
            InvalidArgumentError: no such device, or another argument that does not fit; while iterating, in place of an
                element that has a component with no counterpart, such as dates.

        Example:
            >>> import headrace as hr
            >>> for batch in hr.Dataset.range(4).batch(2).to_torch():
            ...     print(batch)
            tensor([0, 1])
            tensor([2, 3])
        """
        from headrace.feed.torch_feed import torch_transfer

        size = _buffer_size(buffer_size, stage="to_torch")
        transfer = torch_transfer(device, dtype, pin_memory, size)
        from headrace.feed.torch_dataset import TorchFeed  # PyTorch is there

        return TorchFeed(self._plan, transfer, size)

    def to_jax(self, device: Any = None, sharding: Any = None, buffer_size: int = 2) -> Feed:
        """Returns a feed of the elements as JAX arrays, on a device or sharded over several before the training loop asks for them.

        What is returned is iterated as that of ``to_torch``, with state and statistics. JAX keeps 32 bits unless
        ``jax_enable_x64`` is set: numbers that do not fit are an error, and where floats of 64 bits are rounded the log
        says so, once a feed.

        A sharding over the devices of several processes makes one global array of the batches of all: the rows of the first process,
        then those of the second, as its devices lie. After ``distributed_batch`` these are the rows ``[0::N]`` of the global batch, then
        ``[1::N]``, so the same rows in an order that knows N.

        Args:
            device: a ``jax.Device``; JAX's default one otherwise.
            sharding: a ``jax.sharding.Sharding`` for every array, instead of a device.
            buffer_size: how many elements may be ready on the device; 0 copies each when it is asked for.

        Raises:
            MissingExtraError: JAX is not installed.
            InvalidArgumentError: a device and a sharding at once, or neither of them; while iterating, in place of an
                element that has a component with no counterpart, numbers of 64 bits that do not fit the 32 that JAX keeps
                (unless ``jax_enable_x64`` is set), a shape that cannot be sharded so, or a sharding that has several ranks' rows
                for one rank's.

        Example:
            >>> import headrace as hr
            >>> [batch.tolist() for batch in hr.Dataset.range(4).batch(2).to_jax()]
            [[0, 1], [2, 3]]
        """
        from headrace.feed.jax_feed import JaxFeed, jax_transfer

        size = _buffer_size(buffer_size, stage="to_jax")
        return JaxFeed(self._plan, jax_transfer(device, sharding), size)

    def to_tensorflow(self, output_signature: Any = None) -> Any:
        """Returns the dataset as a ``tf.data.Dataset``, whose every epoch is an epoch of this one.

        Put it last: what follows in ``tf.data`` has no state and no statistics of headrace's.

        What the operations tell of an element is exact. After a Python function only a look at the first elements tells its
        structure, dtypes and ranks; every size there is None. Each element is then compared with it: one that differs
        is an error, and nothing is cast. The cardinality is this dataset's.

        Args:
            output_signature: what an element is, instead of a look: a structure of ``hr.TensorSpec`` or ``tf.TensorSpec``, with
                None for sizes that vary.

        Raises:
            MissingExtraError: TensorFlow is not installed.
            InvalidArgumentError: a component that no tensor of TensorFlow's can hold; it is named; or ranks end together by a ``group``, which
                ``tf.data`` would ask in threads of its own. While iterating, as
                TensorFlow's own ``tf.errors.InvalidArgumentError``: an element is not what was told.
            OutOfRangeError: the dataset is empty, and only an element could tell what it holds.

        Example:
            >>> import headrace as hr
            >>> for batch in hr.Dataset.range(4).batch(2).to_tensorflow():  # doctest: +SKIP
            ...     print(batch)
            tf.Tensor([0 1], shape=(2,), dtype=int64)
            tf.Tensor([2 3], shape=(2,), dtype=int64)
        """
        from headrace.dataset.looking import looked_spec
        from headrace.feed.tensorflow_feed import tensorflow_dataset
        from headrace.iterator import joint_end_of

        dataset, plan = self._of(self._plan), self._plan
        if joint_end_of(plan) is not None:
            raise InvalidArgumentError(
                "with group= ranks tell each other of each step in the thread of the training loop, and tf.data asks in one of its own: give "
                "distributed_batch steps= in place of group=",
                stage="to_tensorflow",
            )
        return tensorflow_dataset(
            lambda: iter(dataset), lambda: looked_spec(plan, trusted=False), output_signature, plan.cardinality()
        )


def _buffer_size(buffer_size: int, *, stage: str) -> int:
    size = check_int(buffer_size, field="buffer_size", stage=stage)
    if size < 0:
        raise InvalidArgumentError(f"buffer_size must be at least 0, not {size}", stage=stage)
    return size
