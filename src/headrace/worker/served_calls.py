"""Functions that a process calls for a thread of the trainer's, one block after the other."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import Indices, Origin, WordedOrigin, subset
from headrace.errors import InvalidArgumentError, said
from headrace.frozen import frozen
from headrace.physical.stages.elementwise_parallel import applied_alone
from headrace.processes.arena import Arena
from headrace.processes.connection import Connection
from headrace.processes.elements_sent import received_elements, sent_elements
from headrace.processes.errors_sent import sent_error
from headrace.processes.leases import Leases
from headrace.processes.orders import NO_ORIGIN, Answer, Call
from headrace.processes.parcels import Parcel, packed, unpacked
from headrace.processes.shipping import made_there

__all__ = ["serve_calls"]


@frozen
class _KnownElsewhere:
    """Where elements came from is known to who sent them; here they have numbers."""

    indices: Indices

    def subset(self, indices: Indices) -> _KnownElsewhere:
        return _KnownElsewhere(subset(self.indices, indices))

    def describe(self, index: int) -> str:
        return f"{NO_ORIGIN}{self.indices[index]}"


class _Served:
    """The functions that this process has, and the memory that it shares with one thread."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.leases = Leases()
        self._functions: dict[int, tuple[tuple[Any, ...], Callable[[Block], list[BlockOrFailure]]]] = {}

    def answer(self, call: Call) -> Answer:
        for place in call.places:
            self.arena.give(place)
        try:
            parcel = self._made(call)
        except BaseException as error:  # noqa: BLE001 - who asked is to have it: also a function's sys.exit(), as in threads
            return Answer(None, sent_error(error), self.leases.gone())
        return Answer(parcel, None, self.leases.gone())

    def _made(self, call: Call) -> Parcel:
        if call.functions is not None:
            maps, loops = made_there(call.functions)
            self._functions[call.key] = tuple(maps), applied_alone(maps, loops)
        maps, make = self._functions[call.key]
        payload = received_elements(unpacked(call.parcel, self.leases))
        origin: Origin = _KnownElsewhere(range(len(payload))) if call.words is None else WordedOrigin(call.words)
        pieces = make(Block(payload, IndexCursor(0), origin))
        del payload
        sent = [_sent(piece, maps) for piece in pieces]
        try:
            return packed(sent, self.arena)
        except Exception as error:
            message = (
                f"what a function returned cannot be sent to the trainer's process: {type(error).__name__}: {said(error)}. Return "
                "arrays, numbers and texts, or leave out executor="
            )
            raise InvalidArgumentError(message, stage=maps[-1].label) from error


def _sent(piece: BlockOrFailure, maps: tuple[Any, ...]) -> tuple[int, Any, Any]:
    if isinstance(piece, Block):
        return len(piece), sent_elements(piece.payload), None
    link = next((index for index, one in enumerate(maps) if one is piece.by), 0)
    return 1, None, (link, sent_error(piece.error))


def serve_calls(connection: Connection) -> None:
    """Answers calls until the other end is gone."""
    served = _Served()
    while (received := connection.receive()) is not None:
        message, descriptors = received
        served.leases.add(descriptors)
        answer = served.answer(pickle.loads(message))
        fresh = served.arena.fresh()
        try:
            connection.send(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL), fresh)
        except OSError:
            return
        finally:
            for descriptor in fresh:
                os.close(descriptor)
        del answer
