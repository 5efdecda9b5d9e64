"""Which dataset the next element comes from, and which elements come again or not at all: the definitions.

All of it is a function of a key, a position and what was given: the reference and the stages share this file, so that
they differ in how they run and never in what they draw.

A draw is one uniform number, turned into a choice by the weights of the datasets that have not ended. So while some
dataset with a weight is left, every draw chooses one that has not been found to be at its end.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.plan.mixing import Mixture, RejectionResample, SampleFromDatasets, checked_weights
from headrace.plan.node import nodes_of
from headrace.plan.sources import RandomSource
from headrace.semantics.random_streams import Key, random_int64
from headrace.semantics.run_context import RunContext, SomeContext

__all__ = [
    "CLASSES_AT_ONCE",
    "IDLE_LIMIT",
    "NO_CHOICE",
    "SMOOTHING",
    "TINY",
    "choice_of",
    "class_of",
    "idle_error",
    "readings",
    "resample_keys",
    "sample_key",
    "selector_context",
    "uniforms",
    "weights_of",
]

NO_CHOICE: Final = -1  # where no dataset that is left has a weight

# tf.data skips for ever where an endless dataset of choices names only datasets that have ended. This many in a row are no
# accident: at a million a second it is one second in which nothing comes.
IDLE_LIMIT: Final = 1_000_000

# tf.data's: the estimate of the classes begins as if ten of each had been seen, and moves once in 32 elements.
SMOOTHING: Final = 10
CLASSES_AT_ONCE: Final = 32

# Keeps from a division by zero, as in tf.data: a class that never comes is wanted without end.
TINY: Final = float(np.finfo(np.float32).tiny)


def uniforms(key: Key, start: int, count: int) -> np.ndarray:
    """Returns the draws ``start`` to ``start + count`` of a number from 0 to below 1 (float64)."""
    words = random_int64(key, start, count).view(np.uint64)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53  # as many bits as a float64 has


def weights_of(element: Any, count: int, *, stage: str) -> np.ndarray:
    """Returns the weights that one element of a dataset of weights gives (float64, (count,)).

    Raises:
        InvalidArgumentError: it is no ``count`` finite floats.
    """
    try:
        return np.array(checked_weights(element, count, stage=stage), dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = f"an element of the weights must be {count} floats, one for each dataset, not {element!r}"
        raise InvalidArgumentError(reason) from error


def choice_of(element: Any, count: int) -> int:
    """Returns the dataset that one element of a dataset of choices names.

    Raises:
        InvalidArgumentError: it is no int64, or there is no dataset of that index.
    """
    if type(element) not in (int, np.int64) and not _is_int64_scalar(element):
        raise InvalidArgumentError(f"a choice must be an int64, not {element!r}")
    choice = int(element)
    if not 0 <= choice < count:
        raise InvalidArgumentError(f"there is no dataset {choice}: choices go from 0 to {count - 1}")
    return choice


def _is_int64_scalar(element: Any) -> bool:
    return isinstance(element, np.ndarray) and element.shape == () and element.dtype == np.int64


def idle_error(stage: str) -> FailedPreconditionError:
    """Makes the error of an endless run of choices that name only datasets that have ended."""
    message = (
        f"{IDLE_LIMIT:,} choices in a row named only datasets that have ended; stop_on_empty_dataset=True ends there"
    )
    return FailedPreconditionError(message, stage=stage)


# ------------------------------------------------------------------------ resampling


def resample_keys(key: Key) -> tuple[Key, Key]:
    """Returns the random streams that choose between original and judged elements, and those that judge."""
    return key.child(0), key.child(1)


def class_of(answer: Any, count: int) -> int:
    """Returns the class that the user's function named.

    Raises:
        InvalidArgumentError: it is no integer, or there is no class of that index.
    """
    one = not isinstance(answer, np.ndarray) or (answer.shape == () and answer.dtype.kind in "iu")
    if isinstance(answer, (bool, np.bool_)) or not hasattr(answer, "__index__") or not one:
        raise InvalidArgumentError(f"class_func must return an int, but returned {type(answer).__name__}")
    index = int(answer.__index__())
    if not 0 <= index < count:
        raise InvalidArgumentError(f"class_func returned {index}: there are classes 0 to {count - 1}")
    return index


def sample_key(node: SampleFromDatasets, context: RunContext) -> Key:
    """Returns the random stream of the draws: the same in every epoch, unless it is asked for others."""
    context.expect_one_order(node)
    return context.key(node, each_epoch=node.rerandomize_each_iteration)


def selector_context(node: Mixture, context: SomeContext) -> SomeContext:
    """Returns the context of the dataset that decides."""
    for drawing in nodes_of(node.inputs[-1]):
        if isinstance(drawing, RandomSource):  # elsewhere its numbers are elements, and each process may have its own
            context.expect_one_order(drawing)
    return context.for_input(node.inputs, len(node.datasets))


def readings(node: RejectionResample, context: SomeContext) -> tuple[SomeContext, SomeContext]:
    """Returns the contexts in which the input is read: as it comes, and judged.

    The input may be shuffled in one order and in the other.
    """
    context.expect_one_order(node)
    return context, context.for_input((node.input, node.input), 1)
