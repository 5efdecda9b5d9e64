"""What processes are started of: all that they import, and the strategies that they draw from, ready to be drawn from."""

from __future__ import annotations

import gc
import importlib
import pkgutil

from tests.ranks.drawn import case_of
from tests.ranks.rank import play_rank

import headrace

__all__ = ["play_rank"]

for _module in pkgutil.walk_packages(headrace.__path__, "headrace."):
    if not _module.name.startswith(("headrace.cli", "headrace.__main__", "headrace.feed")):
        importlib.import_module(_module.name)
for _seed in range(100):
    case_of(_seed)
# Objects that the garbage collector does not look at stay in memory that all processes share.
gc.freeze()
