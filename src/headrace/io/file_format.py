"""What a plan holds of files: a frozen description of their format, which makes a reader when the plan runs.

Each format has its own in ``io/<format>/format.py``, beside its reader. A description opens nothing before ``open``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from headrace.io.reader import Chunk, RecordPosition, RecordReader
from headrace.tensor_spec import Spec

__all__ = ["FileFormat"]


class FileFormat(Protocol):
    """A format of files of records: what its records are, and a reader of one file."""

    @property
    def op(self) -> str:
        """What the operation is called."""
        ...

    def spec(self) -> Spec:
        """Returns the structure of one record; None where records differ: the one component is then the records themselves."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Returns what distinguishes this format from others of its kind, as plain data."""
        ...

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        """Returns the records' components as arrays; None where they are the columns of the chunk's matrix, one by one."""
        ...

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        """Returns a reader of one file from a position on."""
        ...
