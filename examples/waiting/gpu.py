"""What stands in for a GPU, so that the page can be followed without one: a step that takes time and no core."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["Step", "gpu_step"]

Step = Callable[..., None]


def gpu_step(seconds: float) -> Step:
    """Returns a step that waits for so long, as the thread that trains does for a GPU."""

    def step(inputs: Any, labels: Any) -> None:
        time.sleep(seconds)

    return step
