"""Work *arrays_10mb*: arrays of 10 MiB out of two workers, one by one."""

from __future__ import annotations

from typing import Final

from contest import Work
from works.worker_arrays import work_of

WORK: Final[Work[range]] = work_of(
    "arrays_10mb", "arrays of 10 MiB each, out of two workers", shape=(2_560, 1_024), batch=1, full=300
)
