"""What runs, looked at once a second for all who watch the page, and what was seen in the last minutes."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

__all__ = ["Looker"]

# Ten minutes of looks, a point of a curve each.
_KEPT: Final = 600


class Looker:
    """Looks, and tells everybody who listens.

    Args:
        look: returns what processes tell.
        gpus: returns how busy each GPU is.
        interval_s: between two looks.
    """

    def __init__(
        self,
        look: Callable[[], list[dict[str, Any]]],
        gpus: Callable[[], Sequence[float | None]],
        interval_s: float = 1.0,
    ) -> None:
        self._look = look
        self._gpus = gpus
        self._interval_s = interval_s
        self._points: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._now = "{}"
        self._looks = 0
        self._looked = asyncio.Condition()

    async def run(self) -> None:
        """Looks until it is cancelled."""
        while True:
            try:
                processes, error = await asyncio.to_thread(self._look), None
            except Exception as failed:  # noqa: BLE001 - the page says it, and goes on
                processes, error = [], str(failed)
            _mark_curves(processes)
            gpus = await asyncio.to_thread(self._gpus)
            point = {"at_s": time.time(), "gpus": list(gpus), "waits": _waits(processes)}
            self._points.append(point)
            self._now = json.dumps(point | {"processes": processes, "error": error})
            async with self._looked:
                self._looks += 1
                self._looked.notify_all()
            await asyncio.sleep(self._interval_s)

    async def events(self) -> AsyncIterator[str]:
        """Yields what was seen, and then what is seen, as server-sent events."""
        yield f"event: history\ndata: {json.dumps(list(self._points))}\n\n"
        told = 0
        while True:
            async with self._looked:
                await self._looked.wait_for(lambda told=told: self._looks > told)  # type: ignore[misc] # of mypy's, with defaults
                told, now = self._looks, self._now
            yield f"event: now\ndata: {now}\n\n"


def _mark_curves(processes: Sequence[dict[str, Any]]) -> None:
    """Gives each pipeline the name of its curve, which the epochs of one dataset share."""
    for process in processes:
        counted = Counter[str]()
        for run in process["runs"]:
            name = run.get("name", "")
            counted[name] += 1
            run["curve"] = f"{process['pid']}:{name}:{counted[name]}"


def _waits(processes: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Returns what part of the time each pipeline's caller waits, by the name of its curve."""
    return {run["curve"]: run["waits"] for process in processes for run in process["runs"] if "waits" in run}
