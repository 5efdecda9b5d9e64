"""How many blocks a prefetch may have ready, where that is left to headrace.

It begins with few, and doubles when its consumer has found it full, and later empty: so much was made ahead as might be, and it was
not enough for what came between. That is how tf.data's prefetch does it. A source that gives much at once and then nothing for a
while, such as one file after another, is bridged so; and a source that is slower than its consumer never fills it, and gains nothing.
"""

from __future__ import annotations

from typing import Final

from headrace.observe.tables import duration
from headrace.physical.workers.lasting import Lasting

__all__ = ["DepthTuner", "depth_of"]

# About eight milliseconds of work.
_FIRST: Final = 8
# What is larger bridges what no memory should: half a second of work, as a rule. Bytes are bounded apart from that.
_MOST: Final = 512
# A shorter wait costs no more than to be woken up.
_WORTH_S: Final = 1e-3


class DepthTuner:
    """Decides; ``blocks`` is the answer.

    Attributes:
        blocks: how many may be ready.
        reason: why there are more than before, in words.
    """

    def __init__(self, _: object = None) -> None:
        self.blocks = _FIRST
        self.reason = ""
        self._was_full = False

    def taken(self, ready: int, waited_s: float) -> None:
        """Learns from a block that was taken.

        Args:
            ready: how many were ready when it was asked for.
            waited_s: how long it was waited for.
        """
        if ready >= self.blocks:
            self._was_full = True
        elif self._was_full and not ready and waited_s >= _WORTH_S and self.blocks < _MOST:
            self._was_full = False
            self.reason = f"all {self.blocks:,} that may be ready were, and then none, for {duration(waited_s)}"
            self.blocks *= 2


_KNOWN: Final = Lasting(DepthTuner)


def depth_of(operations: tuple[object, ...]) -> DepthTuner:
    """Returns what is known of a prefetch."""
    return _KNOWN.of(operations)
