"""The plan node of a shuffle."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.arguments import check_flags, check_int
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.node import UnaryNode
from headrace.plan.randomness import Randomness

__all__ = ["WHOLE_DATASET", "Shuffle"]


WHOLE_DATASET = -2  # the buffer size that tf.data takes for "as large as the dataset"


@frozen(kw_only=True, eq=False)
class Shuffle(UnaryNode):
    """Elements in random order, drawn from a buffer that is filled up in order."""

    op: ClassVar[str] = "shuffle"
    randomness: Randomness
    buffer_size: int
    reshuffle_each_iteration: bool = True

    def __post_init__(self) -> None:
        check_flags(self, "reshuffle_each_iteration")
        size = check_int(self.buffer_size, field="buffer_size", stage=self.op)
        if size < 1 and size != WHOLE_DATASET:
            empty = (
                "; there is nothing to shuffle, the dataset is empty"
                if not size and not self.input.cardinality()
                else ""
            )
            message = f"buffer_size must be at least 1, or -2 for the whole dataset, not {size}{empty}"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "buffer_size", size)

    def parameters(self) -> dict[str, Any]:
        """Returns what decides the order."""
        return {
            "buffer_size": self.buffer_size,
            "seed": self.randomness.seed,
            "reshuffle_each_iteration": self.reshuffle_each_iteration,
        }
