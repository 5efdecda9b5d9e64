"""What a process holds that it has to give back: threads of headrace, children, shared memory, descriptors."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from multiprocessing import resource_tracker
from pathlib import Path

__all__ = ["descriptors", "held", "join_threads", "mapped"]


def held() -> set[str]:
    """Returns this process's threads of headrace, its children, and shared memory of its own that has a name."""
    return {f"thread {thread.name!r} ({thread.ident})" for thread in _threads()} | _child_processes() | _segments()


def join_threads(limit_s: float) -> None:
    """Waits for threads of headrace that are about to end."""
    end_s = time.monotonic() + limit_s
    for thread in _threads():
        if thread is not threading.current_thread():
            thread.join(max(0.0, end_s - time.monotonic()))


def descriptors() -> dict[int, str]:
    """Returns what this process has open, where the system says so (Linux)."""
    found = {}
    for path in Path("/proc/self/fd").glob("*"):
        try:
            found[int(path.name)] = str(path.readlink())
        except OSError:  # that of this listing
            continue
    return found


def mapped() -> int:
    """Returns how many pieces of memory this process has that belong to shared memory without a name (Linux)."""
    maps = Path("/proc/self/maps")
    return sum("/memfd:" in line for line in maps.read_text().splitlines()) if maps.exists() else 0


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("headrace")]


def _child_processes() -> set[str]:
    try:
        listed = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    except OSError:  # a thread ended between the listing and the reading
        return _child_processes()
    pids = {*" ".join(listed).split()} or {str(process.pid) for process in multiprocessing.active_children()}
    # One that has just been started has no command yet; of another process's, which a fork inherits, the command tells.
    pids.discard(str(resource_tracker._resource_tracker._pid))  # type: ignore[attr-defined]  # nothing else says so
    return {
        f"process {pid} ({_command(pid)})" for pid in pids if "multiprocessing.resource_tracker" not in _command(pid)
    }


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip() or "a zombie"
    except OSError:
        return "gone"


def _segments() -> set[str]:
    # Shared memory is the machine's, and other tests run beside this one: ours carries the owner's process id in its name.
    return {str(path) for path in Path("/dev/shm").glob(f"headrace-{os.getpid()}-*")}
