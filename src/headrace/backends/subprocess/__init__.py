"""A whole plan run in a process beside this one: what is read of it here.

The process runs the plan as threads would, and this side takes what it gives. Arrays lie in memory that both share, and are not copied.

What always holds:
- A position is asked for where it lies, in the other process. From time to time it is told without being asked, so that a run goes on when
  the process dies: from there, and without what was read since.
- Every element is given once and in its order, whether a process died or not.
"""

from headrace.backends.subprocess.fillings import RemoteFillings
from headrace.backends.subprocess.plan_process import prepare
from headrace.backends.subprocess.run import RemoteRun

__all__ = ["RemoteFillings", "RemoteRun", "prepare"]
