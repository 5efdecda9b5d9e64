"""One process that calls functions, as the thread sees it that waits for it."""

from __future__ import annotations

import os
import pickle
import socket
from typing import Any, NamedTuple

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.errors import CancelledError, HeadraceError, InvalidArgumentError, said
from headrace.plan.elementwise import Map
from headrace.processes.arena import Arena
from headrace.processes.connection import Connection
from headrace.processes.elements_sent import received_elements, sent_elements
from headrace.processes.errors_sent import received_error
from headrace.processes.host import Gone, Host
from headrace.processes.leases import Leases
from headrace.processes.orders import NO_ORIGIN, Answer, Call
from headrace.processes.parcels import packed, unpacked
from headrace.processes.spare import give_host

__all__ = ["Functions", "WorkerProcess"]


class Functions(NamedTuple):
    """Maps in a row, as processes know them.

    Attributes:
        key: their number in the run.
        body: them, pickled.
        maps: them.
    """

    key: int
    body: bytes
    maps: tuple[Map, ...]


class WorkerProcess:
    """A process, which one thread at a time uses.

    Args:
        host: the process.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        mine, its = socket.socketpair()
        self._connection = Connection(mine)
        with its:
            self._host.tell("serve", descriptors=(its.fileno(),))
        self._host.watch(self._connection)
        self._arena = Arena()
        self._leases = Leases()
        self._told: set[int] = set()
        self._is_stopped = False

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._host.pid

    @property
    def ended_by_itself(self) -> bool:
        """Whether it ended because nobody had needed it for a while."""
        return self._host.ended_by_itself

    def call(self, functions: Functions, block: Block) -> list[BlockOrFailure]:
        """Returns the pieces that it makes of a block.

        Raises:
            Gone: it died.
            CancelledError: it was stopped.
            InvalidArgumentError: an element cannot be sent to it, or functions cannot be had there.
        """
        try:
            parcel = packed(sent_elements(block.payload), self._arena)
        except HeadraceError:
            raise
        except Exception as error:
            raise InvalidArgumentError(
                f"an element cannot be sent to a process: {type(error).__name__}: {said(error)}. Give arrays, numbers and texts, or "
                "leave out executor=",
                stage=functions.maps[0].label,
                origin=block.origin.describe(0),
            ) from error
        body = None if functions.key in self._told else functions.body
        answer = self._answered(Call(functions.key, body, parcel, self._leases.gone()))
        self._told.add(functions.key)
        for place in answer.places:
            self._arena.give(place)
        if answer.parcel is None:
            raise received_error(answer.error, f"process {self.pid}")
        return self._pieces(functions, block, unpacked(answer.parcel, self._leases))

    def _answered(self, call: Call) -> Answer:
        descriptors = self._arena.fresh()
        try:
            self._connection.send(pickle.dumps(call, pickle.HIGHEST_PROTOCOL), descriptors)
            received = self._connection.receive()
        except OSError:
            received = None
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if received is None and self._is_stopped:
            raise CancelledError("the run was closed")
        if received is None:
            raise Gone(self._host.how_it_ended())
        self._leases.add(received[1])
        answer: Answer = pickle.loads(received[0])
        return answer

    def _pieces(self, functions: Functions, block: Block, sent: list[tuple[int, Any, Any]]) -> list[BlockOrFailure]:
        """Returns pieces as of this block: for each how many elements it has, and them, or its map and the error."""
        pieces: list[BlockOrFailure] = []
        start = 0
        for length, elements, failed in sent:
            stop = start + length
            if failed is None:
                payload = received_elements(elements)
                part = block.origin.subset(range(start, stop))
                pieces.append(Block(payload, block.cursor.advance(start), part))
            else:
                link, told = failed
                error = received_error(told, f"process {self.pid}")
                assert isinstance(error, HeadraceError)  # of an element
                if error.origin == NO_ORIGIN:
                    error = error.with_place(stage=error.stage, origin=block.origin.describe(start))
                before, after = block.cursor.advance(start), block.cursor.advance(stop)
                pieces.append(Failure(error, before, after, functions.maps[link]))
            start = stop
        return pieces

    def stop(self) -> None:
        """Ends a wait for it; from any thread."""
        self._is_stopped = True
        self._connection.shut()

    def end(self, *, is_idle: bool) -> None:
        """Lets it go: to another run, where it calls nothing now."""
        self._connection.shut()
        self._arena.close()
        if is_idle:
            give_host(self._host)
        else:
            self.kill()

    def kill(self) -> None:
        """Kills it."""
        self._host.kill()
