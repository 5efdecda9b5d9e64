"""Processes that call the functions of maps, each with a Python lock of its own.

The run is that of threads. A worker thread that has a task sends its block to a process, and waits; so order, windows, gates and
positions are as they are, and a process that dies takes no more with it than the block that it had.
"""

from headrace.backends.process.calls import ProcessCalls, process_calls_of
from headrace.backends.process.sending import prepare

__all__ = ["ProcessCalls", "prepare", "process_calls_of"]
