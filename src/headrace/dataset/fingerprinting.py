"""The fingerprint of a dataset's elements, for whatever keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.dataset.mixin import plan_from

if TYPE_CHECKING:
    from headrace.caching.proof import Proof
    from headrace.dataset.dataset import Dataset
    from headrace.plan.node import Node

__all__ = ["fingerprint", "key_of_dataset", "key_of_plan"]


def fingerprint(dataset: object, *, explain: bool = False) -> str:
    """Returns what the elements of a dataset depend on, in 32 hexadecimal digits.

    Everything counts that decides what an element is, or it is an error that names what cannot be seen:

    - operations and their arguments, and the data of ``from_tensors`` and ``from_tensor_slices``;
    - the code of functions with all that they use: defaults, closures, globals, attributes of modules (``cfg.S``), imports
      within functions, and the functions that these call, all the way down;
    - classes whole, with bases, metaclass and attributes; objects with all that they hold, also within C (tensors and weights
      by value, generators of random numbers by state);
    - files, with size and the time of their last change: those that are read, and those that a text names, in code, data,
      attributes or closures;
    - variables of the environment that a function's texts name;
    - ``Options(seed=)`` where random operations have no seed of their own.

    Workers, buffers and other options do not count, nor does where a function stands. Of installed packages, and of
    headrace itself, the version counts. What a function finds only when it runs (a file whose name it computes, the clock,
    the network) cannot be seen.

    Args:
        dataset: a ``Dataset``.
        explain: True returns what went in as well: the fingerprint, and a line for each value with its digest, the whole
            before its parts. Two such texts, compared line by line, say why two fingerprints differ.

    Raises:
        TypeError: it is no dataset.
        InvalidArgumentError: the elements depend on something that has no fingerprint, such as an open file, a lock, a
            running generator, ``eval`` or ``globals()``; the operation and the value are named. A class of yours may have a
            ``__headrace_fingerprint__()`` that returns what its objects depend on; then nothing else of them counts.
        NotFoundError: a file that is read is not there.

    Example:
        >>> import headrace as hr
        >>> def pipeline(factor):
        ...     return hr.Dataset.range(10).map(lambda x: x * factor)
        >>> hr.fingerprint(pipeline(2)) == hr.fingerprint(pipeline(2))
        True
        >>> hr.fingerprint(pipeline(2)) == hr.fingerprint(pipeline(3))
        False

        What went in, here without the digests before each line:

        >>> for line in hr.fingerprint(pipeline(2), explain=True).splitlines():
        ...     if "factor" in line or "range" in line:
        ...         print(line[14:])
            closure 'factor' = 2
        range
    """
    from headrace.plan.content_fingerprint import contents_of

    contents = contents_of(plan_from(dataset, stage="fingerprint"))
    return contents.explain() if explain else contents.fingerprint


def key_of_plan(plan: Node, **besides: Any) -> tuple[str, Proof]:
    """Returns the fingerprint of a plan and of what else is given, and what says later in which value it is not the same any more."""
    from headrace.plan.content_fingerprint import contents_of

    taken = contents_of(plan, **besides)

    def proof() -> str | None:
        now = contents_of(plan, **besides)
        return None if now.fingerprint == taken.fingerprint else taken.difference(now)

    return taken.fingerprint, proof


def key_of_dataset(dataset: Dataset, key: Callable[[Dataset], str]) -> tuple[str, Proof]:
    """Returns what a user's function says the key of a dataset is, and what says later whether it says so still."""
    if key is fingerprint:
        return key_of_plan(dataset.__headrace_plan__())
    taken = key(dataset)

    def proof() -> str | None:
        now = key(dataset)
        return None if now == taken else f"the key was {taken!r} and is {now!r}"

    return taken, proof
