"""Operations that skip elements that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.dataset.mixin import DatasetMixin
from headrace.plan.skipping import IgnoreErrors

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Skipping"]


class Skipping(DatasetMixin):
    """Operations that skip elements that failed."""

    __slots__ = ()

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Skips the elements that failed, and counts them in ``stats()``.

        An element fails as well where its function has not returned after ``timeout_s``, or ends its process again and again.
        That a state goes on from other data than had been read (``InputChangedError``) is no element's failure, and not skipped; a file that is
        shorter than it was is that file's, and is.
        ``map(..., on_error="skip")`` skips the failures of one map alone, and names them in the log.

        Args:
            log_warning: whether each of them is named in the log.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(4).map(lambda x: 6 // (x - 1)).ignore_errors())
            [-6, 6, 3]
        """
        return self._of(IgnoreErrors(input=self._plan, log_warning=log_warning, name=name))
