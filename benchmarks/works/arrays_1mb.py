"""Work *arrays_1mb*: arrays of 1 MiB out of two workers, one by one."""

from __future__ import annotations

from typing import Final

from contest import Work
from works.worker_arrays import work_of

WORK: Final[Work[range]] = work_of(
    "arrays_1mb", "arrays of 1 MiB each, out of two workers", shape=(512, 512), batch=1, full=2_000
)
