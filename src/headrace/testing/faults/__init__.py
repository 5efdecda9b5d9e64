"""Faults on purpose: a pipeline is tested with the functions, processes, files and disks that it will meet one day.

Functions are wrapped: a fault comes at a call, at chosen elements, or at elements that a seed draws, and by default once for each, also where
the process that notes it dies of it. Files are damaged in place, and put back at the end of a ``with`` block.
"""

from __future__ import annotations

from headrace.testing.faults.choosing import chance
from headrace.testing.faults.disks import disk_full
from headrace.testing.faults.files import corrupt, truncate
from headrace.testing.faults.functions import delay, exit, fail, inject, kill, stop

__all__ = ["chance", "corrupt", "delay", "disk_full", "exit", "fail", "inject", "kill", "stop", "truncate"]
