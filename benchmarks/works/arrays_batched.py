"""Work *arrays_batched*: arrays of 1 MiB out of two workers, in batches of eight."""

from __future__ import annotations

from typing import Final

from contest import Work
from works.worker_arrays import work_of

WORK: Final[Work[range]] = work_of(
    "arrays_batched", "arrays of 1 MiB each, out of two workers, in batches of 8", shape=(512, 512), batch=8, full=2_000
)
