"""How busy the machine's GPUs are, as NVIDIA's library tells; nothing where there is none, or no GPU."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["Gpus"]

_PER_CENT: Final = 100


class Gpus:
    """Looks at the GPUs of this machine."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._nvml: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(one) for one in range(pynvml.nvmlDeviceGetCount())]
        except Exception:  # noqa: BLE001 - no library, no driver, or one that knows other errors: then there is nothing to show
            return

    def __call__(self) -> list[float | None]:
        """Returns of each GPU the part of the last moment in which it computed, from 0 to 1; None where it does not tell."""
        return [self._use(handle) for handle in self._handles]

    def _use(self, handle: Any) -> float | None:
        try:
            used: float = self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / _PER_CENT
        except Exception:  # noqa: BLE001 - as above
            return None
        return used
