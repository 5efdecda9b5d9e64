"""What a queue is, in the plainest words: no threads, no locks, no speed. The queues must do as this does.

Calls stand in two lines, in the order in which they were made. ``settle`` looks again and again at the heads of both
lines and does what can be done, until nothing can.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

__all__ = ["ANY", "Call", "Reference"]

ANY = "some item that was inside"  # what a random order hands out

Outcome = Literal["waits", "done", "cancelled", "out of range", "late", "failed"]


@dataclasses.dataclass(eq=False)
class Call:
    """One call that puts ``items`` in, or that takes ``wanted`` out when that is not None; and how it ended."""

    items: list[Any] = dataclasses.field(default_factory=list)
    weights: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    wanted: int | None = None
    allow_fewer: bool = False
    deadline_s: float | None = None
    outcome: Outcome = "waits"
    let_in: int = 0


class Reference:
    """A queue of a given order ("fifo", "priority" or "random")."""

    def __init__(self, order: str, capacity: int, capacity_bytes: int | None = None, held_back: int = 0) -> None:
        self.order = order
        self.capacity = capacity
        self.capacity_bytes = capacity_bytes
        self.held_back = held_back
        self.inside: list[tuple[Any, tuple[int, int]]] = []
        self.producers: list[Call] = []
        self.consumers: list[Call] = []
        self.closed = False
        self.has_failed = False

    # ---- what is called

    def put(self, call: Call) -> None:
        if not call.items:
            call.outcome = "done"
        elif self.closed:
            call.outcome = "cancelled"
        else:
            self.producers.append(call)
        self.settle()

    def get(self, call: Call) -> None:
        if call.wanted == 0:
            call.outcome = "done"
        else:
            self.consumers.append(call)
        self.settle()

    def close(self, *, cancel: bool) -> None:
        self.closed = True
        if cancel:
            for call in self.producers:
                call.outcome = "cancelled"
            self.producers = []
        self.settle()

    def fail(self) -> None:
        self.has_failed = True
        self.close(cancel=True)

    def give_up(self, call: Call) -> None:
        """The deadline of one waiting call has come."""
        call.outcome = "late"
        (self.producers if call.wanted is None else self.consumers).remove(call)
        self.take_back(call)
        self.settle()

    # ---- what follows from it

    def settle(self) -> None:
        while self.move():
            pass

    def move(self) -> bool:
        if self.producers and self.fits(self.producers[0].weights[self.producers[0].let_in]):
            self.let_in(self.producers[0])
            return True
        return bool(self.consumers) and self.serve(self.consumers[0])

    def fits(self, weight: tuple[int, int]) -> bool:
        elements = sum(inside[0] for _, inside in self.inside) + weight[0]
        nbytes = sum(inside[1] for _, inside in self.inside) + weight[1]
        return not self.inside or (
            elements <= self.capacity and (self.capacity_bytes is None or nbytes <= self.capacity_bytes)
        )

    def let_in(self, call: Call) -> None:
        self.inside.append((call.items[call.let_in], call.weights[call.let_in]))
        call.let_in += 1
        if call.let_in == len(call.items):
            call.outcome = "done"
            self.producers.remove(call)

    def serve(self, call: Call) -> bool:
        assert call.wanted is not None
        ended = self.closed and not self.producers
        spare = len(self.inside) - (0 if ended else self.held_back)
        missing = call.wanted - len(call.items)
        if missing <= max(0, spare):
            self.hand_out(call, missing)
            call.outcome = "done"
        elif ended and call.allow_fewer and (call.items or self.inside):
            self.hand_out(call, len(self.inside))
            call.outcome = "done"
        elif ended:
            self.take_back(call)
            call.outcome = "failed" if self.has_failed else "out of range"
        elif self.producers:
            self.hand_out(call, 1)
            return True
        else:
            return False
        self.consumers.remove(call)
        return True

    def hand_out(self, call: Call, n: int) -> None:
        for _ in range(n):
            chosen = min(range(len(self.inside)), key=lambda at: self.inside[at][0]) if self.order == "priority" else 0
            item, weight = self.inside.pop(chosen)
            call.items.append(item)
            call.weights.append(weight)

    def take_back(self, call: Call) -> None:
        if call.wanted is not None:
            self.inside[:0] = zip(call.items, call.weights, strict=True)
            call.items, call.weights = [], []
