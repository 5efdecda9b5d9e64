"""The fingerprint of a dataset's elements, for whoever keeps them."""

from __future__ import annotations

from headrace.dataset.part import plan_of_argument

__all__ = ["fingerprint"]


def fingerprint(dataset: object) -> str:
    """What the elements of a dataset depend on, in 32 hexadecimal digits.

    Operations and their arguments count, the code of functions with all that they use (defaults, closures, globals, and
    the functions that these call), the data of ``from_tensors`` and ``from_tensor_slices``, and files with their sizes
    and times: those that are read, and those that texts in a source name. Workers, buffers and options do not count,
    nor does where a function stands. Of installed packages the version counts.

    Args:
        dataset: a ``Dataset``.

    Raises:
        TypeError: it is no dataset.
        InvalidArgumentError: the elements depend on something that has no fingerprint, such as a running generator or
            another library's handle; the operation and the value are named. A class of one's own may have a
            ``__headrace_fingerprint__()`` that returns what its objects depend on.
        NotFoundError: a file that is read is not there.

    Example:
        >>> import headrace as hr
        >>> def pipeline(factor):
        ...     return hr.Dataset.range(10).map(lambda x: x * factor)
        >>> hr.fingerprint(pipeline(2)) == hr.fingerprint(pipeline(2))
        True
        >>> hr.fingerprint(pipeline(2)) == hr.fingerprint(pipeline(3))
        False
    """
    from headrace.plan.content_fingerprint import content_fingerprint

    return content_fingerprint(plan_of_argument(dataset, stage="fingerprint"))
